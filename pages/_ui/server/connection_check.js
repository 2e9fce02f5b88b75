// Say why a page stays empty where the connection that draws it never opens, and mark one that is opened inside a
// frame of another page.
{
  const isInFrame = window.self !== window.top;
  const BOX = "no-connection";
  const MAX_SILENT_FAILURES = 1; // a server that is just starting refuses once
  let failures = 0;
  let hasOpened = false;

  const show = (text) => {
    const box = document.getElementById(BOX) ?? document.createElement("div");
    box.id = BOX;
    box.setAttribute("role", "alert");
    box.style.cssText = "position: fixed; inset: 4rem 1rem auto; z-index: 1000000; max-width: 40rem; margin: auto;"
      + "padding: 1rem 1.25rem; border: 2px solid #D55E00; border-radius: 0.5rem; background: white; color: #2B2926;"
      + "font: 1rem/1.5 sans-serif";
    box.textContent = text;
    document.body.append(box);
  };
  const explain = async (stream) => {
    const place = new URL(stream);
    place.protocol = place.protocol.replace("ws", "http");
    place.pathname = place.pathname.replace("_stcore/stream", "connection-reason");
    place.search = new URLSearchParams({ origin: location.origin });
    try {
      const answer = await fetch(place);
      if (answer.ok && !hasOpened) show(await answer.text());
    } catch { /* the server is gone: Streamlit says so itself */ }
  };

  window.WebSocket = class extends window.WebSocket {
    constructor(address, protocols) {
      const place = new URL(address, location);
      const isStream = place.pathname.endsWith("/_stcore/stream");
      if (isStream && isInFrame) place.searchParams.set("in-frame", "yes");
      super(isStream ? place : address, protocols);
      if (!isStream) return;
      this.addEventListener("open", () => {
        hasOpened = true;
        document.getElementById(BOX)?.remove();
      });
      this.addEventListener("close", () => {
        failures += 1;
        if (!hasOpened && failures > MAX_SILENT_FAILURES) explain(place);
      });
    }
  };
}
