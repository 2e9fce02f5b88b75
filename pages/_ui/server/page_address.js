// The state that is seen is the state that is meant.
{
  // Before every message the server is told what the address says: Streamlit itself leaves out on the way to another
  // page what no widget has asked for yet.
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    const here = new URLSearchParams(location.search);
    for (const name of [...here.keys()]) if (name === "lesson" || name.startsWith("or-")) here.delete(name);
    send.call(this, `?${here}`);
    send.call(this, data);
  };

  // One page is one entry of the history. The server corrects the address of a page while it is drawn: that must add no
  // entry, or Back would lead to the same page half drawn, and must not change the entry of the page that is being left.
  const push = history.pushState.bind(history);
  let left = "";
  addEventListener("click", (event) => {
    const link = event.target.closest?.('a[data-testid$="Link"]');
    const away = link && new URL(link.href).pathname !== location.pathname;
    if (away && !event.ctrlKey && !event.metaKey && !event.shiftKey) left = location.pathname;
  }, true);
  // A link that is opened in another tab takes the settings along, too.
  const complete = (event) => {
    const link = event.target.closest?.('a[data-testid$="Link"]');
    if (!link || link.origin !== location.origin) return;
    if (link.href !== link.completed) link.plain = link.href;
    const next = new URL(link.plain);
    for (const [name, value] of new URLSearchParams(location.search))
      if (name !== "lesson" && !new URL(link.plain).searchParams.has(name)) next.searchParams.append(name, value);
    link.href = link.completed = next.href;
  };
  addEventListener("pointerdown", complete, true);
  addEventListener("focusin", complete, true);
  history.pushState = (state, title, address) => {
    const next = new URL(address, location);
    if (next.pathname === location.pathname) {
      if (next.pathname !== left) history.replaceState(state, title, next);
      return;
    }
    for (const [name, value] of new URLSearchParams(location.search))
      if (!new URL(address, location).searchParams.has(name)) next.searchParams.append(name, value);
    left = "";
    push(state, title, next); // with all settings until the server has said which of them this page has
  };
}
