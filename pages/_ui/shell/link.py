"""The link to what a page shows: a button that copies it, and what was wrong with the one that was opened."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

import streamlit as st

from dpcore.algorithms import ALGORITHMS

from .state import SAMPLES
from .table import Table
from .text import nickname, plain

BAD = "bad-link"  # what was wrong, kept until a person has read it: a widget takes a bad value out of the address
COPY = """
export default function ({ parentElement, data }) {
  const button = parentElement.querySelector("button"), said = parentElement.querySelector("span");
  button.onclick = async () => {
    const text = window.location.href;
    try { await navigator.clipboard.writeText(text); }
    catch {  // not a secure address, or not allowed: the old way
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    said.textContent = data.said;
  };
}
"""
BY_TITLE = ("algorithm", "compared", "learners")  # parameters of the address that name algorithms
STYLE = """
div {display: flex; gap: 0.6rem; align-items: center; font-size: 0.875rem;}
button {font: inherit; color: inherit; background: none; border: 1px solid var(--st-border-color, gray);
  border-radius: 0.5rem; padding: 0.15rem 0.7rem; cursor: pointer; white-space: nowrap;}
button:focus-visible {outline: 2px solid var(--st-primary-color, #0072B2);}
"""
_copy = st.components.v2.component(
    "copy_link",
    html='<div><button type="button" title="Settings only: no data is in the link">Copy link</button>'
    '<span role="status"></span></div>',
    css=STYLE,
    js=COPY,
)


@dataclass(frozen=True)
class Rule:
    """Which texts a parameter of the address `takes`, and which these are in words."""

    takes: Callable[[str], bool]
    words: str


def arrived(*, back: bool) -> None:
    """Let the address decide on a page that a person just came to, by its history if `back`."""
    for name in [*st.query_params, *(["epsilon"] if back else [])]:
        if name in st.session_state and name != "present":
            del st.session_state[name]  # Streamlit would prefer it to an address that names the usual value


def copy(table: Table) -> None:
    """The button. It says, once pressed, that no data is in the link, and what somebody needs to see the same."""
    said = "Copied: settings only, no data is in the link."
    if table.uploaded:
        said = "Copied: settings only. Neither your table nor its columns are in the link."
    _copy(data={"said": said}, key="copy-link", width="content")


def check(rule: Callable[[str], Rule | None]) -> None:
    """Name what the address says and no widget takes: which parameter, which value, and what is allowed.

    `rule` says of a parameter which texts are taken, and in words which these are; None of what is not its business. To
    be called before any widget is drawn, as they drop what they do not take.
    """
    kept = st.session_state.setdefault(BAD, {})
    for name in st.query_params:
        if (known := rule(name)) is None:
            continue
        for value in st.query_params.get_all(name):
            if not known.takes(value):
                kept[name] = _words(name, value, known.words)
    if kept:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning(
                f"In this link, these values cannot be: {'; '.join(kept.values())}. The usual ones are shown instead."
            )
            st.button("Understood", key="link-read", on_click=_read)


def one_of(name: str, values: Collection[str]) -> Callable[[str], Rule | None]:
    """What `check` asks for where one parameter has to be one of these values."""
    return lambda asked: Rule(values.__contains__, ", ".join(values)) if asked == name else None


def _words(name: str, value: str, allowed: str) -> str:
    return f"{plain(name)} = {plain(value) or 'nothing'} (allowed: {plain(allowed, 200)})"


def _read() -> None:
    st.session_state[BAD] = {}


def note(name: str, value: str, allowed: str) -> None:
    """Keep in mind a value that is about to be taken out of the address."""
    st.session_state.setdefault(BAD, {})[name] = _words(name, value, allowed)


def renamed() -> bool:
    """Write what an older link says as links say it now; whether there was any."""
    found = False
    for name in list(st.query_params):
        asked = st.query_params.get_all(name)
        if (now := [_now(name, value) for value in asked]) != asked:
            found = True
            st.query_params[name] = now
    return found


def _now(name: str, value: str) -> str:
    """A code name, which settings may follow after a comma, as a title or nickname; steps by that; 1e-09 as 1e-9."""
    if name in BY_TITLE:
        code, comma, settings = value.partition(",")
        now = ALGORITHMS[code].about.title + comma + settings if code in ALGORITHMS else value
        return nickname(now) if name == "compared" else now
    return "step" if (name, value) == ("against", "round") else re.sub(r"^(\d+e-)0(\d)$", r"\1\2", value)


def sample() -> None:
    """Note a sample that the address names and nobody knows; before another one takes its place in the address."""
    for value in st.query_params.get_all("sample"):
        if value not in SAMPLES:
            note("sample", value, ", ".join(SAMPLES))
