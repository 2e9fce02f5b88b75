"""State of the stakeholder view: an address asks for it, and the tab keeps it.

It stays from page to page.
"""

import streamlit as st

STAKEHOLDER_VIEW = "stakeholder"


def is_stakeholder_view() -> bool:
    """Return whether this tab shows only public, typed or released facts.

    It does since the address said `?view=stakeholder`.
    """
    requested_view = st.query_params.get("view")
    if requested_view is not None:
        st.session_state["view"] = requested_view
    return st.session_state.get("view") == STAKEHOLDER_VIEW
