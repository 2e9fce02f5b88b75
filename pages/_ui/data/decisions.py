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
    left = [] if (busy := changing(current)) else [*needs(current), *([] if stakeholder() else offers(current))]
    columns = {name for decision in left if decision.needed for name in decision.names}
    why = "" if current.domain is not None else ": first mend what is named below"
    if current.opening is not None and why:
        why = ": first try the measurement"
    elif columns:
        why = f": first decide about {_columns(columns)}"
    ready = "All columns ready" if current.unit.person else "Ready, if each row is another person"
    with title:
        heading(f"{_columns(columns)} to decide" if columns else "Not ready yet" if why else ready)
    bar.container(key="in-sight", width="content").page_link(
        "pages/explore.py", label=f"**Explore it**{why}", icon=":material/query_stats:", disabled=bool(why)
    )
    if current.unit.person is not None:
        _kept(current)
    if current.unit.person is None and (hint := next(filter(names_one, current.names), None)):
        st.caption(plain(f"“{clean(hint)}” may name people. If someone can have several rows, choose it above.", 200))
    if busy:
        return None
    grid_edits.say(current)
    place = st.empty()
    if left:
        with st.container(gap="xxsmall"):
            for at, decision in enumerate(left[:SHOWN]):
                _draw(at, decision, current)
    if len(left) > SHOWN:
        st.caption(f"{len(left) - SHOWN} more: see “state” and “action” below.")
    if current.problem and not current.problems:
        st.warning(_words(current.problem), icon=":material/edit:")
    return place


def _draw(at: int, decision: Decision, current: Table) -> None:
    is_open = decision.ways == OPEN
    if decision.needed and not is_open and not stakeholder():  # what is wrong quotes cells
        session().look(current)
    with row(key=f"decide-{at}"):
        st.markdown(decision.words if is_open else _words(decision.words), width="stretch")
        for label, way in decision.ways.items():
            peeks = way in repairs.PEEKS
            st.button(
                label, key=f"{decision.words}-{way}", icon=":material/visibility:" if peeks else None,
                type="primary" if way == MEASURE else "secondary" if is_open else "tertiary",
                help=HELP if way == MEASURE else Tag.PEEK.meaning if peeks else None,
                disabled=peeks and stakeholder() or way == MEASURE and current.large is not None,
                on_click=do, args=(way, decision.names),
            )  # fmt: skip


def needs(current: Table) -> Iterator[Decision]:
    """What must be decided: values of columns of which nothing is said, and what is wrong with others."""
    alike: dict[tuple[str, ...], list[repairs.Problem]] = {}
    for problem in current.problems:
        alike.setdefault((*OPEN.values(),) if problem.open else problem.fixes, []).append(problem)
    for fixes, same in alike.items():
        names = [problem.column for problem in same]
        if same[0].open:
            words = f"Without public values or a range: {_columns(names)}. Type them into the grid, or choose:"
            yield Decision(words, names, OPEN)
        else:
            words = same[0].what if len(same) == 1 else f"In {_columns(names)} {WRONG[fixes[0]]}: {few(names)}"
            yield Decision(words, names, {repairs.FIXES[fix]: fix for fix in fixes})


def offers(current: Table) -> Iterator[Decision]:
    """What may be decided otherwise: parts of dates, first characters of codes, spellings, words that mean missing."""
    entries, missing = current.entries, current.words_missing
    aside = [guess for guess in current.guesses.values() if guess.name not in entries]
    dates = [guess for guess in aside if guess.aside == "date"]
    free = [n for n in current.done if entries[n].get("values") not in (None, PRIVATE) and not entries[n].get("read")]
    said = [name for name in free if name in missing]
    words = {f"“{clean(word)}”" for name in said for word in missing[name]}
    spelled = [name for name in free if ANY_CASE in current.guess(name).offers]
    for what, ways, names in (
        (
            "dates, which are too detailed",
            {f"Use the {p}": p for p in PARTS if all(p in guess.parts for guess in dates)},
            _names(dates),
        ),
        (
            "codes of too many values",
            {"Use their first characters": USE},
            _names(g for g in aside if g.aside == "code"),
        ),
        ("values that differ only in case or spaces", {repairs.FIXES[repairs.ONE]: repairs.ONE}, spelled),
        (f"words for missing ({few(sorted(words), 40)})", {repairs.FIXES[repairs.OWN]: repairs.OWN}, said),
    ):
        if names and ways:
            holds = f"{_columns(names)} hold{'s' * (len(names) == 1)}"
            yield Decision(f"Optional: {holds} {what}: {few(names)}", names, ways, needed=False)


def _names(guesses: Iterable[Guess]) -> list[str]:
    return [guess.name for guess in guesses]


def summary(current: Table) -> None:
    """What was guessed and from what, what is left out and why, and how far the promise goes."""
    if stakeholder():
        return
    if people := _names(g for g in current.guesses.values() if g.aside in STATES and g.name not in current.entries):
        st.caption(plain(f"Not used, because they may identify people: {few(people)}.", 400))
    if current.guessed:
        guessed = f"Kinds and the choice of columns were guessed from {current.looked_at}. {UNCOVERED}"
        with row():
            st.caption(PEEKED if current.read_off else guessed, width="stretch")
            if not current.read_off and not current.confirmed:
                st.button(
                    "I confirm that this is public knowledge", icon=":material/check:", type="tertiary",
                    on_click=_confirm, help="Then the schema counts as entered by you.",
                )  # fmt: skip


def _protect(current: Table) -> None:
    """Ask whom the guarantee protects: rows, or people with so many rows each."""
    of = current.identity
    show(PERSON + of, current.unit.person)
    person = st.selectbox(
        "Can one person have several rows?", [None, *current.names],
        format_func=_whom, key=PERSON + of, width=440, on_change=_take_unit, args=(of,),
    )  # fmt: skip
    if person is not None:
        show(MOST + of, current.unit.most_rows)
        st.number_input(
            "Maximum rows per person", 1, MAX_ROWS_OF_PERSON, key=MOST + of, help=KEPT, width=240,
            on_change=_take_unit, args=(of,),
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
    most = st.session_state.get(MOST + identity, current.unit.most_rows)
    current.protect(PrivacyUnit() if person is None else PrivacyUnit(person, most))


def hidden(current: Table) -> bool:
    """Whether a schema guessed or read off the records must not be shown here."""
    return stakeholder() and current.peeked


def _whom(person: str | None) -> str:
    """Who is protected when `person` names people, in words. Not a lambda of the page: that would keep its table."""
    return "No: each row is another person" if person is None else f"Yes, {clean(person)} says who"


def _confirm() -> None:
    attempt(lambda mine, _: mine.confirm())


def _columns(names: Collection[str]) -> str:
    return f"{len(names)} column{'s' * (len(names) > 1)}"


def _words(problem: str) -> str:
    """What is wrong may quote a cell."""
    return "The schema does not serve this table yet." if stakeholder() else plain(problem, 400)
