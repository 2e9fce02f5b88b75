"""Network behaviour of the server: allowed origins, hidden requests, start-up and stop.

Allowed origins are whose pages may talk to it; hidden is what it tells nobody.
"""

import asyncio
import contextlib
import gc
import hashlib
import secrets
import threading
import uuid
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ..jobs.shared_pool import worker_pool
from ..session import owner, render_turns, uploads
from . import compressed_files, connection_check, demo, log_privacy, page_address
from .frame_ancestors import frame_headers
from .tab_messages import TabMessages

# sizes of other people's tables; driving the pages by program
CLOSED_PATHS = (
    "/_stcore/metrics",
    "/_stcore/agent/",
)
POLICY_VIOLATION_CODE = 1008  # the WebSocket code for what is not allowed
TRY_LATER_CODE = 1013  # and for a server that is full
_SECRET = secrets.token_bytes(32)


def app_options() -> dict[str, Any]:
    """Return the keyword arguments of `st.App` beside the entry: routes, middleware, lifespan."""
    # The entry says which pages there are. Streamlit would look for a folder "pages" itself, until
    # the entry has run
    # for the first time, and let a visitor's first deep link pass the entry by.
    PagesManager.uses_pages_directory = False
    if owner.is_demo():
        demo.limit_server()
    middleware = [
        Middleware(RequestGuard),
        Middleware(uploads.UploadLimit),
        Middleware(compressed_files.CompressedFiles),
    ]
    return {
        "routes": [*page_address.page_routes(), connection_check.reason_route()],
        "middleware": middleware,
        "lifespan": _server_lifespan,
    }


class RequestGuard:
    """Middleware that refuses WebSockets from foreign pages, and requests nobody should make.

    It asks nobody: Streamlit would ask an outside service for its own address first, and serve
    nobody
    meanwhile.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request or connection."""
        if scope["type"] == "http":
            await self._serve_request(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._serve_websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "")
        refusal_text = None
        if page_address.asks_for_html(scope):
            refusal_text = connection_check.describe_refused_host(host)
        redirect_url = page_address.missing_page_redirect(scope)
        send = _add_frame_headers(send)
        if any(path in scope["path"] for path in CLOSED_PATHS):
            await PlainTextResponse("Not here.", 404)(scope, receive, send)
        elif refusal_text is not None:
            connection_check.log_once(refusal_text)
            await connection_check.refused_page(refusal_text)(scope, receive, send)
        elif redirect_url is not None:
            await RedirectResponse(redirect_url, 303)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_allowed_origin(scope):
            await send({"type": "websocket.close", "code": POLICY_VIOLATION_CODE})
            return
        if owner.is_demo() and demo.is_full(scope):
            connection_check.log_once(demo.FULL_TEXT)
            await send({"type": "websocket.close", "code": TRY_LATER_CODE})
            return
        _mark_framed_tab(scope)
        await self.app(scope, TabMessages(receive).receive, send)


def _mark_framed_tab(scope: Scope) -> None:
    """Set the header by which a tab inside a frame is known, and remove any that was sent."""
    headers = MutableHeaders(scope=scope)
    if owner.FRAME_HEADER in headers:
        del headers[owner.FRAME_HEADER]
    if "in-frame" in parse_qs(scope["query_string"].decode("latin-1")):
        headers[owner.FRAME_HEADER] = "yes"


def _add_frame_headers(send: Send) -> Send:
    """Add to every answer whose pages may show it in a frame."""
    headers = frame_headers()

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return send_with_headers


def _is_allowed_origin(scope: Scope) -> bool:
    """Return whether a WebSocket handshake comes from an allowed page, or from no page at all.

    Allowed are this server's own page and those the owner allows.
    """
    headers = MutableHeaders(scope=scope)
    origin = headers.get("origin")
    host = headers.get("host", "")
    host_text = connection_check.describe_refused_host(host)
    if host_text is not None:
        connection_check.log_once(host_text)
    if origin is None or connection_check.netloc(origin) == host:
        return True  # Streamlit looks at the host itself
    if not connection_check.is_listed_origin(origin):
        connection_check.log_once(connection_check.describe_refused_origin(origin, host))
        return False
    headers["origin"] = (
        f"{urlsplit(origin).scheme}://{host}"  # settled here, so that Streamlit need not look it up
    )
    return True


def _unguessable_file_id(data: bytes, mimetype: str, filename: str | None = None) -> str:
    """Return an id for a tab's download that nobody can work out from its content.

    No two tabs share one. Streamlit's own is a hash of the content, so that a stranger could ask
    for
    what a guessed table would give.
    """
    context = get_script_run_ctx(suppress_warning=True)
    owner_id = context.session_id if context is not None else uuid.uuid4().hex
    mac = hashlib.blake2b(
        repr((owner_id, mimetype, filename)).encode(), key=_SECRET, digest_size=28
    )
    mac.update(data)
    return mac.hexdigest()


@contextlib.asynccontextmanager
async def _server_lifespan(_app: st.App) -> AsyncIterator[None]:
    """Set up log, downloads and Streamlit patches at the server's start; clean up at its stop."""
    log_privacy.hide_error_messages()
    if not hasattr(memory_media_file_storage, "_calculate_file_id"):
        raise RuntimeError(
            "this version of Streamlit names downloads in another way: they could be guessed"
        )
    memory_media_file_storage._calculate_file_id = _unguessable_file_id
    render_turns.install()
    page_address.patch_streamlit()
    # nobody who stops the server waits for it
    threading.Thread(target=_warm_up, daemon=True, name="warm").start()
    session_watcher = asyncio.create_task(uploads.close_abandoned_sessions())
    yield
    session_watcher.cancel()


def _warm_up() -> None:
    """Prepare the server for the first page.

    What is imported stays for good: no collection of garbage looks at it again.
    """
    worker_pool()
    compressed_files.compress_first_files()
    gc.collect()
    gc.freeze()
