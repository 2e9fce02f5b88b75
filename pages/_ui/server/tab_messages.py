"""What a tab asks for as its person means it: with the settings in sight, the page last clicked."""

import contextlib

from google.protobuf.message import DecodeError
from starlette.types import Message, Receive
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState

from . import page_address

# what the browser's script says of a message that is sent while a click or a step Back is served
BY_HAND = "by-hand"
# what a button holds counts once: it is not sent along a second time
PRESSES = ("trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value")


class TabMessages:
    """The messages of one connection, each corrected before Streamlit takes it.

    Before each message the browser says in a text, which Streamlit does not use, what its address
    says, and whether a hand has just clicked: what is asked for is asked for with these settings.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive_next = receive
        self._last_request = ClientState()

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
        server answers that is the old one, so that a timer or a late edit would bring it back.
        An edit that the old page's run may not have taken yet goes along to the new one.
        """
        request = browser_message.rerun_script
        last = self._last_request
        last_page = last.page_script_hash
        if last_page and request.page_script_hash != last_page:
            if is_by_hand:
                _add_values(request, last)
            elif request.fragment_id:
                return BackMsg(app_heartbeat=True)
            else:
                request.page_script_hash = last_page
        self._last_request = ClientState()
        self._last_request.CopyFrom(request)
        return browser_message


def _add_values(request: ClientState, last: ClientState) -> None:
    """Add what the last request's fields held and this one does not say."""
    known_ids = {state.id for state in request.widget_states.widgets}
    request.widget_states.widgets.extend(
        state
        for state in last.widget_states.widgets
        if state.id not in known_ids and state.WhichOneof("value") not in PRESSES
    )
