"""Drawing a page anew, without taking back another page that was asked for meanwhile."""

from typing import NoReturn

import streamlit as st


def redraw_page() -> NoReturn:
    """Draw the page anew, unless another run was asked for meanwhile, such as that of a new page.

    Of two requests Streamlit serves the later one, and a redraw asks for the page it is called on:
    a click on the menu while a page waited was lost. So an element comes first, at which a run ends
    where another waits.
    """
    st.empty()
    st.rerun()
