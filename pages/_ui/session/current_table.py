"""Which table the calling tab is about, how it is shown, and who can reach this server."""

import math
import uuid
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore import domain_to_json, samples

from .session import UPLOADED_TABLE_PARAM, session
from .stakeholder_view import is_stakeholder_view
from .stakeholder_wall import PublicTable, public_table_of
from .table import Table

WIDGET_PAGES_KEY = "_shown"  # on which page a widget was drawn last, by key
CHOICES_KEY = "_choices"  # what a person chose in widgets whose default changes, by key
LOOPBACK_HOSTS = {"127.0.0.1", "localhost", "::1"}
SAMPLES = {
    "census": ("Invented census (20,000 people)", samples.census),
    "berkeley": ("Berkeley admissions 1973 (4,526 applicants)", samples.berkeley),
    "titanic": ("Titanic 1912 (2,201 people)", samples.titanic),
    "coins": ("Invented coins (2,000 rows)", samples.coins),
}


@st.cache_resource(show_spinner=False)
def _load_sample(name: str) -> Table:
    """Return a public sample as a table that no session changes; its rows are encoded once."""
    sample = SAMPLES[name][1]()
    schema = domain_to_json(sample.domain)
    return Table(
        name, sample.frame, schema, sample.source, uploaded=False, population=sample.population
    )


def sample_table(name: str) -> Table:
    """Return a public sample as a table of the calling session; sessions share its rows."""
    table = _load_sample(name).editable_copy()
    table.identity = uuid.uuid4().hex
    return table


def use_sample(name: str) -> Table:
    """Put a public sample into this session."""
    return set_current_table(sample_table(name))


def set_current_table(table: Table) -> Table:
    """Make this the session's table, and let the address name it if it is a sample.

    If it is the same file as before, read otherwise, that can be taken back.
    """
    before = session().table
    if before is not None and before is not table:
        if _is_same_file(before, table):
            session().history.store_change(before)
        else:
            session().history.clear()
    session().table = table
    if not table.uploaded:
        st.query_params["sample"] = table.name
    return table


def _is_same_file(first: Table, second: Table) -> bool:
    return (first.name, first.sha256, first.uploaded) == (
        second.name,
        second.sha256,
        second.uploaded,
    )


def is_uploaded_table_lost() -> bool:
    """Return whether this tab's address is of an uploaded table that is no longer here.

    The address says it once, and then not.
    """
    is_new_session = session().table is None
    has_upload = set_current_table(whole_table()).uploaded
    if has_upload:
        st.query_params.pop("sample", None)  # the address names samples, never uploads
        st.query_params[UPLOADED_TABLE_PARAM] = "uploaded"
    elif UPLOADED_TABLE_PARAM in st.query_params:
        st.session_state["_lost"] = is_new_session
        del st.query_params[UPLOADED_TABLE_PARAM]
    return not has_upload and st.session_state.get("_lost", False)


def visible_table() -> Table | PublicTable:
    """Return the session's table; in the stakeholder view only the public part of a private one.

    Whatever a page draws, it draws from this.
    """
    whole = whole_table()
    if not (whole.uploaded and is_stakeholder_view()):
        return whole
    key = whole.version, whole.unit, whole.row_count
    return session().memoize("public-face", key, lambda: public_table_of(whole))


def whole_table() -> Table:
    """Return the session's table with its rows: an upload, the address's sample, or the first.

    Only what changes the table asks for it, and never what draws.
    """
    session_table = session().table
    sample_name = st.query_params.get("sample", "")
    if session_table is None:
        return use_sample(sample_name if sample_name in SAMPLES else next(iter(SAMPLES)))
    if not session_table.uploaded and sample_name in SAMPLES and sample_name != session_table.name:
        return use_sample(sample_name)
    return session_table


def persistent_widget_args() -> dict[str, Any]:
    """Return keyword arguments for a widget whose value survives page changes.

    The value is in the address, but for uploads never there.
    """
    return {"persist_state": "session"} if visible_table().uploaded else {"bind": "query-params"}


def sync_widget_value(key: str, value: Any) -> bool:
    """Write into a widget what its owner says, before it is drawn; return whether it was written.

    A widget that already says so is left alone: writing would take away what a person types
    meanwhile. On another page it is another widget, which begins with its default whatever the
    session has under its key. A run that wrote it may have been interrupted before the browser
    heard of it: so the widget's default must be the value wherever it is not written.
    """
    context = get_script_run_ctx()
    page = "" if context is None else context.page_script_hash
    pages_by_widget = st.session_state.setdefault(WIDGET_PAGES_KEY, {})
    must_write = (
        pages_by_widget.get(key) != page
        or key not in st.session_state
        or st.session_state[key] != value
    )
    if must_write:
        st.session_state[key] = value
    pages_by_widget[key] = page
    return must_write


def stored_choice(key: str, default: Any) -> Any:
    """Return the last choice in a widget that calls `store_widget_choice`; else `default`."""
    return st.session_state.get(CHOICES_KEY, {}).get(key, default)


def store_widget_choice(key: str) -> None:
    """Keep what was just chosen in a widget; called by the widget."""
    store_choice(key, st.session_state[key])


def store_choice(key: str, value: Any) -> None:
    """Choose for a widget, from what a click calls."""
    st.session_state[CHOICES_KEY] = st.session_state.get(CHOICES_KEY, {}) | {key: value}


def set_widget_value(key: str, value: Any) -> None:
    """Set a widget to a value, from what a click calls."""
    st.session_state[key] = value
    st.session_state[f"_given-{key}"] = True


def default_unless_set(key: str, default: Any) -> Any:
    """Return a widget's default, or None if its value was set before it is drawn.

    Streamlit takes one of the two.
    """
    return None if st.session_state.pop(f"_given-{key}", False) else default


def is_public_host() -> bool:
    """Return whether others than this machine's user may reach this server.

    They do by its address, through a proxy by a name, or from a page of an origin that may talk to
    it.
    """
    hosts = st.get_option("server.allowedHosts")
    origins = st.get_option("server.corsAllowedOrigins")
    return (
        st.get_option("server.address") not in LOOPBACK_HOSTS
        or not hosts
        or not set(hosts) <= LOOPBACK_HOSTS
        or not {urlsplit(origin).hostname for origin in origins} <= LOOPBACK_HOSTS
    )


def server_label() -> str:
    """Return the name of the machine that keeps a table: "this server" or "this computer"."""
    return "this server" if is_public_host() else "this computer"


def format_cell_count(cells: int) -> str:
    """Return a number of cells in a form a person can read."""
    return f"{cells:,}" if cells < 10**9 else f"about 10^{math.floor(math.log10(cells))}"
