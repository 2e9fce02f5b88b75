"""The server's worker processes, which all tabs share in turn."""

import streamlit as st

from dpcore.evaluation.sweeps.worker_pool import WorkerPool

from ..session import owner

WORKER_COUNT = 1 if owner.is_demo() else 2


@st.cache_resource(on_release=WorkerPool.close, show_spinner=False)
def worker_pool() -> WorkerPool:
    """Return the server's worker pool, started at the first call."""
    return WorkerPool(workers=WORKER_COUNT)
