"""The end of the Learning page's parts: what a release costs, and the command that makes it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, RiskMinimisation, Rows
from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from dpcore.core.numbers import format_short_number
from dpcore.evaluation.experiment import SCHEMA_FILE, LearningTask
from dpcore.evaluation.output_laws import rank_radius_of_90_percent
from dpcore.evaluation.programs.release_program import ReleaseSettings, learning_release_command
from dpcore.privacy.accounting import EventCounts, LifetimeBudget, Plan, worst_case_events
from dpcore.privacy.samplers.lattice import MAX_DIMENSIONS
from dpcore.problems.parse_tasks import require_releasable_task
from dpcore.release.data_set import DataSet
from dpcore.release.ledger.gauge import budget_gauge
from dpcore.release.preparation import plan_learning

from ..components import parameter_widgets
from ..components.budget_gauge import known_data_set
from ..components.program_panel import table_file_name
from ..components.release_reason import draw_reason_input
from ..session import Table, escape_markdown, is_public_host, release_ledger

INVENTED_ROWS_TEXT = (
    "Nothing here is released, because these tables are invented. A median, or a prediction from "
    "one column of numbers, can be released: see Median and Line."
)


@dataclass(frozen=True, kw_only=True)
class ReleaseKind:
    """A kind of release of what is learned, by a method that draws without rounding."""

    noun: str  # what is released, in one word
    method: str  # its registry name
    method_text: str

    @property
    def folder(self) -> str:
        """The new folder that the command writes."""
        return f"learned-{self.noun}"


VALUE = ReleaseKind(
    noun="value",
    method="rank_exponential",
    method_text="The release draws by ranks (exponential mechanism). The method of the picture "
    "would round its answer, so that it cannot be released.",
)
PREDICTION = ReleaseKind(
    noun="prediction",
    method="exponential",
    method_text="The release learns from all rows. It draws on a public grid (exponential "
    "mechanism), at δ = 0. The methods of the pictures would round their answers, so that they "
    "cannot be released.",
)


@dataclass(frozen=True, kw_only=True)
class LearnedTask:
    """What a part of the page learns from all rows of a table, and what it would use of ε and δ.

    `text` and `radius` are as `read_task` reads them, and `problem` is what they describe.
    """

    table: Table
    text: str
    problem: RiskMinimisation
    budget: Budget
    radius: float | None = None


def draw_value_release(task: LearnedTask, rows: Rows, unit: str) -> None:
    """Draw an expander with the cost of releasing a quantile, and with the command that does it.

    Args:
        task: the quantile of a column.
        rows: the numbers of the column.
        unit: of the column's values, in words.

    """

    def distance_text() -> str:
        radius = rank_radius_of_90_percent(task.problem, rows, task.budget)
        return f"Within {radius:.3g} {escape_markdown(unit)} of the real value, 9 times in 10."

    _draw_release(VALUE, task, distance_text)


def draw_prediction_release(task: LearnedTask) -> None:
    """Draw an expander with the cost of releasing a prediction, and with the command that does it.

    One sentence says so where it is not released. The release is drawn at δ = 0.
    """
    pure_task = replace(task, budget=replace(task.budget, delta=0.0))

    def weights_text() -> str:
        feature = escape_markdown(task.problem.names[0])
        return f"You release two weights: one of {feature}, and a constant."

    _draw_release(PREDICTION, pure_task, weights_text)


def _draw_release(kind: ReleaseKind, task: LearnedTask, first_sentence: Callable[[], str]) -> None:
    """Draw the expander of a release, or say why there is none and what can be released.

    `first_sentence` says what is released, as markdown; it is asked for where it is shown.
    """
    try:
        plan = plan_release(kind, task)
    except InputError as error:
        st.caption(f"This {kind.noun} is not released: {escape_markdown(error, 300)}.")
        return
    expander = st.expander(
        f"Release this {kind.noun}",
        icon=":material/publish:",
        key=f"release-{kind.noun}",
        on_change="rerun",
    )
    if not expander.open:
        return
    with expander:
        guess = Promise.of_plan(plan, adaptive=False).max_guess_probability()
        who, how_often, about_what = guess_tile_texts(guess)
        st.markdown(
            f"{first_sentence()} {who} **{how_often}** {about_what}.", help=kind.method_text
        )
        _draw_command(kind, task, plan)


def plan_release(kind: ReleaseKind, task: LearnedTask) -> Plan:
    """Return the plan of a release of what is learned, from public facts alone.

    Raises InputError, in words for the page, where it is not released.
    """
    require_releasable_task(task.text, task.table.domain)  # type: ignore[arg-type]
    problem = task.problem
    if problem.d > MAX_DIMENSIONS:
        raise InputError(
            f"it has {problem.d} weights, and at most {MAX_DIMENSIONS} can be drawn without "
            "rounding. A prediction from one column of numbers, none missing, can be released"
        )
    try:
        return plan_learning(ALGORITHMS[kind.method](), problem, task.budget)
    except InputError as error:  # its remedies are those of the command line
        raise InputError(
            f"at ε = {task.budget.epsilon:g} it cannot be drawn from {problem.n:,} rows without "
            "rounding. With fewer rows it can be released"
        ) from error


def _draw_command(kind: ReleaseKind, task: LearnedTask, plan: Plan) -> None:
    """Draw what the command uses of which budget, and the command; a reason is asked for first."""
    table = task.table
    data_set = known_data_set(table)
    total = parameter_widgets.DEFAULT_TOTAL_BUDGET if data_set is None else None
    st.markdown(_budget_text(task.budget, data_set))
    _draw_budget_shares(worst_case_events(plan, adaptive=False), data_set)
    is_reason_required, reason = draw_reason_input(table)
    if is_reason_required and not reason:
        st.caption("The command is written once the reason is given.")
        return
    ledger = release_ledger.find_ledger_path()
    is_path_shown = ledger is not None and not is_public_host()
    settings = ReleaseSettings(
        ledger=str(ledger) if is_path_shown else release_ledger.LEDGER_FILE_NAME,
        folder=kind.folder,
        dataset=release_ledger.data_set_name(table),
        total=total,
        reason=reason,
    )
    learning_task = LearningTask(
        table=table_file_name(table),
        schema=table.schema,
        text=task.text,
        unit=table.unit.row_unit,
        radius=task.radius,
    )
    algorithm = ALGORITHMS[kind.method]()
    command = learning_release_command(learning_task, algorithm, task.budget, settings)
    st.code(command, language="bash", wrap_lines=True)
    st.caption(
        f"Run this where the table is. It draws the {kind.noun} once, without rounding. The new "
        f"folder holds the {kind.noun}, its card and its proof. The command needs {SCHEMA_FILE}: "
        "see “Show code”."
    )


def _budget_text(budget: Budget, data_set: DataSet | None) -> str:
    """Return what the command uses of the budget of all releases, permanently, as markdown."""
    uses = f"Uses ε = {budget.epsilon:g} at δ = {format_short_number(budget.delta)}, permanently"
    if data_set is not None:
        return f"{uses}. Of the data set’s budget ε = {data_set.remaining:.3g} is left."
    total = parameter_widgets.DEFAULT_TOTAL_BUDGET
    return (
        f"{uses}, even if it fails. The first release fixes the whole budget of all releases of "
        f"this data set: ε = {total.epsilon:g} at δ = {format_short_number(total.delta)}. Change "
        "these two numbers before you run it, never after."
    )


def _draw_budget_shares(events: EventCounts, data_set: DataSet | None) -> None:
    """Draw which share of the budget of all releases these events use, in the words of Release."""
    if data_set is None:
        total = parameter_widgets.DEFAULT_TOTAL_BUDGET
        lifetime = LifetimeBudget.from_first_release(total, events)
        used_share = None
    else:
        lifetime = data_set.lifetime
        used_share = lifetime.used_capacity_share(data_set.spent)
    _, shares_text, _ = budget_gauge(used_share, lifetime.composed_cost(events) / lifetime.capacity)
    st.caption(
        shares_text,
        help=f"ε does not add up, so these are shares of what does ({lifetime.accounting.name}).",
    )
