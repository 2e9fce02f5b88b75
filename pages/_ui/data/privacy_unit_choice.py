"""Choice of the privacy unit: whom the guarantee protects, and what counts of a person's rows."""

from dataclasses import replace

import streamlit as st

from dpcore import PrivacyUnit
from dpcore.core.provenance import Provenance
from dpcore.data.privacy_unit import (
    DEFAULT_ROWS_OF_ONE_VOTE,
    MAX_ROWS_OF_ONE_VOTE,
    ROW_COUNT_NOTICE,
    ROWS_COLUMN,
)
from dpcore.schema.column_readings import comparable_name
from dpcore.schema.inference.identifiers import header_names_one_person
from dpcore.schema.inference.person_columns import guess_person_columns

from ..components import hide_in_stakeholder_view, inline_container
from ..components.frame import may_show_limited_rows
from ..session import (
    Table,
    distinct_labels,
    escape_markdown,
    is_stakeholder_view,
    join_first_printable_texts,
    printable_text,
    session,
    visible_table,
)
from ..session.current_table import sync_widget_value
from ..session.table import MAX_ROWS_OF_PERSON

ROW_LIMIT_HELP = (
    "A hash of a person's rows decides which of them are left out. Rows that name nobody count "
    "as one person. "
    f"All noise is scaled to this many rows. {ROW_COUNT_NOTICE}"
)
SHARED_VOTE_HELP = (
    "A hash of a person's rows decides which of them are left out. Rows that name nobody count "
    "as one person. The rows that are kept share one vote, so noise does not grow with them. How "
    "many people there are is not hidden; how many rows they have is."
)
PERSON_COLUMNS_HELP = (
    "Such as a sex or a year of birth. In these columns all rows of a person say what one of them "
    "says, which the same hash chooses."
)
GUESSED_COLUMNS_HELP = (
    f"{Provenance.REAL_DATA.meaning} Confirm what you know without the data, such as that a sex "
    "belongs to a person."
)
ROW_TOTALS_HELP = (
    f"Adds a column “{ROWS_COLUMN}”: how many rows a person has. So answers say how many rows "
    "there are, too. The noise of such a total grows with the maximum of rows."
)
COUNT_PEOPLE = "Each person counts once (their rows share one vote)"
COUNT_ROWS = "Each row counts, at most so many of a person"
# Keys of widgets begin so, and end with the table's identity.
PERSON_KEY_PREFIX = "person-"
NO_PERSON = ""  # no column has this name; of None the widget would show that nothing is chosen
MAX_ROWS_KEY_PREFIX = "most-rows-"
COUNT_KEY_PREFIX = "count-"
PERSON_COLUMNS_KEY_PREFIX = "person-columns-"
ROW_TOTALS_KEY_PREFIX = "row-totals-"


def draw_privacy_unit(current: Table) -> None:
    """Ask whom the guarantee protects: rows, or people, and what counts of their rows."""
    identity = current.identity
    options = [NO_PERSON, *current.names]
    owner_choice = current.unit.person or NO_PERSON
    is_written = sync_widget_value(PERSON_KEY_PREFIX + identity, owner_choice)
    person = st.selectbox(
        "Can one person have several rows?",
        options,
        0 if is_written else options.index(owner_choice),
        format_func=_person_option_text,
        key=PERSON_KEY_PREFIX + identity,
        width=440,
        on_change=_store_privacy_unit,
        args=(identity,),
    )
    if person == NO_PERSON:
        return
    counts_people = current.unit.counts_people
    count_choice = COUNT_PEOPLE if counts_people else COUNT_ROWS
    is_written = sync_widget_value(COUNT_KEY_PREFIX + identity, count_choice)
    count_options = [COUNT_PEOPLE, COUNT_ROWS]
    st.selectbox(
        "What counts?",
        count_options,
        0 if is_written else count_options.index(count_choice),
        key=COUNT_KEY_PREFIX + identity,
        width=440,
        on_change=_store_privacy_unit,
        args=(identity,),
    )
    is_written = sync_widget_value(MAX_ROWS_KEY_PREFIX + identity, current.unit.most_rows)
    st.number_input(
        "Maximum rows per person",
        1,
        MAX_ROWS_OF_ONE_VOTE if counts_people else MAX_ROWS_OF_PERSON,
        "min" if is_written else current.unit.most_rows,
        key=MAX_ROWS_KEY_PREFIX + identity,
        help=SHARED_VOTE_HELP if counts_people else ROW_LIMIT_HELP,
        width=240,
        on_change=_store_privacy_unit,
        args=(identity,),
    )
    if counts_people:
        _draw_person_columns(current)
        _draw_row_totals(current)


def _draw_person_columns(current: Table) -> None:
    """Ask which columns belong to the person."""
    person_columns = _names_in_table(current, current.unit.person_columns)
    names = [
        name
        for name in current.names
        if name != current.unit.person and (name in current.entries or name in person_columns)
    ]
    key = PERSON_COLUMNS_KEY_PREFIX + current.identity
    is_written = sync_widget_value(key, person_columns)
    st.multiselect(
        "Columns that belong to the person",
        names,
        None if is_written else person_columns,
        format_func=distinct_labels(names, 16).get,
        key=key,
        placeholder="None",
        help=PERSON_COLUMNS_HELP,
        width=440,
        on_change=_store_privacy_unit,
        args=(current.identity,),
    )


def _draw_row_totals(current: Table) -> None:
    """Ask whether the rows of people are counted, too; a table's column may have the name."""
    row_totals = current.unit.row_totals
    key = ROW_TOTALS_KEY_PREFIX + current.identity
    is_written = sync_widget_value(key, row_totals)
    has_own_column = ROWS_COLUMN in map(comparable_name, current.names)
    st.checkbox(
        "Count their rows, too",
        False if is_written else row_totals,
        key=key,
        help=(
            f"The table has a column “{ROWS_COLUMN}” of its own."
            if has_own_column
            else ROW_TOTALS_HELP
        ),
        disabled=has_own_column and not row_totals,
        on_change=_store_privacy_unit,
        args=(current.identity,),
    )


def _names_in_table(current: Table, names: tuple[str, ...]) -> list[str]:
    """Return the table's names of these columns, which may have been typed otherwise."""
    keys = set(map(comparable_name, names))
    return [name for name in current.names if comparable_name(name) in keys]


def _guessed_person_columns(current: Table) -> list[str]:
    """Return the used columns that seem to belong to the person and are not stated to.

    It is a look at the rows: nothing follows from it before a person says so.
    """
    person = current.unit.person
    if not current.unit.counts_people or person is None or current.names.count(person) != 1:
        return []

    def compute() -> tuple[str, ...]:
        names = [name for name in current.entries if current.names.count(name) == 1]
        cells = {name: current.column_cells(name) for name in names if name != person}
        columns = () if current.domain is None else current.domain.columns
        return guess_person_columns(cells, current.column_cells(person), columns)

    guesses = session().memoize("person-columns", (current.version, person), compute)
    person_columns = _names_in_table(current, current.unit.person_columns)
    return [name for name in guesses if name not in person_columns]


def draw_privacy_unit_note(current: Table) -> None:
    """Draw how many rows or people count and what may belong to them, or that a column may name
    people.
    """
    if current.unit.person is not None:
        _draw_limited_rows(current)
        _draw_guessed_person_columns(current)
    else:
        _draw_person_hint(current)


def _draw_guessed_person_columns(current: Table) -> None:
    """Offer the columns that seem to belong to the person, for a person to confirm."""
    names = [] if is_stakeholder_view() else _guessed_person_columns(current)
    if not names:
        return
    with inline_container():
        names_text = escape_markdown(join_first_printable_texts(names), 200)
        st.markdown(f"The same in nearly all rows of a person: {names_text}", width="stretch")
        st.button(
            "Belongs to the person" if len(names) == 1 else "They belong to the person",
            key="guessed-person-columns",
            icon=":material/visibility:",
            type="tertiary",
            help=GUESSED_COLUMNS_HELP,
            on_click=_confirm_person_columns,
            args=(current.identity, names),
        )


def _confirm_person_columns(identity: str, names: list[str]) -> None:
    """State of these columns that they belong to the person, beside those that do already."""
    current = visible_table()
    if current.identity == identity and current.unit.counts_people:
        person_columns = (*_names_in_table(current, current.unit.person_columns), *names)
        _set_privacy_unit(current, replace(current.unit, person_columns=person_columns))


@hide_in_stakeholder_view
def _show_limited_rows(current: Table) -> None:
    """Say how many rows the limit keeps."""
    if current.limited_rows_text:
        st.caption(
            current.limited_rows_text
            + ("." if not current.uploaded else f": {Provenance.REAL_DATA}.")
        )


def _draw_limited_rows(current: Table) -> None:
    """Draw the row count under the rows-per-person limit, or offer to count it.

    The offer is for a person who has not looked at the table so far. Where people count, their
    number is public, and is said.
    """
    if current.unit.counts_people:
        if current.limited_rows_text:
            st.caption(f"{current.limited_rows_text}.")
    elif may_show_limited_rows(current):
        _show_limited_rows(current)
    elif not is_stakeholder_view():
        st.button(
            "Count the rows that this limit keeps",
            key="count-kept",
            icon=":material/visibility:",
            type="tertiary",
            help=Provenance.REAL_DATA.meaning,
            on_click=_mark_table_viewed,
        )


def _draw_person_hint(current: Table) -> None:
    """Name the first column that may name people, where each row counts as another person."""
    person_column = next(filter(header_names_one_person, current.names), None)
    if person_column:
        st.caption(
            escape_markdown(
                f"“{printable_text(person_column)}” may name people. If someone can have several "
                "rows, choose it above.",
                200,
            )
        )


def _mark_table_viewed() -> None:
    session().mark_viewed(visible_table())


def _store_privacy_unit(identity: str) -> None:
    """Set the table's privacy unit from its widgets.

    The table owns the choice, and the widgets are written from it. Nothing is done if another table
    than `identity` is in use.
    """
    current = visible_table()
    if current.identity != identity:  # another table came meanwhile
        return
    unit = _chosen_unit(current, st.session_state[PERSON_KEY_PREFIX + identity])
    _set_privacy_unit(current, unit)


def _set_privacy_unit(current: Table, unit: PrivacyUnit) -> None:
    """Set a table's privacy unit as a change that can be taken back."""
    if unit != current.unit:
        session().history.store_change(current)
        current.set_privacy_unit(unit)


def _chosen_unit(current: Table, person: str) -> PrivacyUnit:
    """Return the privacy unit that the widgets say.

    Where what counts has changed, or a person was named for the first time, the limit of rows is
    the usual one. Where people begin to count, or are others, no column belongs to them yet.
    """
    if person == NO_PERSON:
        return PrivacyUnit()
    identity = current.identity
    unit = current.unit
    count_choice = st.session_state.get(COUNT_KEY_PREFIX + identity)
    counts_people = unit.person is None or count_choice == COUNT_PEOPLE
    if unit.person is None or counts_people != unit.counts_people:
        usual_limit = DEFAULT_ROWS_OF_ONE_VOTE if counts_people else 1
        return PrivacyUnit(person, usual_limit, counts_people=counts_people)
    max_rows = st.session_state.get(MAX_ROWS_KEY_PREFIX + identity, unit.most_rows)
    if not counts_people:
        return PrivacyUnit(person, max_rows)
    row_totals = st.session_state.get(ROW_TOTALS_KEY_PREFIX + identity, unit.row_totals)
    person_columns = st.session_state.get(PERSON_COLUMNS_KEY_PREFIX + identity, unit.person_columns)
    if person != unit.person:
        person_columns = ()
    return replace(
        unit,
        person=person,
        most_rows=max_rows,
        row_totals=row_totals,
        person_columns=tuple(person_columns),
    )


def _person_option_text(person: str) -> str:
    """Return in words who is protected when the column `person` names people.

    It is not a lambda of the page: that would keep the page's table.
    """
    return (
        "No: each row is another person"
        if person == NO_PERSON
        else f"Yes, {printable_text(person)} says who"
    )
