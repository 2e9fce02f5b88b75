// The state that is seen is the state that is meant.
{
  // An edit in a table is sent a moment after it was made (Streamlit waits 150 ms for more). Leaving the page before
  // would lose the edit: so a click on a link right after an edit is made once more when the edit has been sent.
  const EDIT_MILLISECONDS = 250;
  const EDITORS = '[data-testid="stDataFrame"], #portal';
  let lastEdit = -Infinity;
  const noteEdit = (event) => {
    if (event.target.closest?.(EDITORS) || document.querySelector("#portal textarea, #portal input")) lastEdit = event.timeStamp;
  };
  addEventListener("keydown", noteEdit, true);
  addEventListener("pointerdown", noteEdit, true);
  addEventListener("click", (event) => {
    const link = event.target.closest?.('a[data-testid$="Link"]');
    const isEditUnsent = event.timeStamp - lastEdit < EDIT_MILLISECONDS;
    if (!link || !isEditUnsent || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    setTimeout(() => link.click(), EDIT_MILLISECONDS);
  }, true);

  // What is sent while a click or a step Back is served, a hand asked for; all else a timer did.
  const isByHand = () => ["click", "popstate"].includes(window.event?.type);

  // Before every message the server is told what the address says: Streamlit itself leaves out on the way to another
  // page what no widget has asked for yet.
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    const here = new URLSearchParams(location.search);
    for (const name of [...here.keys()]) if (name === "lesson" || name.startsWith("or-")) here.delete(name);
    send.call(this, `${isByHand() ? "by-hand" : ""}?${here}`);
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
