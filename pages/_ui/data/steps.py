"""Three steps from a table as it came to one that can be explored: what came in, what is public, whom it protects."""

from collections.abc import Iterable

import streamlit as st

from dpcore.data import repairs
from dpcore.data.guessing import DATE, Guess, begun
from dpcore.data.open_schema import is_private, private_entry
from dpcore.data.privacy_unit import COUNTED, PrivacyUnit
from dpcore.data.readings import ANY_CASE, COMMA
from dpcore.data.repairs import Problem
from dpcore.data.text_format import DELIMITERS, ENCODINGS, UNSTATED
from dpcore.errors import InputError
from dpcore.publishing.card import PEEKED, UNCOVERED
from dpcore.tags import Tag

from ..shell.frame import heading, tag
from ..shell.session import session
from ..shell.state import stakeholder, table
from ..shell.table import GUESSED, Table, Told
from ..shell.text import clean, plain
from .on_server import TEXTS
from .reading import CANCELLED, Change, attempt, changing, refuse
from .table_editor import again, edit, typed, upload_schema, whom

MEASURE_HELP = (
    "A share of the budget measures values and bounds with noise, before the algorithm runs. So they are protected. "
    "What it costs is shown below, before anything is measured."
)
LINES = {False: "Read each line as a row", True: "Allow line breaks inside values"}
WAYS = (
    ("encoding", "Read as {}", ENCODINGS),
    ("delimiter", "Separate by {}", DELIMITERS),
    ("line_breaks", "{}", LINES),
)
SHOWN = 40  # lines of one list: the rest is in the grid
MEASURE_LABEL = "Measure them privately"
READ_LABEL = "Fill in from my data (not protected)"


def came_in(current: Table) -> None:
    """What the columns seem to be, and which are set aside, with the reason and one click to change it."""
    heading("1 · What came in", Tag.PEEK if current.guesses else current.tag)
    used, every = len(current.done) + len(_wrong(current)), len(current.names)
    left = f"{used} in use, {every - used} not used: no algorithm reads those." if every > used else "all in use."
    st.text(f"{every} columns: {left}")
    if not current.guesses or stakeholder():
        return
    st.caption(
        f"Kinds, and why a column is not used, are guesses that looked at {current.looked_at}. One click changes them."
    )
    entries = current.schema.get("columns", {})
    commas = [guess.name for guess in current.guesses if guess.read == COMMA]
    if commas:
        st.caption(plain(f"{', '.join(map(clean, commas))} use{'s' * (len(commas) == 1)} decimal commas.", 400))
    if current.name.lower().endswith(TEXTS):
        with st.expander(plain(current.source, 400), icon=":material/article:", expanded=current.format != UNSTATED):
            st.caption("If that is wrong, one click reads the file again. Its columns are then guessed anew.")
            with st.container(horizontal=True):
                for name, label, known in WAYS:
                    for value in (value for value in known if value != getattr(current.format, name)):
                        words = label.format(known[value])
                        st.button(words, key=f"again-{words}", on_click=again, args=(name, value))
    aside = [guess for guess in current.guesses if guess.aside and guess.name not in entries]
    dates, others = ([g for g in aside if (g.aside == DATE) is wanted] for wanted in (True, False))
    for at, guess in enumerate(dates[:SHOWN]):
        with st.container(horizontal=True, vertical_alignment="center", key=f"date-{at}"):
            st.markdown(f"**{plain(guess.name)}** is not used: {guess.why}.", width="stretch")
            for label, read in _parts(guess):
                st.button(label, key=f"date-{at}-{label}", on_click=_use, args=(guess, read))
    for reason in dict.fromkeys(guess.why for guess in others):
        same = [guess for guess in others if guess.why == reason]
        with st.container(horizontal=True, vertical_alignment="center", key=f"aside-{same[0].aside}"):
            st.markdown(f"**{'1 column is' if len(same) == 1 else f'{len(same)} columns are'}** not used: {reason}.")
            for at, guess in enumerate(same[:SHOWN] if same[0].name else []):
                label, words = f"Use {plain(guess.name, 24)}", "Use it all the same."
                st.button(label, key=f"use-{guess.aside}-{at}", help=words, on_click=_use, args=(guess, ""))
    if any(len(some) > SHOWN for some in (dates, others)):
        st.caption("What has no button here can be ticked in the grid below.")


def public(current: Table) -> None:
    """How far the schema is, all that is wrong with it with one click to mend each, and the grid."""
    heading("2 · What is public", current.tag)
    wrong = _wrong(current)
    total = len(current.done) + len(wrong)
    if total:
        measured = sum(is_private(entry) for entry in current.schema["columns"].values())
        more = f", {measured} of them to be measured privately" if measured else ""
        st.progress(len(current.done) / total, f"{len(current.done)} of {total} columns done{more}")
    if changing(current):
        return
    if hidden(current):
        st.caption("Its schema was taken from the data, so this view does not show it.")
        upload_schema(current)
        return
    if current.guessed:
        st.caption(_provenance(current))
        if not current.read_off and not current.confirmed:
            st.button(
                "I confirm that this is public knowledge", icon=":material/check:", on_click=_confirm,
                help="Then the schema counts as entered by you.",
            )  # fmt: skip
    told, refused = st.session_state.pop("_schema_problem", ("", ""))
    if refused and told == current.name:
        (st.warning if refused == CANCELLED else st.error)(refused if refused == CANCELLED else _words(refused))
    _open([problem for problem in current.problems if problem.open], current.large is not None)
    rest = [problem for problem in current.problems if not problem.open]
    offered = _spellings(current)
    if (rest or offered) and not stakeholder():  # it is about cells
        session().look(current)
        tag(Tag.PEEK)
        if current.large is not None:
            st.caption(f"Seen in {current.looked_at}; what is wrong further on is said when all rows are counted.")
    for at, problem in enumerate(rest[:SHOWN]):
        _line(f"problem-{at}", problem.column, problem.what, problem.fixes)
    if len(rest) > SHOWN:
        st.caption(f"{len(rest) - SHOWN} more columns need something; they come up as these are mended.")
    for at, name in enumerate(offered[:SHOWN]):
        what = f"column {name!r}: some of its values differ only in letters' case or in spaces"
        _line(f"offer-{at}", name, what, (repairs.ONE,))
    if current.problem and not current.problems:
        st.warning(_words(current.problem), icon=":material/edit:")
    if current.domain is not None and current.domain.constraints:
        impossible = clean("; ".join(c.words for c in current.domain.constraints))
        st.caption(plain(f"Impossible combinations: {impossible}.", 400))
    with st.expander("Schema: what is public about the columns", icon=":material/schema:"):
        edit(current)


def protected(current: Table) -> None:
    """Whom the guarantee protects: rows, or people with so many rows each."""
    heading("3 · Whom does it protect?", Tag.TYPED)
    columns = [None, *current.names]
    left, right = st.columns(2)
    person = left.selectbox(
        "Which column identifies a person?", columns, columns.index(current.unit.person), key=f"person-{id(current)}",
        format_func=whom,
    )  # fmt: skip
    most = right.number_input("Maximum rows per person", 1, 1000, current.unit.most_rows, disabled=person is None)
    current.protect(PrivacyUnit(person, most) if person is not None else PrivacyUnit())
    st.caption(plain(f"Protected: {current.unit.words}.", 200))
    if person is not None:
        st.caption(
            "A hash of a person's rows decides which of them are left out. Rows that name nobody count as one person. "
            f"All noise is scaled to this many rows. {COUNTED}"
        )


def hidden(current: Table) -> bool:
    """Whether a schema guessed or read off the records must not be shown here."""
    return stakeholder() and current.peeked


def _open(problems: list[Problem], large: bool) -> None:
    """The columns of which nothing is said yet, in one line."""
    if not problems:
        return
    names = [problem.column for problem in problems]
    with st.container(border=True, key="open"):
        st.markdown(
            f"**{len(names)} column{'s' * (len(names) > 1)} without values or bounds:** "
            + plain(", ".join(map(clean, names)), 400)
            + ". They are public, so a person must fill them in, in the grid below; or:"
        )
        with st.container(horizontal=True):
            st.button(
                MEASURE_LABEL, type="primary", icon=":material/verified_user:", help=MEASURE_HELP, on_click=_measure,
                args=(names,), disabled=large,
            )  # fmt: skip
            st.button(
                READ_LABEL, icon=":material/visibility:", help=Tag.PEEK.meaning,
                disabled=stakeholder(), on_click=_mend, args=(names, repairs.READ),
            )  # fmt: skip
            st.button("Leave them out", key="leave-open", on_click=_mend, args=(names, repairs.ASIDE))
        measure = "Measured privately, they cost a share of the budget, and a release keeps its promise. "
        words = "If you fill them in, only these columns are read, with round bounds. What you entered stays. "
        words += "The schema is marked as not protected."
        if large:
            words += " Of a table in parts only the first rows are read. What lies outside is refused later."
        st.caption(words if large else measure + words)


def _line(key: str, name: str, what: str, fixes: Iterable[str]) -> None:
    """What is wrong with a column, and its repairs as buttons."""
    with st.container(horizontal=True, vertical_alignment="center", key=key):
        st.markdown(_words(what, "Something is wrong with this column."), width="stretch")
        for fix in fixes:
            peeks = fix in repairs.PEEKS
            st.button(
                repairs.FIXES[fix], key=f"{key}-{fix}", icon=":material/visibility:" if peeks else None,
                help=Tag.PEEK.meaning if peeks else None, disabled=peeks and stakeholder(),
                on_click=_mend, args=([name], fix),
            )  # fmt: skip


# What is called by a button asks for the table: an argument would keep one that was forgotten.


def _confirm() -> None:
    change(lambda mine, _: mine.confirm())


def _measure(names: list[str]) -> None:
    def measured(mine: Table, told: Told) -> None:
        entries = mine.schema.get("columns", {})
        still = {problem.column for problem in mine.problems if problem.open}
        mine.change({name: private_entry(entries[name]) for name in names if name in still}, told=told)

    change(measured)


def _mend(names: list[str], fix: str) -> None:
    if fix in repairs.PEEKS:
        session().look(table())
    stated = dict(table().schema.get("columns", {}))

    def mend(mine: Table, told: Told) -> None:
        entries, wrong = mine.schema.get("columns", {}), _wrong(mine)
        still = [name for name in names if name in wrong or entries.get(name) == stated.get(name)]
        mine.mend(still, fix, told)

    change(mend)


def _use(guess: Guess, read: str) -> None:
    change(lambda mine, told: mine.change({guess.name: begun(read) if read else guess.entry}, GUESSED, told))


def change(wanted: Change) -> None:
    """Make a change that a button asks for, after what was typed into the grid and not used yet."""
    try:
        first = typed(table())
    except InputError as error:
        refuse(table(), str(error))
        return

    def both(mine: Table, told: Told) -> None:
        first(mine, told)
        wanted(mine, told)

    attempt(both)


def _parts(guess: Guess) -> list[tuple[str, str]]:
    """Labels and readings of what can be made of a date; with the order of its numbers where there are several."""
    parts = [read.partition(" of ") for read in guess.offers]
    several = len({order for _, _, order in parts}) > 1
    return [(part.capitalize() + f", {order}" * several, "".join((part, of, order))) for part, of, order in parts]


def _spellings(current: Table) -> list[str]:
    """Columns in use whose values can be counted as fewer, as far as they were read off."""
    entries = current.schema.get("columns", {})
    offered = [g.name for g in current.guesses if ANY_CASE in g.offers and g.name in current.done]
    plain_text = (name for name in offered if entries[name]["kind"] == "categorical" and not entries[name].get("read"))
    return [name for name in plain_text if not is_private(entries[name])]


def _wrong(current: Table) -> set[str]:
    return {problem.column for problem in current.problems}


def _provenance(current: Table) -> str:
    seen = current.looked_at
    if current.read_off:
        return PEEKED
    return f"Kinds and the choice of columns were guessed from {seen}. {UNCOVERED}"


def _words(problem: str, vague: str = "The schema does not serve this table yet.") -> str:
    """What is wrong may quote a cell."""
    return vague if stakeholder() else plain(problem, 400)
