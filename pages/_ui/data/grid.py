"""The one grid of the Data page, a row a column: its first values, what it is, what is public, one action."""

import json
import re
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import InputError
from dpcore.data import repairs
from dpcore.data.guessing import Guess, begun
from dpcore.data.open_schema import PRIVATE, is_private, private_entry
from dpcore.data.readings import COMMA, DATES, PARTS, POINT, PREFIX, of_categories
from dpcore.data.repairs import Problem
from dpcore.tags import Tag

from ..shell import Table, Told, clean, distinct, plain, session, stakeholder, whole_table
from ..shell.first_values import ROWS
from ..shell.tables import GUESSED, TYPED
from .reading import attempt, refuse

ASIDE, MEASURED, SPLIT = "not used", "measured privately", "groups begin at"
MEASURE, USE = "Measure privately", "Use it"
STATES = {"person": "names people", "birth": "dates of birth", "id": "an ID, which may name people"}
TAKEN = {"categories": ("categorical", ""), "categories, any spelling": ("categorical", "any case")}
TAKEN |= {"whole numbers": ("integer", ""), "numbers": ("numeric", "")}
for _sign, _read in (("1,234.50", POINT), ("1.234,50", COMMA)):
    TAKEN |= {f"numbers like {_sign}": ("numeric", _read), f"whole numbers like {_sign[:5]}": ("integer", _read)}
TAKEN |= {_read: ("categorical" if of_categories(_read) else "integer", _read) for _read in (*DATES, *PREFIX)}
SAID = {said: words for words, said in TAKEN.items()}
POLICIES = {
    "refuse": "not allowed", "category": "a value of their own", "clip": "in the outermost groups",
    "other": "counted in (other)",
}  # fmt: skip
FROM = {TYPED: "entered by you", GUESSED: "guessed"}
NUMBER = r"-?[0-9.]+(?:e[-+]?[0-9]+)?"
RANGE = re.compile(rf"(?P<low>{NUMBER})? *(?:to|–|\.\.\.?) *(?P<high>{NUMBER})?(?:[,;]? *(?P<bins>[0-9]+) groups)?")
BARS = "how often"  # the column of small charts
PUBLIC = (
    "What everybody may know without this table. Values: a; b; c. A range: 0 to 120, or 0 to 120, 12 groups. "
    f"Unequal groups: 0 to 120, {SPLIT} 18, 65. Where nobody knows: {MEASURED}."
)
MORE = "What becomes of missing values and of those out of range, and where each line comes from."
TALL = 12  # rows of the grid that are seen at once
GROUPS = 30  # bars at the most of a column whose values are public
GRID = {
    "column": st.column_config.TextColumn(disabled=True, width=130),
    "what it is": st.column_config.SelectboxColumn(
        options=[ASIDE, *TAKEN], required=True, help="Choose what it is. A column that is not used is never read."
    ),
    **dict.fromkeys(("state", "from"), st.column_config.TextColumn(disabled=True)),
} | {
    which: st.column_config.SelectboxColumn(options=["refuse", own, "other"], required=True, format_func=POLICIES.get)
    for which, own in (("missing", "category"), ("out of range", "clip"))
}  # fmt: skip


def grid(current: Table, busy: bool) -> None:
    """Draw the grid, and take what is typed or clicked in it; while a change is on its way it only shows."""
    place, below = st.container(key="columns"), st.container(horizontal=True)
    more = below.toggle("Show all settings", key="all-settings", persist_state="session", help=MORE)
    bars = not stakeholder() and below.toggle(
        "Show how often values occur", True, key="first-values", persist_state="session",
        help="Small charts of real values. Switch them off before you bring a table that you must not look at.",
    )  # fmt: skip
    rows = pd.DataFrame(_rows(current))
    rows["column"] = rows["column"].map(distinct(rows["column"], 18))
    if bars and any(charts := _charts(current)):
        session().look(current)
        rows.insert(1, BARS, charts)
    whose = f"{Tag.PEEK.capitalize()}." if current.uploaded else "This sample is public."
    hidden = {"way", *(() if more else ("missing", "out of range", "from")), *(() if any(rows["next"]) else ("next",))}
    shown = GRID | {
        "public values or range": st.column_config.TextColumn(width=420, help=PUBLIC),
        BARS: st.column_config.BarChartColumn(
            width="small", y_min=0, help=f"How often values occur in the first {ROWS:,} rows. {whose}"
        ),
        "next": st.column_config.ButtonColumn("action", on_click=_act, key="next-step"),
    }  # fmt: skip
    whole = rows[["column", "public values or range", "state"]].map(lambda text: plain(text or ""))
    place.container(key="whole").table(whole.set_index("column"))  # on a phone
    place.data_editor(
        rows, hide_index=True, column_config=shown, column_order=[c for c in rows if c not in hidden],
        num_rows="fixed", placeholder="copy from a form", disabled=busy, key=_key(current), on_change=_typed,
        height="content" if len(rows) <= TALL else 35 * (TALL + 1),
        alt="The columns of the table: what each is, what is public about it, and what is left to decide.",
    )  # fmt: skip
    place.markdown("Write values from your form, not from the table: a rare value could give someone away.")


def said(spec: dict[str, Any]) -> str:
    """What the grid says of the values or the range of a column's entry."""
    with suppress(TypeError, ValueError):  # of a file may be anything
        if is_private(spec):
            bins = spec.get("bins")
            return MEASURED + (", groups of equal counts" if bins == PRIVATE else f", {bins} groups" if bins else "")
        if values := spec.get("values"):
            plain = all(isinstance(v, str) and v and v == v.strip(" [") and ";" not in v for v in values)
            return "; ".join(values) if plain else json.dumps(values, ensure_ascii=False)
        if spec.get("edges"):
            low, *cuts, high = map(_exact, spec["edges"])
            return f"{low} to {high}, {SPLIT} {', '.join(cuts)}"
        if "size" in spec:
            return f"0 to {spec['size'] - 1}"
        ends = [_exact(spec[key]) if spec.get(key) is not None else "" for key in ("low", "high")]
        bins = f"{spec['bins']} groups" if spec.get("bins") else ""
        return ", ".join(filter(None, [f"{ends[0]} to {ends[1]}" if any(ends) else "", bins]))
    return json.dumps(spec)


def entry_of(name: str, row: dict[str, Any], before: dict[str, Any]) -> dict[str, Any] | None:
    """The entry that a row of the grid says, where `before` is the one it had; InputError for what is no such text."""
    if row["what it is"] == ASIDE:
        return None
    kind, read = TAKEN.get(row["what it is"], (before.get("kind"), before.get("read", "")))
    text = "" if pd.isna(row["public values or range"]) else str(row["public values or range"]).strip()
    spec = {"kind": kind} | ({"read": read} if read else {})
    same = (kind, read) == (before.get("kind"), before.get("read", ""))
    if same:
        spec |= {key: before[key] for key in ("ordered", "unreadable") if key in before}
    if text == said(before):
        if not same:  # it was about another kind
            return begun(read) if read in DATES else spec
        spec = dict(before)
    elif text.casefold().startswith((MEASURED, PRIVATE)):
        bins = re.search(r"([0-9]+) groups", text)
        many = {"bins": int(bins[1])} if bins else {"bins": PRIVATE} if "equal" in text else {}
        return private_entry(spec | many)
    elif text:
        spec |= {"values": _values(name, text)} if kind == "categorical" else _range(name, text)
    if is_private(spec):
        return spec
    spec |= {"missing": row["missing"], "out_of_range": row["out of range"]}
    return spec if spec["missing"] == "category" else {k: v for k, v in spec.items() if k != "unreadable"}


def _values(name: str, text: str) -> list:
    if not text.startswith("["):
        return [part.strip() for part in text.split(";") if part.strip()]
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"column {name!r}: values are not a JSON list: {error.msg}") from None


def _range(name: str, text: str) -> dict[str, Any]:
    try:
        text, split, cuts = text.partition(f", {SPLIT}")
        found = RANGE.fullmatch(text)
        ends = {key: float(end) for key, end in found.groupdict().items() if end}  # type: ignore[union-attr]
        if split:
            return {"edges": [ends["low"], *map(float, cuts.replace(",", " ").split()), ends["high"]]}
        return ends | ({"bins": int(ends["bins"])} if "bins" in ends else {})
    except (ValueError, AttributeError, KeyError):
        shown = repr(text[:60])
        ways = f"write 0 to 120, 12 groups, or 0 to 120, {SPLIT} 18, 65"
        raise InputError(f"column {name!r}: {shown} is no range; {ways}") from None


def _exact(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _key(current: Table) -> str:
    return f"schema-{current.version}"


def _rows(current: Table) -> list[dict[str, Any]]:
    """One row a column of the table; those that the schema leaves out are there, too."""
    entries, words, rows = current.entries, current.words_missing, []
    wrong: dict[str, list[Problem]] = {}
    for problem in current.problems:
        wrong.setdefault(problem.column, []).append(problem)
    for name in _names(current):
        used, spec = name in entries, entries.get(name)
        spec, guess = spec if isinstance(spec, dict) else {}, current.guess(name)
        taken = str(spec.get("kind")), str(spec.get("read", ""))
        step, way = _next_step(wrong.get(name, [])) if used else _use(guess)
        rows.append(
            {
                "column": name, "public values or range": said(spec) or None if used else "",
                "what it is": SAID.get(taken, " ".join(taken)) if used else ASIDE,
                "state": _state(spec, wrong.get(name, []), words.get(name, {})) if used else _aside(guess),
                "next": step, "way": way,
                "missing": spec.get("missing", "refuse"), "out of range": spec.get("out_of_range", "refuse"),
                "from": FROM.get(current.origins[name], "filled in from the data") if used else "",
            }
        )  # fmt: skip
    return rows


def _names(current: Table) -> list[str]:
    """The columns as the grid has them: those that seemed to be of no use come last."""
    return sorted(current.names, key=lambda name: bool(current.guess(name).aside))


def _aside(guess: Guess) -> str:
    """Why a column is not used, in a few words."""
    return STATES.get(guess.aside, re.split("[,;]", guess.why)[0]) or "left out by you"


def _state(spec: dict[str, Any], wrong: list[Problem], words: dict[str, int]) -> str:
    """What there is to know of a column in use; what is wrong, and words, may quote a cell."""
    if is_private(spec):
        return "to be measured"
    if wrong:
        what = "does not fit" if stakeholder() else clean(wrong[0].what.partition(": ")[2], 120)
        return "needs values or a range" if wrong[0].open else what
    return f"ready; counted as missing: {', '.join(map(clean, words))}" if words and not stakeholder() else "ready"


def _use(guess: Guess) -> tuple[str, str]:
    """What one click makes of a column that is not used: its label, and the reading."""
    read = next((read for read in guess.offers if read in DATES or read in PREFIX), "")
    return (f"Use the {read.partition(' of ')[0]}", read) if read else (USE, USE) if guess.name else ("", "")


def _next_step(wrong: list[Problem]) -> tuple[str, str]:
    """What one click does about a column in use: its label, and the repair; nothing where nothing is wrong."""
    if not wrong:
        return "", ""
    private = stakeholder() or (wrong[0].open and whole_table().large is None)
    fix = MEASURE if private else wrong[0].fixes[0]
    return repairs.FIXES.get(fix, fix), fix


def _charts(current: Table) -> list[list[int] | None]:
    """The bars of every column; none where it is to be measured, or names people."""
    entries, bars = current.entries, []
    for name in _names(current):
        entry, aside = entries.get(name), current.guess(name).aside
        hidden = aside in (*STATES, "unnamed") if entry is None else is_private(entry)
        bars.append(None if hidden else _bars(current, name))
    return bars


def _bars(current: Table, name: str) -> list[int]:
    """Return how often each value or group of the schema occurs in the first rows, where it has few and is ready."""
    column = current.domain.column(name) if current.domain and name in current.domain.names else None
    if column is None or column.size > GROUPS:
        return [*current.first_values[name].values()]
    return np.bincount(column.encode(current.cells(name)[:ROWS]), minlength=column.size).tolist()


def _typed() -> None:
    """Use what was just typed or chosen in the grid."""
    current = whole_table()
    state = st.session_state.get(_key(current))
    rows, entries = _rows(current), {}
    try:
        for at, cells in (state or {}).get("edited_rows", {}).items():
            row = rows[int(at)]
            name = row["column"]
            if row["what it is"] == ASIDE and "what it is" not in cells:  # something is said of what was not used
                first = current.guess(name).entry
                row["what it is"] = SAID[first["kind"], first.get("read", "")]
            entries[name] = entry_of(name, row | cells, current.entries.get(name, {}))
    except InputError as error:
        refuse(current, str(error))
    else:
        attempt(lambda mine, told: mine.change(entries, told=told))


def _act() -> None:
    """Do what was clicked in a column's row."""
    click = st.session_state["next-step"]
    row = _rows(whole_table())[click["row"]]
    if row["next"] == click["label"]:  # else it is another table by now
        do(row["way"], [row["column"]])


# What is called by a click asks for the table: an argument would keep one that was forgotten.


def do(way: str, names: list[str]) -> None:
    """Do a repair, measure, use as guessed, or read in some way: these columns of the table in use."""
    current, stated = whole_table(), dict(whole_table().entries)
    if way in repairs.PEEKS:
        session().look(current)

    def change(mine: Table, told: Told) -> None:
        wrong = {problem.column for problem in mine.problems}
        still = [name for name in names if name in wrong or mine.entries.get(name) == stated.get(name)]
        if way in repairs.FIXES:  # as far as nothing else became of them meanwhile
            mine.mend(still, way, told)
        elif way == MEASURE:
            mine.change({name: private_entry(mine.entries[name]) for name in names if name in wrong}, told=told)
        else:
            first = {name: mine.guess(name) for name in names}
            new = {name: guess.entry if way == USE else begun(_reading(guess, way)) for name, guess in first.items()}
            mine.change(new, GUESSED, told)

    attempt(change)


def _reading(guess: Guess, way: str) -> str:
    """A reading of dates, of a part alone in the order that they have."""
    return way + (" of " + guess.offers[0].partition(" of ")[2]) * (way in PARTS)
