"""A page that is drawn anew takes no other page back that was asked for while it waited."""

import re

from streamlit.testing.v1 import AppTest

from tests.size import ROOT


def waiting_page():
    """Ask for another run, as a click on the menu does, and then for a redraw."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx
    from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

    from pages._ui.session.render_turns import redraw_page

    context = get_script_run_ctx()
    if "has_waited" not in st.session_state:
        st.session_state["has_waited"] = True
        context.script_requests.request_rerun(RerunData(query_string="page=other"))
        redraw_page()
    st.text(context.query_string)


def test_what_was_asked_for_while_a_page_waited_is_drawn_next():
    app = AppTest.from_function(waiting_page).run()
    assert [text.value for text in app.text] == ["page=other"]


def test_pages_are_drawn_anew_by_nothing_else():
    texts = {path: path.read_text() for path in (ROOT / "pages").rglob("*.py")}
    callers = {path.name for path, text in texts.items() if re.search(r"\bst\.rerun\(", text)}
    assert callers == {"render_turns.py"}
