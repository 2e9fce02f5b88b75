"""What a tab asks for is the page that its hand asked for last."""

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages._ui.server.tab_messages import TabMessages

DATA, EXPLORE = "hash-of-data", "hash-of-explore"


def rerun(page, fragment="", **fields):
    message = BackMsg()
    message.rerun_script.page_script_hash = page
    message.rerun_script.fragment_id = fragment
    for name, value in fields.items():
        message.rerun_script.widget_states.widgets.add(id=name, string_value=value)
    return message


def received(*messages):
    """Return what Streamlit gets of these messages, each with what the browser says before it."""
    sent = []
    for said, message in messages:
        sent += [{"text": said}, {"bytes": message.SerializeToString()}]
    sent.reverse()

    async def receive():
        return sent.pop()

    tab = TabMessages(receive)
    found = []
    for _ in messages:
        step = tab.receive()
        with pytest.raises(StopIteration) as end:
            step.send(None)  # no loop: a browser's may run in this thread
        found.append(BackMsg.FromString(end.value.value["bytes"]))
    return found


def values(message):
    return {state.id: state.string_value for state in message.rerun_script.widget_states.widgets}


def test_the_page_that_was_clicked_is_asked_for():
    opened, clicked = received(("?a=1", rerun(DATA)), ("by-hand?b=2", rerun(EXPLORE)))
    assert opened.rerun_script.page_script_hash == DATA
    assert opened.rerun_script.query_string == "a=1"
    assert clicked.rerun_script.page_script_hash == EXPLORE
    assert clicked.rerun_script.query_string == "b=2"


def test_a_late_edit_of_the_page_that_is_left_goes_along_alone_and_does_not_bring_it_back():
    late = received(
        ("?", rerun(DATA, name="old", cell="")),
        ("by-hand?", rerun(EXPLORE)),
        ("?", rerun(DATA, name="old", cell="0 to 9")),
    )[-1]
    assert late.rerun_script.page_script_hash == EXPLORE
    assert values(late) == {"cell": "0 to 9"}


def test_a_late_request_in_which_nothing_is_new_asks_for_nothing():
    opened = rerun(DATA, name="old")
    late = received(("?", opened), ("by-hand?", rerun(EXPLORE)), ("?", opened))[-1]
    assert late.WhichOneof("type") == "app_heartbeat"


def test_a_timer_of_the_page_that_is_left_asks_for_nothing():
    messages = [("?", rerun(DATA)), ("by-hand?", rerun(EXPLORE))]
    late = received(*messages, ("?", rerun(DATA, fragment="progress")))[-1]
    assert late.WhichOneof("type") == "app_heartbeat"
    of_new_page = received(*messages, ("?", rerun(EXPLORE, fragment="progress")))[-1]
    assert of_new_page.rerun_script.fragment_id == "progress"


def test_a_hand_may_change_its_mind_before_the_page_is_there():
    back = received(("?", rerun(DATA)), ("by-hand?", rerun(EXPLORE)), ("by-hand?", rerun(DATA)))
    assert back[-1].rerun_script.page_script_hash == DATA


def test_a_tab_that_opened_a_page_by_its_name_may_ask_for_it_by_its_hash():
    named = rerun("")
    named.rerun_script.page_name = "data"
    asked = received(("?", named), ("?", rerun(DATA, cell="0 to 9")))[-1]
    assert asked.rerun_script.page_script_hash == DATA


def test_nobody_clears_what_all_tabs_share():
    cleared = received(("?", BackMsg(clear_cache=True)))[0]
    assert cleared.WhichOneof("type") == "app_heartbeat"
