"""What a tab asks for as its person means it: with the settings in sight, the page last clicked."""

import contextlib

from google.protobuf.message import DecodeError
from starlette.types import Message, Receive
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates

from . import page_address

# what the browser's script says of a message that is sent while a click or a step Back is served
BY_HAND = "by-hand"


class TabMessages:
    """The messages of one connection, each corrected before Streamlit takes it.

    Before each message the browser says in a text, which Streamlit does not use, what its address
    says, and whether a hand has just clicked: what is asked for is asked for with these settings.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive_next = receive
        self._page = ""  # the hash of the page that was asked for last
        self._last_states: dict[str, bytes] = {}  # what each field held last, by its id

    async def receive(self) -> Message:
        """Return the next message to Streamlit."""
        is_by_hand = True  # a program that says nothing means what it sends
        page_query = ""
        message = await self._receive_next()
        while message.get("text") is not None:
            sender, _, page_query = message["text"].partition("?")
            is_by_hand = sender == BY_HAND
            message = await self._receive_next()
        data = message.get("bytes")
        if data is None:
            return message
        browser_message = BackMsg()
        with contextlib.suppress(DecodeError):  # what cannot be read is Streamlit's to refuse
            browser_message.ParseFromString(data)
        kind = browser_message.WhichOneof("type")
        if kind == "rerun_script":
            request = browser_message.rerun_script
            request.query_string = page_address.complete_query(request.query_string, page_query)
            browser_message = self._keep_page(browser_message, is_by_hand)
        elif kind == "clear_cache":  # every tab's, and everybody's runs would stop
            browser_message = BackMsg(app_heartbeat=True)
        else:
            return message
        return {**message, "bytes": browser_message.SerializeToString()}

    def _keep_page(self, browser_message: BackMsg, is_by_hand: bool) -> BackMsg:
        """Return the message that asks for the page that the hand asked for last.

        A browser names with every request the page it shows. From a click on the menu until the
        server answers that is the old one, so that a timer or a late edit would bring it back. Of
        a late edit, what was edited goes along to the new page.
        """
        request = browser_message.rerun_script
        states = {s.id: s.SerializeToString() for s in request.widget_states.widgets}
        is_late = self._page and request.page_script_hash != self._page and not is_by_hand
        if is_late:
            edited = [
                state
                for state in request.widget_states.widgets
                if self._last_states.get(state.id) != states[state.id]
            ]
            if request.fragment_id or not edited:
                return BackMsg(app_heartbeat=True)
            request.page_script_hash = self._page
            request.widget_states.CopyFrom(WidgetStates(widgets=edited))
        self._page = request.page_script_hash
        if states:  # none are told with a click on the menu
            self._last_states = states
        return browser_message
