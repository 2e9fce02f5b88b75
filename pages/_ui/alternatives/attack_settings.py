"""Settings of the Alternatives page: whose tables are published, which ones, and by which rules."""

from typing import Any

import streamlit as st

from dpcore import Budget, Domain, InputError
from dpcore.core.types import Json, by_name
from dpcore.evaluation.reconstruction.disclosure_rules import (
    CoarserTables,
    DisclosureRule,
    FewerTables,
    Rounding,
    Suppression,
    SuppressionAndRounding,
    Swapping,
)
from dpcore.schema.inference.default_columns import choose_default_columns

from ..components import parameter_widgets
from ..components.question_choice import columns_key
from ..session import Table, distinct_labels, persistent_widget_args

RULES: dict[str, DisclosureRule] = {
    rule.name: rule
    for rule in (
        Rounding(1),
        Rounding(3),
        Rounding(5),
        Rounding(10),
        Rounding(5, at_random=True),
        Suppression(3),
        Suppression(5),
        Suppression(10),
        Suppression(5, secondary=True),
        SuppressionAndRounding(),
        Swapping(0.05),
        FewerTables(),
        CoarserTables(),
    )
}
DEFAULT_RULES = tuple(
    rule.name
    for rule in (
        Rounding(1),
        Rounding(5),
        Suppression(5),
        Suppression(5, secondary=True),
        SuppressionAndRounding(),
        Swapping(0.05),
    )
)
WAYS = {"pairs of columns": 2, "triples of columns": 3}
EVERYONE = "everyone"
PEOPLE_OPTIONS = (30, 100, 300, 1000)
DEFAULT_PEOPLE = 100
SECONDS_OPTIONS = (10, 30, 60, 300)
DEFAULT_SECONDS = 30
DEFAULT_MAX_CELLS = 2_000  # combinations of the columns that the page begins with


@by_name
class AttackSettings:
    """Tables and rules as a person chose them.

    Args:
        columns: The columns of the tables.
        ways: How many columns a table has.
        group: The column of a group, None for everyone.
        value: The group's value in that column.
        people: How many rows are drawn at random, at most.
        rules: The names of the rules.
        seconds: How long the proofs of one rule may take.
        delta: Of the private releases beside them.

    """

    columns: tuple[str, ...]
    ways: int
    group: str | None
    value: str | None
    people: int
    rules: tuple[str, ...]
    seconds: int
    delta: float

    def to_json(self) -> Json:
        """Return the settings as a dictionary, as JSON holds them."""
        return dict(vars(self)) | {"columns": list(self.columns), "rules": list(self.rules)}


def default_settings(domain: Domain) -> AttackSettings:
    """Return what the page opens with, by public numbers alone."""
    columns = choose_default_columns(domain, DEFAULT_MAX_CELLS)
    return AttackSettings(
        columns=columns,
        ways=min(3, len(columns)),
        group=None,
        value=None,
        people=DEFAULT_PEOPLE,
        rules=DEFAULT_RULES,
        seconds=DEFAULT_SECONDS,
        delta=parameter_widgets.DEFAULT_DELTA,
    )


def choose_settings(table: Table, domain: Domain) -> tuple[AttackSettings, Budget]:
    """Draw the settings; return them, and the budget of the private release beside the rules.

    Raises InputError for a choice that leaves nothing to publish.
    """
    default = default_settings(domain)
    epsilon = parameter_widgets.epsilon_slider()
    rules = st.multiselect(
        "Rules",
        list(RULES),
        list(default.rules),
        key="disclosure-rules",
        bind="query-params",
        help="Ways to publish tables without noise. Each is attacked by someone who knows it.",
    )
    with st.expander("Tables, people", icon=":material/tune:"):
        columns, ways = _choose_tables(table, domain, default)
        group, value, people = _choose_people(table, domain)
        seconds = st.select_slider(
            "Seconds for each rule",
            SECONDS_OPTIONS,
            DEFAULT_SECONDS,
            key="attack-seconds",
            bind="query-params",
            help="What they do not suffice for is called undecided.",
        )
        delta = parameter_widgets.delta_slider()
    if not columns or not rules:
        raise InputError("choose at least one column and one rule")
    settings = AttackSettings(
        columns=tuple(columns),
        ways=min(ways, len(columns)),
        group=group,
        value=value,
        people=people,
        rules=tuple(rules),
        seconds=int(seconds),
        delta=delta,
    )
    return settings, Budget(epsilon, delta)


def _choose_tables(table: Table, domain: Domain, default: AttackSettings) -> tuple[list[str], int]:
    """Draw the choice of the columns and of the tables; return both."""
    names = list(domain.names)
    columns = st.multiselect(
        "Columns",
        names,
        list(default.columns),
        distinct_labels(names, 16).get,
        key=f"attacked-{columns_key(table)}",
        help="An attack weighs all combinations of their values: fewer are quicker.",
        **persistent_widget_args(),
    )
    default_label = next(label for label, ways in WAYS.items() if ways == max(default.ways, 2))
    label = st.segmented_control(
        "Published are all",
        list(WAYS),
        default=default_label,
        required=True,
        key="attacked-ways",
        bind="query-params",
    )
    return columns, WAYS[label or default_label]


def _choose_people(table: Table, domain: Domain) -> tuple[str | None, str | None, int]:
    """Draw the choice of a group and of the rows in it; return its column, its value, and both."""
    names = list(domain.names)
    labels_by_name: dict[str, Any] = distinct_labels(names)
    group = st.selectbox(
        "Of whom",
        [EVERYONE, *names],
        format_func=lambda name: labels_by_name.get(name, name),
        key="attacked-group",
        help="A group such as one small area. Its tables alone are published.",
        **persistent_widget_args(),
    )
    value = None
    if group != EVERYONE:
        labels = list(domain.column(group).labels)
        value = st.selectbox(
            "Value",
            labels,
            format_func=distinct_labels(labels).get,
            key=f"attacked-value-{names.index(group)}",
            **persistent_widget_args(),
        )
    people = st.select_slider(
        "At most, drawn at random",
        PEOPLE_OPTIONS,
        DEFAULT_PEOPLE,
        key="attacked-people",
        bind="query-params",
    )
    return None if group == EVERYONE else group, value, int(people)
