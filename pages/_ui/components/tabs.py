"""The tabs of a page: only the one that is open is drawn, and the address keeps which that is."""

from collections.abc import Callable, Mapping

import streamlit as st


def draw_tabs(key: str, sections: Mapping[str, Callable[[], None]]) -> None:
    """Draw tabs with these names, and in the open one what belongs to it."""
    for tab, draw in zip(
        st.tabs(list(sections), key=key, on_change="rerun", bind="query-params"),
        sections.values(),
        strict=True,
    ):
        if tab.open:
            with tab:
                draw()
