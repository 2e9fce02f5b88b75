"""What a tab asks for is the page that its hand asked for last, with what its fields held."""

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages._ui.server.tab_messages import TabMessages

DATA, EXPLORE = "hash-of-data", "hash-of-explore"


def rerun(page, fragment="", presses=(), **fields):
    message = BackMsg()
    message.rerun_script.page_script_hash = page
    message.rerun_script.fragment_id = fragment
    for name, value in fields.items():
        message.rerun_script.widget_states.widgets.add(id=name, string_value=value)
    for name in presses:
        message.rerun_script.widget_states.widgets.add(id=name, trigger_value=True)
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


def test_a_late_edit_of_the_page_that_is_left_does_not_bring_it_back():
    late = received(
        ("?", rerun(DATA)), ("by-hand?", rerun(EXPLORE)), ("?", rerun(DATA, cell="0 to 9"))
    )[-1]
    assert late.rerun_script.page_script_hash == EXPLORE
    assert values(late) == {"cell": "0 to 9"}


def test_a_timer_of_the_page_that_is_left_asks_for_nothing():
    messages = [("?", rerun(DATA)), ("by-hand?", rerun(EXPLORE))]
    late = received(*messages, ("?", rerun(DATA, fragment="progress")))[-1]
    assert late.WhichOneof("type") == "app_heartbeat"
    of_new_page = received(*messages, ("?", rerun(EXPLORE, fragment="progress")))[-1]
    assert of_new_page.rerun_script.fragment_id == "progress"


def test_a_hand_may_change_its_mind_before_the_page_is_there():
    back = received(("?", rerun(DATA)), ("by-hand?", rerun(EXPLORE)), ("by-hand?", rerun(DATA)))
    assert back[-1].rerun_script.page_script_hash == DATA


def test_an_edit_goes_along_to_the_page_that_is_clicked_right_after_it_and_a_press_does_not():
    edited = rerun(DATA, presses=["attack"], cell="0 to 9", name="old")
    clicked = received(("?", edited), ("by-hand?", rerun(EXPLORE, name="new")))[-1]
    assert values(clicked) == {"cell": "0 to 9", "name": "new"}


def test_a_tab_that_opened_a_page_by_its_name_may_ask_for_it_by_its_hash():
    named = rerun("")
    named.rerun_script.page_name = "data"
    asked = received(("?", named), ("?", rerun(DATA, cell="0 to 9")))[-1]
    assert asked.rerun_script.page_script_hash == DATA


def test_nobody_clears_what_all_tabs_share():
    cleared = received(("?", BackMsg(clear_cache=True)))[0]
    assert cleared.WhichOneof("type") == "app_heartbeat"
