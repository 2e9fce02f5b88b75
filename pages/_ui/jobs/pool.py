"""The server's worker processes, which all tabs share in turn."""

import streamlit as st

from dpcore.experiments.pool import Pool

WORKERS = 2


@st.cache_resource(on_release=Pool.close, show_spinner=False)
def pool() -> Pool:
    """The server's workers; the first page to call this starts them."""
    return Pool(workers=WORKERS)
