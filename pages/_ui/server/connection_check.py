"""Why the server refuses a connection, in words: in the page that would stay empty, and in the log.

Streamlit refuses a connection that was asked for by a name that it does not know, or that comes
from another page, and says nothing. Beside this file is what a page does about it.
"""

import html
import logging
import re
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from ..session import owner, printable_text
from . import demo

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
REASON_PATH = "/connection-reason"
HOSTS_VARIABLE = "STREAMLIT_SERVER_ALLOWED_HOSTS"
MAX_NAME_CHARS = 100  # characters of a name that are shown
MAX_LOGGED_REFUSALS = 100  # different ones; strangers choose the names
HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?")
HOST_TEXT = (
    "This app does not answer to the name “{host}”, so it sends nothing. Whoever runs it can "
    "allow the name: add {name} to the environment variable {variable}. A space goes between two "
    "names. Then start the app again. If the app runs on your own computer, open "
    "http://localhost:{port} instead."
)
ORIGIN_TEXT = (
    "The browser opened {origin}, but the app was asked for as “{host}”, so it sends nothing. A "
    "proxy between them changes the name. Whoever runs the proxy can let it hand on the name that "
    "it was asked for. In nginx this is: proxy_set_header Host $http_host. The app must then allow "
    "that name, in the environment variable {variable}."
)
SOCKET_TEXT = (
    "The page has arrived, but its connection to the app (a WebSocket) does not open. Whoever runs "
    "a proxy in front of the app can let WebSockets through. In nginx these three lines do it: "
    "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "
    '"upgrade".'
)
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Not available under this name</title>
<body style="font: 1.125rem/1.5 sans-serif; max-width: 40rem; margin: 4rem auto; padding: 1rem">
<h1 style="font-size: 1.5rem">Privacy–Utility Explorer</h1><p>{text}</p>"""

_logger = logging.getLogger(__name__)
_logged_texts: set[str] = set()


def describe_refused_host(host: str) -> str | None:
    """Return why the server does not answer to a Host and what to set; None where it does."""
    if is_host_allowed(host):
        return None
    name = _host_name(host)
    return HOST_TEXT.format(
        host=printable_text(name, MAX_NAME_CHARS),
        name=name if HOST_NAME.fullmatch(name) else "it",
        variable=HOSTS_VARIABLE,
        port=st.get_option("server.port"),
    )


def describe_refused_origin(origin: str, host: str) -> str:
    """Return why a page of `origin` is refused by a server that was asked for as `host`."""
    return ORIGIN_TEXT.format(
        origin=printable_text(origin, MAX_NAME_CHARS),
        host=printable_text(host, MAX_NAME_CHARS),
        variable=HOSTS_VARIABLE,
    )


def log_once(text: str) -> None:
    """Write a refusal to the log, if it is not there yet, and the names that are allowed now."""
    if text not in _logged_texts and len(_logged_texts) < MAX_LOGGED_REFUSALS:
        _logged_texts.add(text)
        allowed_hosts = st.get_option("server.allowedHosts")
        _logger.warning("%s It answers to: %s.", text, " ".join(allowed_hosts) or "every name")


def refused_page(text: str) -> HTMLResponse:
    """Return the page that says why there is no other."""
    return HTMLResponse(PAGE.format(text=html.escape(text)), 403)


def reason_route() -> Route:
    """Return the route by which a page that stays empty asks why."""
    return Route(REASON_PATH, _answer_reason)


async def _answer_reason(request: Request) -> PlainTextResponse:
    host = request.headers.get("host", "")
    origin = request.query_params.get("origin", "")
    host_text = describe_refused_host(host)
    if host_text is not None:
        return PlainTextResponse(host_text)
    if netloc(origin) not in ("", host) and not is_listed_origin(origin):
        return PlainTextResponse(describe_refused_origin(origin, host))
    if owner.is_demo() and demo.is_full(request.scope):
        return PlainTextResponse(demo.FULL_TEXT)
    return PlainTextResponse(SOCKET_TEXT)


def is_listed_origin(origin: str) -> bool:
    """Return whether the owner has allowed the pages of this origin."""
    return origin in st.get_option("server.corsAllowedOrigins")


def netloc(origin: str) -> str:
    """Return an origin's host and port; "" where it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _host_name(host: str) -> str:
    """Return a Host without its port, as it was asked for."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return host
