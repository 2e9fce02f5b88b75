"""Uploaded bytes and the sessions they belong to: how much there may be, and that all of it goes with its tab."""

import asyncio
import ctypes
import gc
import time
from collections import Counter
from typing import Any

import pyarrow as pa
import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from . import address_link

A_SESSION, THE_SERVER = 2, 8  # times the largest upload: a table and what it is put beside; all sessions together
LOOK = 5.0  # seconds between two looks at who is still there
BACK = 10.0  # seconds before the server stops waiting for a tab to come back: closed by then, as it only forgets them
PATH = "/_stcore/upload_file/"
FULL = "This {} holds as many uploaded bytes as it may; remove a file, or close other tabs, and try again."

_seen: dict[str, float] = {}  # sessions, and when each was last there


class Bounded:
    """Middleware: refuses an upload beyond what a session, or the server, may hold; what is on its way counts."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.coming: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["method"] != "PUT" or PATH not in scope["path"]:
            await self.app(scope, receive, send)
            return
        largest = st.get_option("server.maxUploadSize") * 2**20
        said = Headers(scope=scope).get("content-length", "")
        size = int(said) if said.isascii() and said.isdigit() else largest  # not said: as much as is ever taken
        session = scope["path"].rsplit(PATH, 1)[1].split("/")[0]
        there = _held() + self.coming
        for whose, held, most in (("tab", there[session], A_SESSION), ("server", there.total(), THE_SERVER)):
            if held + size > most * largest:
                await PlainTextResponse(FULL.format(whose), 413)(scope, receive, send)
                return
        self.coming[session] += size
        try:
            await self.app(scope, receive, send)
        finally:
            self.coming[session] -= size
            if not self.coming[session]:
                del self.coming[session]


def begin_page(title: str) -> None:
    """Drop what was uploaded on another page: its uploader is gone, and what was read of it is kept elsewhere."""
    context = get_script_run_ctx()
    if context is None:
        return
    _seen[context.session_id] = time.monotonic()
    before = st.session_state.get("page")
    if before not in (None, title):
        context.uploaded_file_mgr.remove_session_files(context.session_id)
    if before != title:
        address_link.arrived(back=context.is_history_navigation)
    st.session_state["page"] = title


async def watch() -> None:
    """For as long as the server runs: close sessions that nobody came back to, and give their memory back."""
    server = runtime.get_instance()
    wait = max(st.get_option("server.disconnectedSessionTTL") - BACK, LOOK)
    while True:
        await asyncio.sleep(LOOK)
        now, gone = time.monotonic(), []
        for session in {*_seen, *_held()}:
            if server.is_active_session(session):
                _seen[session] = now
            elif now - _seen.setdefault(session, now) > wait:
                gone.append(session)
        for session in gone:
            server.close_session(session)
            server.uploaded_file_mgr.remove_session_files(session)
            del _seen[session]
        if gone:
            await asyncio.to_thread(give_back)


def give_back() -> None:
    """Return freed memory to the operating system: a session's objects lie in circles, and allocators keep pages."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc
        trim(0)


def _held() -> Counter[str]:
    """Uploaded bytes by session."""
    storage: dict = getattr(runtime.get_instance().uploaded_file_mgr, "file_storage", {})
    return Counter({name: sum(len(f.data) for f in list(files.values())) for name, files in list(storage.items())})
