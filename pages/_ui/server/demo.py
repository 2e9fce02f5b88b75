"""Limits of a demo for everybody: its tabs and runs together fit into one gigabyte of memory.

`tests/certificates/pages/test_demo.py` measures that. Tabs have public samples only, see `owner`.
"""

import os

from starlette.datastructures import Headers
from starlette.types import Scope
from streamlit import config

from dpcore.core.run_memory import MEMORY_VARIABLE

from ..session import uploads

MAX_TABS = 20  # at a time, with those that may come back
RUN_MEGABYTES = 128  # of one run, in the one worker
# seconds for which the server waits for a tab to come back: long enough for a bad connection
ABSENCE_SECONDS = 30
FULL_TEXT = (
    f"This demo is full: {MAX_TABS} people use it now. Try again in a few minutes, or install the "
    "app on your computer: uvx privacy-utility-explorer."
)


def limit_server() -> None:
    """Set the limits of this process and of the worker that it starts."""
    os.environ.setdefault(MEMORY_VARIABLE, str(RUN_MEGABYTES))
    config.set_option("server.disconnectedSessionTTL", ABSENCE_SECONDS)


def is_full(scope: Scope) -> bool:
    """Return whether a WebSocket asks for one tab too many; one that comes back is let in."""
    sessions = uploads.open_session_ids()
    protocols = Headers(scope=scope).get("sec-websocket-protocol", "")
    former_session = protocols.split(",")[-1].strip()
    return len(sessions) >= MAX_TABS and former_session not in sessions
