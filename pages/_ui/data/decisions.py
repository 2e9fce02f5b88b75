"""What a person has to decide before a table can be explored, each with one click; and whom the guarantee protects."""

from collections.abc import Collection, Iterable, Iterator

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import PrivacyUnit
from dpcore.core.provenance import Tag
from dpcore.core.types import value_object
from dpcore.data.privacy_unit import COUNTED
from dpcore.release.evidence.card import PEEKED, UNCOVERED
from dpcore.schema.column_readings import ANY_CASE, PARTS
from dpcore.schema.inference import repairs
from dpcore.schema.inference.identifiers import names_one
from dpcore.schema.inference.infer_schema import Guess
from dpcore.schema.partial_schema import PRIVATE

from ..components import heading, peek, row
from ..components.frame import shows_kept
from ..jobs.table_changes import attempt, changing
from ..session import Table, clean, few, plain, session, stakeholder, table
from ..session.current_table import show
from ..session.table import MAX_ROWS_OF_PERSON
from . import grid_edits
from .column_grid import MEASURE, STATES, USE, do

HELP = (
    "A share of the budget measures values and bounds with noise, before the algorithm runs. So they are protected. "
    "What it costs is shown below, before anything is measured."
)
OPEN = {
    "Measure them privately": MEASURE, repairs.FIXES[repairs.READ]: repairs.READ, "Leave them out": repairs.ASIDE
}  # fmt: skip
WRONG = {
    repairs.MISSING: "values are missing", repairs.CLIP: "numbers lie out of range", repairs.ONE: "spellings differ",
    repairs.ADD: "values are not listed", repairs.GUESS: "values do not fit",
}  # fmt: skip
STYLE = """<style>
.st-key-next > :last-child {margin-left: auto;} .st-key-next h3 {padding-bottom: 0.6rem;}
[class*="st-key-decide"] {gap: 0 0.5rem;} [class*="st-key-decide"] [kind="tertiary"] {color: inherit !important;}
.st-key-kept-columns {position: absolute;} /* so that no gap stands for it */
[class*="st-key-schema-"] [data-testid="stElementToolbar"] {display: none;} /* it would lie upon the way on */
.st-key-choose [data-testid="stFileUploaderDropzone"] {padding: 0.25rem 0.5rem; min-height: 0;}
.st-key-columns > :has(> .st-key-whole) {display: none;}
@media (max-width: 640px) {.st-key-choose [data-testid="stFileUploaderDropzoneInstructions"] {display: none;}
  .st-key-choose, .st-key-next {gap: 0 0.5rem;}
  .st-key-choose > :has([data-testid="stFileUploader"]) {flex: 0 0 auto; width: auto;}
  .st-key-columns > :has(> .st-key-whole) {display: flex; max-height: 36rem; overflow-y: auto;}
  .st-key-columns > :has([data-testid="stDataFrame"]) {order: 1;}}
</style>"""
KEPT = (
    "A hash of a person's rows decides which of them are left out. Rows that name nobody count as one person. "
    f"All noise is scaled to this many rows. {COUNTED}"
)
SHOWN = 4  # lines of one list
PERSON, MOST = "person-", "most-rows-"  # keys of widgets begin so, and end with the table's identity


@value_object
class Decision:
    """Something to decide about some columns: in words, and the ways by their labels, best first, as `do` has them."""

    words: str
    names: list[str]
    ways: dict[str, str]
    needed: bool = True


def decide(current: Table) -> DeltaGenerator | None:
    """How much is left to decide, each with one click; whom the guarantee protects; and the way on to Explore.

    Returns the place of the button that tries a measurement; None while a change is on its way.
    """
    st.html(STYLE)
    bar = st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="next")
    title = bar.container(width="content")
    with bar:
        _protect(current)
    pending = (
        [] if (is_changing := changing(current)) else [*needs(current), *([] if stakeholder() else offers(current))]
    )
    columns = {name for decision in pending if decision.needed for name in decision.names}
    obstacle = "" if current.domain is not None else ": first mend what is named below"
    if current.opening is not None and obstacle:
        obstacle = ": first try the measurement"
    elif columns:
        obstacle = f": first decide about {_columns(columns)}"
    ready_text = "All columns ready" if current.unit.person else "Ready, if each row is another person"
    with title:
        heading(f"{_columns(columns)} to decide" if columns else "Not ready yet" if obstacle else ready_text)
    bar.container(key="in-sight", width="content").page_link(
        "pages/explore.py", label=f"**Explore it**{obstacle}", icon=":material/query_stats:", disabled=bool(obstacle)
    )
    if current.unit.person is not None:
        _kept(current)
    if current.unit.person is None and (person_column := next(filter(names_one, current.names), None)):
        st.caption(
            plain(f"“{clean(person_column)}” may name people. If someone can have several rows, choose it above.", 200)
        )
    if is_changing:
        return None
    grid_edits.say(current)
    try_slot = st.empty()
    if pending:
        with st.container(gap="xxsmall"):
            for at, decision in enumerate(pending[:SHOWN]):
                _draw(at, decision, current)
    if len(pending) > SHOWN:
        st.caption(f"{len(pending) - SHOWN} more: see “state” and “action” below.")
    if current.problem and not current.problems:
        st.warning(_words(current.problem), icon=":material/edit:")
    return try_slot


def _draw(at: int, decision: Decision, current: Table) -> None:
    is_open = decision.ways == OPEN
    if decision.needed and not is_open and not stakeholder():  # what is wrong quotes cells
        session().look(current)
    with row(key=f"decide-{at}"):
        st.markdown(decision.words if is_open else _words(decision.words), width="stretch")
        for label, action in decision.ways.items():
            uses_real_data = action in repairs.PEEKS
            st.button(
                label, key=f"{decision.words}-{action}", icon=":material/visibility:" if uses_real_data else None,
                type="primary" if action == MEASURE else "secondary" if is_open else "tertiary",
                help=HELP if action == MEASURE else Tag.PEEK.meaning if uses_real_data else None,
                disabled=uses_real_data and stakeholder() or action == MEASURE and current.large is not None,
                on_click=do, args=(action, decision.names),
            )  # fmt: skip


def needs(current: Table) -> Iterator[Decision]:
    """What must be decided: values of columns of which nothing is said, and what is wrong with others."""
    problems_by_fixes: dict[tuple[str, ...], list[repairs.Problem]] = {}
    for problem in current.problems:
        problems_by_fixes.setdefault((*OPEN.values(),) if problem.open else problem.fixes, []).append(problem)
    for fixes, same_problems in problems_by_fixes.items():
        names = [problem.column for problem in same_problems]
        if same_problems[0].open:
            text = f"Without public values or a range: {_columns(names)}. Type them into the grid, or choose:"
            yield Decision(text, names, OPEN)
        else:
            text = (
                same_problems[0].what
                if len(same_problems) == 1
                else f"In {_columns(names)} {WRONG[fixes[0]]}: {few(names)}"
            )
            yield Decision(text, names, {repairs.FIXES[fix]: fix for fix in fixes})


def offers(current: Table) -> Iterator[Decision]:
    """What may be decided otherwise: parts of dates, first characters of codes, spellings, words that mean missing."""
    entries, missing = current.entries, current.words_missing
    unused = [guess for guess in current.guesses.values() if guess.name not in entries]
    dates = [guess for guess in unused if guess.aside == "date"]
    listed_names = [
        n for n in current.done if entries[n].get("values") not in (None, PRIVATE) and not entries[n].get("read")
    ]
    names_with_missing = [name for name in listed_names if name in missing]
    missing_words = {f"“{clean(word)}”" for name in names_with_missing for word in missing[name]}
    names_any_case = [name for name in listed_names if ANY_CASE in current.guess(name).offers]
    for contents, action_by_label, names in (
        (
            "dates, which are too detailed",
            {f"Use the {p}": p for p in PARTS if all(p in guess.parts for guess in dates)},
            _names(dates),
        ),
        (
            "codes of too many values",
            {"Use their first characters": USE},
            _names(g for g in unused if g.aside == "code"),
        ),
        ("values that differ only in case or spaces", {repairs.FIXES[repairs.ONE]: repairs.ONE}, names_any_case),
        (
            f"words for missing ({few(sorted(missing_words), 40)})",
            {repairs.FIXES[repairs.OWN]: repairs.OWN},
            names_with_missing,
        ),
    ):
        if names and action_by_label:
            columns_hold = f"{_columns(names)} hold{'s' * (len(names) == 1)}"
            yield Decision(f"Optional: {columns_hold} {contents}: {few(names)}", names, action_by_label, needed=False)


def _names(guesses: Iterable[Guess]) -> list[str]:
    return [guess.name for guess in guesses]


def summary(current: Table) -> None:
    """What was guessed and from what, what is left out and why, and how far the promise goes."""
    if stakeholder():
        return
    if people := _names(g for g in current.guesses.values() if g.aside in STATES and g.name not in current.entries):
        st.caption(plain(f"Not used, because they may identify people: {few(people)}.", 400))
    if current.guessed:
        guessed_text = f"Kinds and the choice of columns were guessed from {current.looked_at}. {UNCOVERED}"
        with row():
            st.caption(PEEKED if current.read_off else guessed_text, width="stretch")
            if not current.read_off and not current.confirmed:
                st.button(
                    "I confirm that this is public knowledge", icon=":material/check:", type="tertiary",
                    on_click=_confirm, help="Then the schema counts as entered by you.",
                )  # fmt: skip


def _protect(current: Table) -> None:
    """Ask whom the guarantee protects: rows, or people with so many rows each."""
    identity = current.identity
    show(PERSON + identity, current.unit.person)
    person = st.selectbox(
        "Can one person have several rows?", [None, *current.names],
        format_func=_whom, key=PERSON + identity, width=440, on_change=_take_unit, args=(identity,),
    )  # fmt: skip
    if person is not None:
        show(MOST + identity, current.unit.most_rows)
        st.number_input(
            "Maximum rows per person", 1, MAX_ROWS_OF_PERSON, key=MOST + identity, help=KEPT, width=240,
            on_change=_take_unit, args=(identity,),
        )  # fmt: skip


@peek
def _say_kept(current: Table) -> None:
    """Say how many rows the limit keeps."""
    if current.kept_words:
        st.caption(current.kept_words + ("." if not current.uploaded else f": {Tag.PEEK}."))


def _kept(current: Table) -> None:
    """Say how many rows the limit keeps, or offer to count them to who has not looked at the table so far."""
    if shows_kept(current):
        _say_kept(current)
    elif not stakeholder():
        st.button(
            "Count the rows that this limit keeps", key="count-kept", icon=":material/visibility:", type="tertiary",
            help=Tag.PEEK.meaning, on_click=_look,
        )  # fmt: skip


def _look() -> None:
    session().look(table())


def _take_unit(identity: str) -> None:
    """Protect whom the two widgets of a table say; the table owns the choice, and they are written from it."""
    current = table()
    if current.identity != identity:  # another table came meanwhile
        return
    person = st.session_state[PERSON + identity]
    max_rows = st.session_state.get(MOST + identity, current.unit.most_rows)
    current.protect(PrivacyUnit() if person is None else PrivacyUnit(person, max_rows))


def hidden(current: Table) -> bool:
    """Whether a schema guessed or read off the records must not be shown here."""
    return stakeholder() and current.peeked


def _whom(person: str | None) -> str:
    """Who is protected when `person` names people, in words. Not a lambda of the page: that would keep its table."""
    return "No: each row is another person" if person is None else f"Yes, {clean(person)} says who"


def _confirm() -> None:
    attempt(lambda target, _: target.confirm())


def _columns(names: Collection[str]) -> str:
    return f"{len(names)} column{'s' * (len(names) > 1)}"


def _words(problem: str) -> str:
    """What is wrong may quote a cell."""
    return "The schema does not serve this table yet." if stakeholder() else plain(problem, 400)
