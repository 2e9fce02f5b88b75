"""Limits on uploaded bytes by session and server, and their removal with the tab."""

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

from . import address_link, owner, render_turns

# Times the largest upload: a table and what it is put beside; all sessions together.
MAX_UPLOADS_PER_SESSION = 2
MAX_UPLOADS_PER_SERVER = 8
POLL_SECONDS = 5.0  # seconds between two looks at who is still there
# seconds before the server stops waiting for a tab to come back: closed by then, as it only forgets
# them
RECONNECT_SECONDS = 10.0
UPLOAD_PATH = "/_stcore/upload_file/"
STORAGE_FULL_TEXT = (
    "This {} holds as many uploaded bytes as it may; remove a file, or close "
    "other tabs, and try again."
)
NO_UPLOADS_TEXT = "No table can be uploaded here: this tab has public samples only."

_last_active: dict[str, float] = {}  # sessions, and when each was last there
_sessions_with_samples_only: set[str] = set()


class UploadLimit:
    """Middleware that refuses an upload beyond what a session or the server may hold.

    Uploads on their way count, too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.pending_bytes: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it if it is too large an upload."""
        if scope["type"] != "http" or scope["method"] != "PUT" or UPLOAD_PATH not in scope["path"]:
            await self.app(scope, receive, send)
            return
        session_id = scope["path"].rsplit(UPLOAD_PATH, 1)[1].split("/")[0]
        if owner.is_demo() or session_id in _sessions_with_samples_only:
            await PlainTextResponse(NO_UPLOADS_TEXT, 403)(scope, receive, send)
            return
        max_upload_bytes = st.get_option("server.maxUploadSize") * 2**20
        content_length = Headers(scope=scope).get("content-length", "")
        # not said: as much as is ever taken
        size = (
            int(content_length)
            if content_length.isascii() and content_length.isdigit()
            else max_upload_bytes
        )
        stored_bytes = _uploaded_bytes() + self.pending_bytes
        for holder, holder_bytes, max_uploads in (
            ("tab", stored_bytes[session_id], MAX_UPLOADS_PER_SESSION),
            ("server", stored_bytes.total(), MAX_UPLOADS_PER_SERVER),
        ):
            if holder_bytes + size > max_uploads * max_upload_bytes:
                await PlainTextResponse(STORAGE_FULL_TEXT.format(holder), 413)(scope, receive, send)
                return
        self.pending_bytes[session_id] += size
        try:
            await self.app(scope, receive, send)
        finally:
            self.pending_bytes[session_id] -= size
            if not self.pending_bytes[session_id]:
                del self.pending_bytes[session_id]


def begin_page(title: str) -> None:
    """Remove another page's uploads, and settings that the new page's address decides.

    Their uploader is gone, and what was read of them is kept elsewhere.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    _last_active[context.session_id] = time.monotonic()
    if owner.is_in_frame():
        _sessions_with_samples_only.add(context.session_id)
    previous_title = st.session_state.get("page")
    if previous_title not in (None, title):
        context.uploaded_file_mgr.remove_session_files(context.session_id)
    if previous_title != title:
        address_link.drop_stale_settings(from_history=context.is_history_navigation)
    st.session_state["page"] = title


def open_session_ids() -> set[str]:
    """Return the sessions that the server holds, whether their tab is there or may come back."""
    return set(_last_active)


async def close_abandoned_sessions() -> None:
    """Close abandoned sessions and free unused memory, for as long as the server runs.

    Nobody came back to such a session.
    """
    server = runtime.get_instance()
    max_absence_seconds = max(
        st.get_option("server.disconnectedSessionTTL") - RECONNECT_SECONDS, POLL_SECONDS
    )
    while True:
        await asyncio.sleep(POLL_SECONDS)
        now = time.monotonic()
        abandoned = []
        for session in {*_last_active, *_uploaded_bytes()}:
            if server.is_active_session(session):
                _last_active[session] = now
            elif now - _last_active.setdefault(session, now) > max_absence_seconds:
                abandoned.append(session)
        for session in abandoned:
            server.close_session(session)
            server.uploaded_file_mgr.remove_session_files(session)
            del _last_active[session]
            _sessions_with_samples_only.discard(session)
        if abandoned:
            await asyncio.to_thread(release_memory)
        else:
            await asyncio.to_thread(render_turns.collect_garbage)


def release_memory() -> None:
    """Return freed memory to the operating system.

    A session's objects lie in circles, and allocators keep pages.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    malloc_trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:  # glibc
        malloc_trim(0)


def _uploaded_bytes() -> Counter[str]:
    """Return the number of uploaded bytes by session."""
    storage: dict = getattr(runtime.get_instance().uploaded_file_mgr, "file_storage", {})
    return Counter(
        {
            name: sum(len(f.data) for f in list(files.values()))
            for name, files in list(storage.items())
        }
    )
