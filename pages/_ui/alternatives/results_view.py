"""What the attack on the Alternatives page came to: picture, sentence, tables, costs by group."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.accuracy.meaning_of_epsilon import format_times_in_100
from dpcore.core.numbers import unit_noun
from dpcore.core.types import by_name
from dpcore.evaluation.reconstruction.private_releases import (
    PrivateCounterpart,
    PrivatePoint,
    private_counterpart,
    private_curve,
)
from dpcore.evaluation.reconstruction.rule_costs import GroupCost
from dpcore.evaluation.reconstruction.rule_outcomes import RuleOutcome, comparison_sentences

from ..charts import figure_frame
from ..charts.alternatives_chart import NoisePoint, RuleMark, alternatives_chart
from ..components import draw_chart_footer, draw_chart_panel
from ..components.result_panels import CHART_CONFIG
from ..session import (
    Table,
    capitalize_first,
    escape_markdown,
    persistent_widget_args,
    printable_text,
    session,
)
from .attack_job import AttackResult, AttackTask
from .attack_settings import AttackSettings

MAX_GROUPS = 12  # small groups that a chart shows
LIMITS = (
    "The attacker knows the rule, the number of {unit} and these tables, and nothing else.",
    "Other releases about the same {unit} reveal more, whatever the rule.",
    "What is proved holds for this table. On another the same rule proves more or less.",
    "The bound on noise holds for any table, except with its failure probability (δ).",
    "A proof is certain. A bound is the most that can happen.",
)


@by_name
class Alternatives:
    """What was attacked, what came of it, and the private releases that it is compared with.

    `counterparts` are the private releases of equal mean error, by the name of the rule;
    `at_slider` is the one at the ε of the page's slider.
    """

    task: AttackTask
    result: AttackResult
    counterparts: dict[str, PrivateCounterpart | None]
    at_slider: PrivatePoint
    unit: str

    @property
    def n(self) -> int:
        """The number of rows that were attacked."""
        return self.task.asked_tables.n

    def sentence(self, outcome: RuleOutcome) -> str:
        """Return what a rule proves beside a private release of equal error."""
        counterpart = self.counterparts[outcome.rule]
        return comparison_sentences(outcome, self.n, self.unit, counterpart)


def compare_with_noise(
    table: Table, task: AttackTask, result: AttackResult, settings: AttackSettings, budget: Budget
) -> Alternatives:
    """Return the rules beside private releases: of equal error, and at the ε of the slider."""
    key = table.version, settings, budget
    at_slider = session().memoize(
        "private-at-slider",
        key,
        lambda: private_curve(task.asked_tables, task.block, budget.delta, (budget.epsilon,))[0],
    )
    counterparts = session().memoize(
        "private-counterparts",
        (table.version, settings),
        lambda: {
            outcome.rule: private_counterpart(
                task.asked_tables, result.curve, outcome.costs.misplaced, settings.delta
            )
            for outcome in result.outcomes
        },
    )
    return Alternatives(
        task=task,
        result=result,
        counterparts=counterparts,
        at_slider=at_slider,
        unit=unit_noun(table.unit.most_rows),
    )


def choose_rule(result: AttackResult) -> RuleOutcome:
    """Draw the choice of the rule that the page speaks about; return what came of it."""
    names = [outcome.rule for outcome in result.outcomes]
    default = names[min(1, len(names) - 1)]
    name = st.selectbox(
        "Rule", names, names.index(default), key="shown-rule", **persistent_widget_args()
    )
    return next(outcome for outcome in result.outcomes if outcome.rule == name)


def draw_picture(alternatives: Alternatives, selected: RuleOutcome) -> None:
    """Draw the picture of the page: every rule's error and proofs, and the noise as a curve."""
    marks = [
        RuleMark(
            outcome.rule,
            100 * outcome.costs.misplaced,
            100 * outcome.proved_share,
            outcome.rule == selected.rule,
        )
        for outcome in alternatives.result.outcomes
    ]
    points = [noise_point(point) for point in alternatives.result.curve]
    at_slider = noise_point(alternatives.at_slider)
    figure = alternatives_chart(marks, points, at_slider, alternatives.unit)
    sentence = alternatives.sentence(selected)
    st.plotly_chart(figure, key="alternatives", alt=sentence, config=CHART_CONFIG)
    st.markdown(f"**{escape_markdown(sentence, 400)}**")
    draw_chart_footer(attacked_text(alternatives), outcome_table(alternatives), "alternatives")


def noise_point(point: PrivatePoint) -> NoisePoint:
    """Return a private release as the chart has it."""
    return NoisePoint(point.epsilon, 100 * point.costs.misplaced, 100 * point.max_guess)


def attacked_text(alternatives: Alternatives) -> str:
    """Return what was attacked, and what was not."""
    asked_tables = alternatives.task.asked_tables
    table_count = len(asked_tables.tables.axes)
    column_count = len(asked_tables.tables.axes[0])
    text = (
        f"{_count_text(table_count, 'table')} of {_count_text(column_count, 'column')}, "
        f"{asked_tables.domain.size:,} combinations, {asked_tables.n:,} {alternatives.unit}."
    )
    if alternatives.task.unattacked_rows:
        text += f" Not attacked: the other {alternatives.task.unattacked_rows:,}."
    return text


def _count_text(count: int, noun: str) -> str:
    """Return a number of things, such as "1 table" or "3 tables"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def outcome_table(alternatives: Alternatives) -> pd.DataFrame:
    """Return what every rule reveals and costs as a table, a row each."""
    lines = []
    for outcome in alternatives.result.outcomes:
        counterpart = alternatives.counterparts[outcome.rule]
        sample_share = outcome.sample_share
        lines.append(
            {
                "rule": outcome.rule,
                "proved %": 100 * outcome.proved_share,
                "undecided %": 100 * outcome.undecided_share,
                "guessed right %": 100 * outcome.guessed_share,
                "guessed from single columns %": 100 * outcome.baseline_share,
                "in another sample %": np.nan if sample_share is None else 100 * sample_share,
                "value disclosed %": 100 * outcome.disclosed_share,
                "in a wrong cell %": 100 * outcome.costs.misplaced,
                "largest error %": 100 * outcome.costs.largest,
                "counts lost %": 100 * outcome.costs.lost_share,
                "conclusions turned %": 100 * outcome.costs.flipped_share,
                "conclusions gone %": 100 * outcome.costs.vanished_share,
                "ε of equal error": np.nan if counterpart is None else counterpart.epsilon,
                "guess at that ε %": np.nan if counterpart is None else 100 * counterpart.max_guess,
            }
        )
    return pd.DataFrame(lines).round(3)


def _number_text(value: float) -> str:
    """Return a number of the table as text; a dash where there is none."""
    return "–" if np.isnan(value) else f"{value:g}"


def draw_rule(alternatives: Alternatives, selected: RuleOutcome) -> None:
    """Draw the shown rule's numbers beside the first one's, and what to compare with what."""
    first_rule = alternatives.result.outcomes[0].rule
    rules = list(dict.fromkeys([first_rule, selected.rule]))
    numbers = outcome_table(alternatives).set_index("rule").loc[rules].map(_number_text).T
    numbers.columns = [escape_markdown(rule) for rule in numbers.columns]
    st.table(numbers)
    st.caption(
        "Some rows are guessed right by luck. So compare guesses with those from single columns, "
        "and with another sample."
    )
    st.caption(
        "A value is disclosed where everyone of a group has it. That is no row proved, and is "
        "counted apart."
    )


def draw_costs(alternatives: Alternatives, selected: RuleOutcome) -> None:
    """Draw what the shown rule costs every group, small ones first, beside the noise."""
    costs = selected.costs
    st.markdown(
        f"{capitalize_first(escape_markdown(selected.rule))}: {100 * costs.misplaced:.3g} of 100 "
        f"{alternatives.unit} are in a wrong cell. The largest error is "
        f"{alternatives.n * costs.largest:.3g} {alternatives.unit}. "
        f"{100 * costs.lost_share:.3g} of 100 counts have no number of their own. "
        f"{100 * costs.flipped_share:.3g} of 100 conclusions turn, "
        f"{100 * costs.vanished_share:.3g} are gone."
    )
    rule_column, noise_column = st.columns(2)
    noise_groups = alternatives.at_slider.costs.groups[:MAX_GROUPS]
    rule_groups = costs.groups[:MAX_GROUPS]
    if not rule_groups:
        st.caption("Tables of one column have no groups to compare.")
        return
    largest = max(group.error for group in (*rule_groups, *noise_groups))
    with rule_column:
        label = capitalize_first(selected.rule)
        _draw_group_chart(rule_groups, alternatives.n, largest, label, "rule-groups")
    with noise_column:
        label = f"Noise at ε = {alternatives.at_slider.epsilon:g}"
        _draw_group_chart(noise_groups, alternatives.n, largest, label, "noise-groups")


def _draw_group_chart(
    groups: Sequence[GroupCost], n: int, largest: float, label: str, key: str
) -> None:
    """Draw the errors about some groups, on a scale up to the `largest`."""
    frame = pd.DataFrame(
        [
            {
                "group": printable_text(f"{group.column}: {group.label}"),
                "share": group.rows / n,
                "error": group.error,
            }
            for group in groups
        ]
    )
    summary = f"{label}: how much the real and the published tables disagree, small groups first."
    figure = figure_frame.group_error_chart(frame, "smallest groups")
    figure.update_xaxes(range=[0, 1.05 * max(largest, 0.01)])
    draw_chart_panel(figure, summary, frame, key)


def limit_texts(unit: str) -> list[str]:
    """Return what the numbers do not say, a sentence each."""
    return [text.format(unit=unit) for text in LIMITS]


def draw_limits(alternatives: Alternatives) -> None:
    """Draw what the numbers do not say."""
    for text in limit_texts(alternatives.unit):
        st.markdown(f"- {text}")


def chosen_noise_sentence(alternatives: Alternatives) -> str:
    """Return what the private release at the slider's ε allows and costs."""
    at_slider = alternatives.at_slider
    return (
        f"Noise at ε = {at_slider.epsilon:g} puts {100 * at_slider.costs.misplaced:.3g} of 100 "
        f"{alternatives.unit} in a wrong cell. It lets a guess be right at most "
        f"{format_times_in_100(at_slider.max_guess)} (a coin: 50)."
    )
