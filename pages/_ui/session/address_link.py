"""Link to what a page shows: a button that copies it, and warnings about a bad opened link."""

import re
import tomllib
from collections.abc import Collection
from pathlib import Path

import streamlit as st

from dpcore import ALGORITHMS

from .inert_text import algorithm_nickname, escape_markdown
from .table import Table

# what was wrong, kept until a person has read it: a widget takes a bad value out of the address
BAD_VALUES_KEY = "bad-link"
MISSING_PAGE_KEY = (
    "no-page"  # a parameter, and a key of the state: the name of a page that there is not
)
LINK_SLOT_KEY = "_link"  # in the head of the page that is drawn, for that
COPY_SCRIPT = """
export default function ({ parentElement, data }) {
  const button = parentElement.querySelector("button"), said = parentElement.querySelector("span");
  button.onclick = async () => {
    const text = window.location.href;
    try { await navigator.clipboard.writeText(text); }
    catch {  // not a secure address, or not allowed: the old way
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select();
      document.execCommand("copy"); area.remove();
    }
    said.textContent = data.said;
  };
}
"""
# parameters of the address that name algorithms
ALGORITHM_PARAMETERS = (
    "algorithm",
    "compared",
    "learners",
)
FORMER_NAMES = tomllib.loads(Path(__file__).with_name("former.toml").read_text(encoding="utf-8"))
COPY_BUTTON_STYLE = """
div {display: flex; gap: 0.6rem; align-items: center; font-size: 0.875rem;}
button {font: inherit; color: inherit; background: none;
  border: 1px solid var(--st-border-color, gray);
  border-radius: 0.5rem; padding: 0.15rem 0.7rem; cursor: pointer; white-space: nowrap;}
button:focus-visible {outline: 2px solid var(--st-primary-color, #0072B2);}
"""
_copy_component = st.components.v2.component(
    "copy_link",
    html='<div><button type="button" title="Settings only: no data is in the link">Copy '
    "link</button>"
    '<span role="status"></span></div>',
    css=COPY_BUTTON_STYLE,
    js=COPY_SCRIPT,
)


def drop_stale_settings(*, from_history: bool) -> None:
    """Remove session settings that the address of a newly opened page decides.

    `from_history` says that the page was reached by the browser's history.
    """
    for name in [*st.query_params, *(["epsilon"] if from_history else [])]:
        if name in st.session_state and name != "present":
            # Streamlit would prefer it to an address that names the usual value
            del st.session_state[name]


def draw_copy_button(table: Table) -> None:
    """Draw the button that copies the page's link.

    It says, once pressed, that no data is in the link, and what somebody needs to see the same.
    """
    confirmation = "Copied: settings only, no data is in the link."
    if table.uploaded:
        confirmation = "Copied: settings only. Neither your table nor its columns are in the link."
    _copy_component(data={"said": confirmation}, key="copy-link", width="content")


def store_missing_page() -> None:
    """Store the name of a requested page that does not exist, and remove it from the address."""
    page_name = st.query_params.get(MISSING_PAGE_KEY)
    if page_name is not None:
        st.session_state[MISSING_PAGE_KEY] = page_name
        del st.query_params[MISSING_PAGE_KEY]


def draw_link_warnings() -> None:
    """Draw warnings about what the address named and nothing takes, until they are read.

    That is a page, or a parameter; then the warning says what is allowed.
    """
    missing_page = st.session_state.get(MISSING_PAGE_KEY)
    if missing_page is not None:
        with st.session_state[LINK_SLOT_KEY].container(
            horizontal=True, vertical_alignment="center"
        ):
            st.warning(
                f"There is no page named “{escape_markdown(missing_page, 80)}”. This is Start; "
                "the menu leads to every page."
            )
            st.button("Understood", key="missing-read", on_click=_dismiss_link_warnings)
        return
    bad_values = st.session_state.get(BAD_VALUES_KEY)
    if bad_values:
        with st.session_state[LINK_SLOT_KEY].container(
            horizontal=True, vertical_alignment="center"
        ):
            st.warning(
                f"In this link, these values cannot be: {'; '.join(bad_values.values())}. The "
                "usual ones are shown "
                "instead."
            )
            st.button("Understood", key="link-read", on_click=_dismiss_link_warnings)


def _dismiss_link_warnings() -> None:
    st.session_state[BAD_VALUES_KEY] = {}
    st.session_state[MISSING_PAGE_KEY] = None


def store_bad_value(name: str, value: str, allowed: str) -> None:
    """Keep in mind a value of the address that nothing takes."""
    description = (
        f"{escape_markdown(name)} = {escape_markdown(value) or 'nothing'} (allowed: "
        f"{escape_markdown(allowed, 200)})"
    )
    st.session_state.setdefault(BAD_VALUES_KEY, {})[name] = description


def discard_unknown_value(name: str, allowed_values: Collection[str]) -> None:
    """Remove and note the address's value of a parameter, unless it is one of the allowed.

    No widget reads this parameter.
    """
    value = st.query_params.get(name)
    if value is not None and value not in allowed_values:
        store_bad_value(name, value, ", ".join(allowed_values))
        del st.query_params[name]


def update_former_link() -> bool:
    """Write what an older link says as links say it now; whether there was any."""
    new_names = FORMER_NAMES["parameters"]
    old_params = {name: st.query_params.get_all(name) for name in st.query_params}
    # a name of today wins over a former one
    ordered_names = sorted(old_params, key=lambda name: name not in new_names)
    new_params = {
        new_names.get(name, name): [_update_former_value(name, value) for value in old_params[name]]
        for name in ordered_names
    }
    if new_params != old_params:
        st.query_params.from_dict(new_params)
    return new_params != old_params


def _update_former_value(name: str, value: str) -> str:
    """Return an address value in today's form: titles for code names, 1e-9 for 1e-09, new words.

    Settings may follow a code name after a comma; instead of a title it may be a nickname.
    """
    if name in ALGORITHM_PARAMETERS:
        code, separator, settings = value.partition(",")
        value = ALGORITHMS[code].about.title + separator + settings if code in ALGORITHMS else value
        value = algorithm_nickname(value) if name == "compared" else value
    return FORMER_NAMES["values"].get(value, re.sub(r"^(\d+e-)0(\d)$", r"\1\2", value))
