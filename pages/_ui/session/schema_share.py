"""Budget share for measuring a partial schema, and the result of a trial of it."""

from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from dpcore import Budget
from dpcore.algorithms.schema_measurement.measure_columns import MeasuredSchema
from dpcore.algorithms.schema_measurement.split_budget import SplitBudget, split_for_schema
from dpcore.core.numbers import format_short_number
from dpcore.schema.partial_schema import PartialSchema

AUTO = "auto"
SHARE_OPTIONS = [AUTO, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 0.9]


REST_OF_BUDGET_TEXT = "The algorithm has the rest of the budget."
TRIAL_NOT_REUSED_TEXT = "Nothing that the trial found goes into it."
WHOLE_BUDGET_TEXT = (
    "Here the method has all of its budget; in a release the schema's part comes out of it."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SchemaTrial:
    """A schema that was measured with the noise of a seed, without a charge: a private peek.

    `part` of the budget was its share, None for the usual one; of `n` records, `rows_per_person` of
    which one person may have.
    """

    measured_schema: MeasuredSchema
    partial_schema: PartialSchema
    split: SplitBudget
    seed: int
    budget_share: float | None
    n: int
    rows_per_person: int

    def split_budget(self, budget: Budget) -> SplitBudget:
        """Return another budget, split in the same way."""
        return split_for_schema(
            self.partial_schema.unknown_columns,
            self.budget_share,
            self.n,
            self.rows_per_person,
            budget,
        )

    def other_budget_note(self, budget: Budget) -> str:
        """Return a note that another budget gives another schema; empty at the trial's budget."""
        trial_budget = self.split.budget
        if trial_budget == budget:
            return ""
        return (
            f"The trial measured the schema at ε = {trial_budget.epsilon:g}, δ = "
            f"{format_short_number(trial_budget.delta)}; at ε = "
            f"{budget.epsilon:g}, "
            f"δ = {format_short_number(budget.delta)} a release would find another one. To see "
            "it, try it again on the Data page."
        )

    @cached_property
    def summary(self) -> str:
        """One line that says what rests on it."""
        empty_columns = sum(
            measured_column.found_nothing for measured_column in self.measured_schema.findings
        )
        empty_columns_note = (
            f" It found nothing in {empty_columns} of "
            f"{len(self.measured_schema.findings)} columns: their errors say nothing."
        )
        budget = self.split.budget
        return (
            f"Schema: measured in a trial with repeat number {self.seed}, for "
            f"{self.split.share:.1%} of ε = {budget.epsilon:g} at δ = "
            f"{format_short_number(budget.delta)}. A release "
            f"measures it anew.{empty_columns_note if empty_columns else ''}"
        )


def share_slider(default_share: float) -> float | None:
    """Draw a slider for the schema's budget share; return it, or None for the usual share."""
    help_text = (
        "The rest is the algorithm's. Auto: by how many columns are measured and how "
        "many rows there are."
    )
    st.select_slider(
        "Share of the budget for the schema",
        SHARE_OPTIONS,
        AUTO,
        lambda s: f"auto: {default_share:.1%}" if s == AUTO else f"{s:.0%}",
        key="schema-share",
        help=help_text,
        persist_state="session",
    )
    return selected_share()


def selected_share() -> float | None:
    """Return the share chosen on the slider; None for the usual share."""
    selection = st.session_state.get("schema-share", AUTO)
    return None if selection == AUTO else float(selection)
