// The first chart of a tab is painted before the others are drawn. Charts that arrive while their library starts would
// all be drawn as one task of the browser, which takes a second, and none of them would be seen before its end. So
// what the server sends after the first chart is taken when that chart has been painted: once, for the library has
// started then.
{
  const FIGURE_START = '{"data":[{'; // how a figure begins in a message
  const DRAWN_CHART = ".js-plotly-plot :is(.trace, .heatmaplayer image)";
  const MAX_HELD_MILLISECONDS = 2000; // a chart may be out of sight, and is not drawn then
  const latin1 = new TextDecoder("latin1");
  const whenIdle = window.requestIdleCallback ?? setTimeout; // not while the library starts
  let state = "no chart yet";
  let heldMessages = [];

  const hasFigure = (data) => latin1.decode(data).includes(FIGURE_START);
  const release = (socket) => {
    if (state === "released") return;
    state = "released";
    socket.removeEventListener("message", receive);
    for (const data of heldMessages) socket.dispatchEvent(new MessageEvent("message", { data }));
    heldMessages = [];
  };
  const hold = (socket) => {
    state = "holding";
    const observer = new MutationObserver(() => {
      if (!document.querySelector(DRAWN_CHART)) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => release(socket))); // after the frame that shows it
    });
    observer.observe(document.body, { childList: true, subtree: true });
    const atTheLatest = { timeout: MAX_HELD_MILLISECONDS };
    setTimeout(() => whenIdle(() => release(socket), atTheLatest), MAX_HELD_MILLISECONDS);
  };
  const receive = (event) => {
    if (state === "holding") {
      event.stopImmediatePropagation();
      heldMessages.push(event.data);
    } else if (!document.hidden && hasFigure(event.data)) {
      hold(event.target);
    }
  };

  const listen = WebSocket.prototype.addEventListener;
  WebSocket.prototype.addEventListener = function (type, ...rest) {
    if (type === "message" && state === "no chart yet") listen.call(this, type, receive); // before Streamlit's own
    listen.call(this, type, ...rest);
  };
}
