"""The address of a page: what a person sees is what it says, however a person came there and however quickly left.

Streamlit takes along to another page only what widgets have asked for by then; the rest is added here.
"""

from pathlib import Path
from urllib.parse import urlencode

import streamlit as st
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit.runtime.state.query_params import QueryParams, _parse_query_string

from ..shell.menu import ENTRIES

OTHERWISE = "or-"  # begins a parameter of a link that counts where the address it stands on does not name it
_INDEX = Path(st.__file__).parent / "static/index.html"
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_populate = QueryParams.populate_from_query_string


def routes() -> list[Route]:
    """Every page with the script of this file before all others: the first message may already change the address."""
    page = _INDEX.read_text(encoding="utf-8").replace("<head>", f"<head><script>{_SCRIPT}</script>", 1)
    paths = ["/" if e.first else f"/{Path(e.path).stem}" for e in ENTRIES.values()]
    return [Route(path, lambda _: HTMLResponse(page)) for path in paths]


def completed(asked: str, here: str) -> str:
    """The query that a browser asks for, with the settings that the address `here` has where the click was made."""
    said, kept = _parse_query_string(asked), _parse_query_string(here.removeprefix("?"))
    otherwise = {name.removeprefix(OTHERWISE): said.pop(name) for name in list(said) if name.startswith(OTHERWISE)}
    return urlencode(otherwise | kept | said, doseq=True)


def keep() -> None:
    """From now on a page that is left takes nothing out of the address, which its entry in the history needs."""
    QueryParams.populate_from_query_string = _keep  # type: ignore[method-assign]


def _keep(self: QueryParams, query: str, pages: set[str] | None = None) -> None:
    _populate(self, query)
    for widget, binding in list(self._bindings_by_widget.items()):
        if pages and binding.script_hash not in pages:
            self.unbind_widget(widget)
