"""Page addresses that always hold what a person sees, however the page was reached or left.

Streamlit takes along to another page only what widgets have asked for by then; the rest is added
here.
"""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.types import Scope
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.query_params import (
    QueryParams,
    _coerce_value_for_query_url,
    _parse_query_string,
    parse_url_param,
)
from streamlit.runtime.state.session_state import SessionState

from ..components.menu import ENTRIES_BY_LABEL
from ..session import address_link, session
from . import connection_check, first_chart

# begins a parameter of a link that counts where the address it stands on does not name it
FALLBACK_PREFIX = "or-"
PAGE_PATHS = [
    "/" if entry.first else f"/{Path(entry.path).stem}" for entry in ENTRIES_BY_LABEL.values()
]
STREAMLIT_PATHS = (
    "_stcore",
    "static/",
    "media/",
    "component/",
    "app/",
    "favicon",
    "robots.txt",
    "oauth2callback",
    "auth/",
)
MAX_PAGE_NAME_CHARS = 80  # characters of a page's name that are kept
STREAMLIT_FOLDER = Path(st.__file__).parent / "static"
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_original_populate = QueryParams.populate_from_query_string
_original_seed = SessionState._seed_widget_from_url


def page_routes() -> list[Route]:
    """Return a route for every page, with this file's script before all others.

    The first message may already change the address.
    """
    scripts = f"{connection_check.SCRIPT}{_SCRIPT}{first_chart.SCRIPT}"
    page = (STREAMLIT_FOLDER / "index.html").read_text(encoding="utf-8")
    page = page.replace("<head>", f"<head><script>{scripts}</script>", 1)
    page = page.replace("</head>", f"{first_chart.library_links(STREAMLIT_FOLDER)}</head>", 1)
    return [Route(path, lambda _: HTMLResponse(page)) for path in PAGE_PATHS]


def asks_for_html(scope: Scope) -> bool:
    """Return whether a person's browser asks for a page, to draw it in a window or a frame."""
    return (
        scope["method"] == "GET"
        and "text/html" in Headers(scope=scope).get("accept", "")
        and not relative_path(scope).strip("/").startswith(STREAMLIT_PATHS)
    )


def missing_page_redirect(scope: Scope) -> str | None:
    """Return the Start address that names a requested page that does not exist, else None.

    Only a page that is opened is led on: Streamlit's own files, media and components stay as they
    are.
    """
    path = relative_path(scope)
    name = path.strip("/")
    is_opened = Headers(scope=scope).get("sec-fetch-dest", "document") == "document"
    if not asks_for_html(scope) or not is_opened or path in PAGE_PATHS or f"/{name}" in PAGE_PATHS:
        return None
    query_pairs = [
        pair
        for pair in parse_qsl(scope["query_string"].decode("latin-1"))
        if pair[0] != address_link.MISSING_PAGE_KEY
    ]
    query_pairs.append((address_link.MISSING_PAGE_KEY, name[:MAX_PAGE_NAME_CHARS]))
    return f"{_base_path()}/?{urlencode(query_pairs)}"


def _base_path() -> str:
    return f"/{st.get_option('server.baseUrlPath').strip('/')}".rstrip("/")


def relative_path(scope: Scope) -> str:
    """Return the path that is asked for, below the server's base path."""
    return scope["path"].removeprefix(_base_path())


def complete_query(requested_query: str, current_query: str) -> str:
    """Return the query a browser asks for, completed with the settings of its current address.

    `current_query` is the address where the click was made.
    """
    requested = _parse_query_string(requested_query)
    current = _parse_query_string(current_query.removeprefix("?"))
    fallbacks = {
        name.removeprefix(FALLBACK_PREFIX): requested.pop(name)
        for name in list(requested)
        if name.startswith(FALLBACK_PREFIX)
    }
    return urlencode({**fallbacks, **current, **requested}, doseq=True)


def patch_streamlit() -> None:
    """Patch Streamlit so that leaving a page keeps its address and bad values are noted.

    A page's entry in the history needs the address. A bad value is one in the address that a widget
    cannot take.
    """
    QueryParams.populate_from_query_string = _populate_keeping_address
    SessionState._seed_widget_from_url = _seed_and_store_bad_value  # type: ignore[method-assign]


def _populate_keeping_address(self: QueryParams, query: str, pages: set[str] | None = None) -> None:
    _original_populate(self, query)
    for widget, binding in list(self._bindings_by_widget.items()):
        if pages and binding.script_hash not in pages:
            self.unbind_widget(widget)


def _seed_and_store_bad_value(
    self: SessionState,
    widget: WidgetMetadata,
    name: str,
    widget_id: str,
    requested: str | list[str],
) -> bool:
    """Return whether a widget takes a value from the address; note one it cannot take.

    Only a value of the link that opened the tab is noted.
    """
    texts = [requested] if isinstance(requested, str) else requested
    try:
        is_taken = _original_seed(self, widget, name, widget_id, requested)
    except OverflowError:  # infinity, where a whole number is wanted
        self.query_params.remove_param(name)
        is_taken = False
    value = self[name] if is_taken else widget.deserializer(None)
    current_text = _coerce_value_for_query_url(widget.serializer(value), widget.value_type)
    try:
        is_same = parse_url_param(requested, widget.value_type) == parse_url_param(
            current_text, widget.value_type
        )
    except (ValueError, IndexError):  # of an empty text, too
        is_same = False
    # not one of a former table, which the address carries along
    if not is_same and texts == session().initial_query_params.get(name):
        address_link.store_bad_value(name, ", ".join(texts), _allowed_values_text(widget))
    return is_taken


def _allowed_values_text(widget: WidgetMetadata) -> str:
    """Return in words what a widget takes: its options, or the steps or the ends of its scale."""
    scale: Any = getattr(widget.deserializer, "__self__", None)
    steps = list(getattr(scale, "formatted_option_to_index", ()))
    if steps:
        first = next((step for step in steps if step[0].isdigit()), steps[0])
        return f"{first} … {steps[-1]}, the {len(steps)} steps of its slider"
    if hasattr(scale, "min_value"):
        return f"{scale.min_value:,.12g} … {scale.max_value:,.12g}"
    return ", ".join(widget.formatted_options or ("true", "false"))
