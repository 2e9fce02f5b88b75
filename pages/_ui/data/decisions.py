"""Decisions a person makes before a table can be explored, and the choice of privacy unit.

Each takes one click; the privacy unit is whom the guarantee protects.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.algorithms.schema_measurement.hidden_rows import HiddenRows
from dpcore.core.provenance import Provenance
from dpcore.core.types import value_object
from dpcore.release.evidence.card import OUTSIDE_PROMISE, PEEKED_CAVEAT
from dpcore.schema.column_readings import ANY_CASE, DATE_PARTS, WHOLE_DATES
from dpcore.schema.editing.code_values import number_codes_of
from dpcore.schema.inference import repairs
from dpcore.schema.inference.column_guess import DATE_COLUMN, ColumnGuess
from dpcore.schema.partial_schema import PRIVATE, UnknownColumn, is_private_entry

from ..components import (
    column_costs,
    draw_heading,
    inline_container,
    parameter_widgets,
)
from ..jobs.table_changes import draw_change_progress, start_schema_change
from ..session import (
    Table,
    escape_markdown,
    is_stakeholder_view,
    join_first_printable_texts,
    printable_text,
    selected_share,
    session,
)
from . import grid_edits, privacy_unit_choice
from .column_grid import (
    EDIT_ACTION,
    IDENTIFIER_TEXTS,
    MEASURE_ACTION,
    OWN_CODES_ACTION,
    USE_ACTION,
    start_column_action,
)
from .schema_measurement import predict_hidden_rows_of_columns

MEASURE_HELP = (
    "A share of the budget measures values and bounds with noise, before the algorithm runs. So "
    "they are protected. "
    "What it costs is shown below, before anything is measured."
)
UNKNOWN_VALUE_ACTIONS = {
    "Measure them privately": MEASURE_ACTION,
    repairs.FIX_LABELS[repairs.FILL_IN]: repairs.FILL_IN,
    "Leave them out": repairs.LEAVE_OUT,
}
PROBLEM_TEXTS = {
    repairs.KEEP_MISSING: "values are missing",
    repairs.CLIP_OUTSIDE: "numbers lie out of range",
    repairs.MERGE_SPELLINGS: "spellings differ",
    repairs.ADD_VALUES: "values are not listed",
    repairs.USE_GUESS: "values do not fit",
}
DECISIONS_STYLE = """<style>
.st-key-next > :last-child {margin-left: auto;} .st-key-next h3 {padding-bottom: 0.6rem;}
[class*="st-key-decide"] {gap: 0 0.5rem;}
[class*="st-key-decide"] [kind="tertiary"] {color: inherit !important;}
.st-key-kept-columns {position: absolute;} /* so that no gap stands for it */
/* it would lie upon the way on */
[class*="st-key-schema-"] [data-testid="stElementToolbar"] {display: none;}
.st-key-choose [data-testid="stFileUploaderDropzone"] {padding: 0.25rem 0.5rem; min-height: 0;}
.st-key-columns > :has(> .st-key-whole),
.st-key-columns > :has(> .st-key-edit-choice) {display: none;}
@media (max-width: 640px) {.st-key-choose [data-testid="stFileUploaderDropzoneInstructions"]
  {display: none;}
  .st-key-choose, .st-key-next {gap: 0 0.5rem;}
  .st-key-choose > :has([data-testid="stFileUploader"]) {flex: 0 0 auto; width: auto;}
  .st-key-columns > :has(> .st-key-whole) {display: flex; max-height: 36rem; overflow-y: auto;}
  .st-key-columns > :has(> .st-key-edit-choice) {display: flex;}
  .st-key-columns > :has([data-testid="stDataFrame"]) {order: 1;}}
</style>"""
MAX_DECISIONS_SHOWN = 4  # lines of one list
Offer = tuple[str, dict[str, str], list[str]]  # what columns hold, actions by label, their names


@value_object
class Decision:
    """Decision about some columns: a text, and actions by their button labels, best first.

    The actions are as `start_column_action` takes them.
    """

    text: str
    names: list[str]
    action_by_label: dict[str, str]
    is_required: bool = True


def draw_decisions(current: Table) -> DeltaGenerator | None:
    """Draw the open decisions, the privacy unit and the way to Explore.

    Returns the container of the button that tries a measurement; None while a change is under way.
    """
    st.html(DECISIONS_STYLE)
    bar = st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="next")
    title = bar.container(width="content")
    with bar:
        privacy_unit_choice.draw_privacy_unit(current)
    is_changing = draw_change_progress(current)
    pending = [] if is_changing else _pending_decisions(current)
    columns = {name for decision in pending if decision.is_required for name in decision.names}
    obstacle = _obstacle_text(current, columns)
    with title:
        draw_heading(_readiness_text(current, columns, obstacle))
    bar.container(key="in-sight", width="content").page_link(
        "pages/explore.py",
        label=f"**Explore it**{obstacle}",
        icon=":material/query_stats:",
        disabled=bool(obstacle),
    )
    privacy_unit_choice.draw_privacy_unit_note(current)
    if is_changing:
        return None
    grid_edits.show_grid_problems(current)
    try_slot = st.empty()
    if pending:
        with st.container(gap="xxsmall"):
            for at, decision in enumerate(pending[:MAX_DECISIONS_SHOWN]):
                _draw_decision(at, decision, current)
    if len(pending) > MAX_DECISIONS_SHOWN:
        st.caption(f"{len(pending) - MAX_DECISIONS_SHOWN} more: see “state” and “action” below.")
    if current.problem and not current.problems:
        st.warning(_problem_text(current.problem), icon=":material/edit:")
    return try_slot


def _pending_decisions(current: Table) -> list[Decision]:
    """Return the required decisions about a table, then the optional ones.

    A stakeholder view has no optional ones.
    """
    if is_stakeholder_view():
        return [*required_decisions(current)]
    return [*required_decisions(current), *optional_decisions(current)]


def _obstacle_text(current: Table, columns: Collection[str]) -> str:
    """Return what is to be done before the table can be explored, in words; "" for nothing."""
    if current.partial_schema is not None and current.domain is None:
        return ": first try the measurement"
    if columns:
        return f": first decide about {_column_count_text(columns)}"
    return "" if current.domain is not None else ": first mend what is named below"


def _readiness_text(current: Table, columns: Collection[str], obstacle: str) -> str:
    """Return the heading: how many columns are to be decided, or that the table is ready or not."""
    if columns:
        return f"{_column_count_text(columns)} to decide"
    if obstacle:
        return "Not ready yet"
    return "All columns ready" if current.unit.person else "Ready, if each row is another person"


def _draw_decision(position: int, decision: Decision, current: Table) -> None:
    is_open = decision.action_by_label == UNKNOWN_VALUE_ACTIONS
    # what is wrong quotes cells
    if decision.is_required and not is_open and not is_stakeholder_view():
        session().mark_viewed(current)
    with inline_container(key=f"decide-{position}"):
        hidden_rows = _hidden_rows_if_measured(current, decision.names) if is_open else None
        text = decision.text if is_open else _problem_text(decision.text)
        if hidden_rows is not None:
            text += f" Measured privately: {column_costs.hidden_rows_text(hidden_rows)}"
        st.markdown(text, width="stretch")
        is_advised = hidden_rows is None or not hidden_rows.hides_nearly_all
        for label, action in decision.action_by_label.items():
            _draw_action_button(label, action, decision, current, is_advised=is_advised)


def _hidden_rows_if_measured(current: Table, names: Collection[str]) -> HiddenRows | None:
    """Return what measuring these columns, and those that are measured already, will hide.

    It follows from how many columns there are, their kinds, the number of rows and the budget. None
    where it cannot be said: in a stakeholder view of guessed kinds, and for a table read in parts.
    """
    is_guess_hidden = is_stakeholder_view() and current.is_schema_inferred
    if is_guess_hidden or current.large_table is not None:
        return None
    columns = [
        UnknownColumn(name, "categorical" if entry.get("kind") == "categorical" else "numeric")
        for name, entry in current.entries.items()
        if isinstance(entry, dict) and (name in names or is_private_entry(entry))
    ]
    budget = parameter_widgets.selected_budget()
    rows_per_person = current.unit.group
    return predict_hidden_rows_of_columns(
        columns, selected_share(), current.n, rows_per_person, budget
    )


def _draw_action_button(
    label: str, action: str, decision: Decision, current: Table, *, is_advised: bool
) -> None:
    """Draw the button of one way to decide; a measurement that is advised is the main one."""
    icon = None
    type_ = "secondary" if decision.action_by_label == UNKNOWN_VALUE_ACTIONS else "tertiary"
    help_text = None
    disabled = False
    if action in repairs.PEEKING_FIXES:
        icon = ":material/visibility:"
        help_text = Provenance.REAL_DATA.meaning
        disabled = is_stakeholder_view()
    if action == MEASURE_ACTION:
        type_ = "primary" if is_advised else "secondary"
        help_text = MEASURE_HELP
        disabled = disabled or current.large_table is not None
    st.button(
        label,
        key=f"{decision.text}-{action}",
        icon=icon,
        type=type_,
        help=help_text,
        disabled=disabled,
        on_click=start_column_action,
        args=(action, decision.names),
    )


def required_decisions(current: Table) -> Iterator[Decision]:
    """Return the necessary decisions: columns without public values, and columns with faults."""
    problems_by_fixes: dict[tuple[str, ...], list[repairs.ColumnProblem]] = {}
    for problem in current.problems:
        problems_by_fixes.setdefault(
            (*UNKNOWN_VALUE_ACTIONS.values(),) if problem.is_unfilled else problem.fixes, []
        ).append(problem)
    for fixes, same_problems in problems_by_fixes.items():
        names = [problem.column for problem in same_problems]
        if same_problems[0].is_unfilled:
            text = (
                f"Without public values or a range: {_column_count_text(names)}. Type them "
                "below, or choose:"
            )
            yield Decision(text, names, UNKNOWN_VALUE_ACTIONS)
        else:
            text = (
                same_problems[0].message
                if len(same_problems) == 1
                else f"In {_column_count_text(names)} {PROBLEM_TEXTS[fixes[0]]}: "
                f"{join_first_printable_texts(names)}"
            )
            yield Decision(text, names, {repairs.FIX_LABELS[fix]: fix for fix in fixes})


def optional_decisions(current: Table) -> Iterator[Decision]:
    """Return the optional decisions: date parts, code prefixes, same values, missing words.

    Code prefixes are the first characters of codes; missing words are words that mean missing.
    """
    for contents, action_by_label, names in (*_part_offers(current), *_value_offers(current)):
        if names and action_by_label:
            verb = "holds" if len(names) == 1 else "hold"
            columns_hold = f"{_column_count_text(names)} {verb}"
            yield Decision(
                f"Optional: {columns_hold} {contents}: {join_first_printable_texts(names)}",
                names,
                action_by_label,
                is_required=False,
            )


def _part_offers(current: Table) -> Iterator[Offer]:
    """Return the offers to use a part of dates and of codes."""
    entries = current.entries
    unused = [guess for guess in current.guesses.values() if guess.name not in entries]
    dates = [
        guess
        for guess in current.guesses.values()
        if guess.kind == DATE_COLUMN
        and guess.exclusion in ("", "date")
        and entries.get(guess.name) in (None, guess.initial_entry)
    ]
    part_actions = {
        f"Use the {p}": p
        for p in (*WHOLE_DATES, *DATE_PARTS)
        if all(_can_use_part(guess, p, entries) for guess in dates)
    }
    yield "dates, which are too detailed", part_actions, _guess_names(dates)
    coded = _guess_names(g for g in unused if g.exclusion == "code")
    yield "codes of too many values", {"Use their first characters": USE_ACTION}, coded


def _value_offers(current: Table) -> Iterator[Offer]:
    """Return the offers to merge values, and to keep words and codes for missing as values."""
    entries = current.entries
    missing = current.missing_word_counts
    listed_names = [
        n
        for n in current.valid_column_names
        if entries[n].get("values") not in (None, PRIVATE) and not entries[n].get("read")
    ]
    names_any_case = [
        name for name in listed_names if ANY_CASE in current.column_guess(name).other_readings
    ]
    spelling_actions = {repairs.FIX_LABELS[repairs.MERGE_SPELLINGS]: repairs.MERGE_SPELLINGS}
    yield "values that differ only in case or spaces", spelling_actions, names_any_case
    names_with_merges = [
        n for n in listed_names if current.suggested_merges(n) and n not in names_any_case
    ]
    yield "values that may be the same", {"Look at them": EDIT_ACTION}, names_with_merges
    names_with_missing = [name for name in listed_names if name in missing]
    missing_words = chain.from_iterable(missing[name] for name in names_with_missing)
    word_texts = sorted({f"“{printable_text(word)}”" for word in missing_words})
    yield (
        f"words for missing ({join_first_printable_texts(word_texts, 40)})",
        {repairs.FIX_LABELS[repairs.WORDS_AS_VALUES]: repairs.WORDS_AS_VALUES},
        names_with_missing,
    )
    codes = {n: number_codes_of(entries[n]) for n in current.valid_column_names}
    code_texts = sorted({f"{code:g}" for code in chain.from_iterable(codes.values())})
    yield (
        f"codes for missing ({join_first_printable_texts(code_texts, 40)})",
        {"Make codes values of their own": OWN_CODES_ACTION},
        [name for name in codes if codes[name]],
    )


def _can_use_part(guess: ColumnGuess, part: str, entries: dict[str, Any]) -> bool:
    """Return whether a column of days can be used by this part, and is not yet."""
    entry = entries.get(guess.name)
    read = "" if entry is None else str(entry.get("read", ""))
    return part in guess.date_parts and not read.startswith(f"{part} of ")


def _guess_names(guesses: Iterable[ColumnGuess]) -> list[str]:
    return [guess.name for guess in guesses]


def draw_schema_summary(current: Table) -> None:
    """Draw what was guessed and from what, unused columns and why, and the promise's extent."""
    if is_stakeholder_view():
        return
    people = _guess_names(
        g
        for g in current.guesses.values()
        if g.exclusion in IDENTIFIER_TEXTS and g.name not in current.entries
    )
    if people:
        names_text = join_first_printable_texts(people)
        note = f"Not used, because they may identify people: {names_text}."
        st.caption(escape_markdown(note, 400))
    if current.is_schema_inferred:
        guessed_text = (
            "Kinds and the choice of columns were guessed from "
            f"{current.inspected_rows_text}. {OUTSIDE_PROMISE}"
        )
        with inline_container():
            st.caption(PEEKED_CAVEAT if current.has_data_entries else guessed_text, width="stretch")
            if not current.has_data_entries and not current.kinds_confirmed:
                st.button(
                    "I confirm that this is public knowledge",
                    icon=":material/check:",
                    type="tertiary",
                    on_click=_confirm_kinds,
                    help="Then the schema counts as entered by you.",
                )


def must_hide_schema(current: Table) -> bool:
    """Return whether a schema guessed or inferred from the rows must not be shown here."""
    return is_stakeholder_view() and current.schema_uses_real_data


def _confirm_kinds() -> None:
    start_schema_change(lambda target, _: target.confirm_kinds())


def _column_count_text(names: Collection[str]) -> str:
    noun = "columns" if len(names) > 1 else "column"
    return f"{len(names)} {noun}"


def _problem_text(problem: str) -> str:
    """Return a schema problem for the page; in the stakeholder view a fixed text.

    The problem may quote raw text.
    """
    return (
        "The schema does not serve this table yet."
        if is_stakeholder_view()
        else escape_markdown(problem, 400)
    )
