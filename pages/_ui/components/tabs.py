"""The tabs of a page: only the one that is open is drawn, and the address keeps which that is."""

from collections.abc import Callable, Mapping

import streamlit as st


def parts(key: str, drawn: Mapping[str, Callable[[], None]]) -> None:
    """Draw tabs with these names, and in the open one what belongs to it."""
    for tab, draw in zip(
        st.tabs(list(drawn), key=key, on_change="rerun", bind="query-params"), drawn.values(), strict=True
    ):
        if tab.open:
            with tab:
                draw()
