"""The end of the Median part: what a release of the value costs, and the command that makes it."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, RiskMinimisation, Rows
from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.numbers import format_short_number
from dpcore.evaluation.experiment import SCHEMA_FILE, LearningTask
from dpcore.evaluation.output_laws import rank_radius_of_90_percent
from dpcore.evaluation.programs.release_program import ReleaseSettings, learning_release_command
from dpcore.problems.parse_tasks import require_releasable_task
from dpcore.release.data_set import DataSet

from ..components import parameter_widgets
from ..components.program_panel import table_file_name
from ..components.release_reason import draw_reason_input
from ..session import Table, escape_markdown, is_public_host, release_ledger

METHOD = "rank_exponential"  # the one whose answer is drawn without rounding at every δ
RELEASE_FOLDER = "learned"  # the new folder that the command writes
COMMAND_TEXT = (
    "Run this where the table is. It draws the value once, without rounding. The new folder holds "
    f"the value, its card and its proof. The command needs {SCHEMA_FILE}: see “Show code”."
)


def draw_value_release(
    table: Table, text: str, problem: RiskMinimisation, rows: Rows, budget: Budget, unit: str
) -> None:
    """Draw an expander with the cost of releasing a quantile, and with the command that does it.

    Args:
        table: the table that is learned from.
        text: the task, as `read_task` reads it.
        problem: what the text describes.
        rows: the numbers of the task.
        budget: what the release would use.
        unit: of the column's values, in words.

    """
    expander = st.expander(
        "Release this value", icon=":material/publish:", key="release-value", on_change="rerun"
    )
    if not expander.open:
        return
    with expander:
        try:
            require_releasable_task(text, table.domain)  # type: ignore[arg-type]
            radius = rank_radius_of_90_percent(problem, rows, budget)
        except InputError as error:
            st.info(f"This value is not released: {escape_markdown(error, 300)}.")
            return
        plan = make_plan(ALGORITHMS[METHOD](), problem, replace(budget, additive=True))
        guess = Promise.of_plan(plan, adaptive=False).max_guess_probability()
        who, how_often, about_what = guess_tile_texts(guess)
        st.markdown(
            f"Within {radius:.3g} {escape_markdown(unit)} of the real value, 9 times in 10. {who} "
            f"**{how_often}** {about_what}.",
            help="The release draws by ranks (exponential mechanism). The method of the picture "
            "would round its answer, so that it cannot be released.",
        )
        _draw_command(table, text, budget)


def _draw_command(table: Table, text: str, budget: Budget) -> None:
    """Draw what the command uses of which budget, and the command; a reason is asked for first."""
    data_set = _known_data_set(table)
    total = parameter_widgets.DEFAULT_TOTAL_BUDGET if data_set is None else None
    st.markdown(_budget_text(budget, data_set))
    is_reason_required, reason = draw_reason_input(table)
    if is_reason_required and not reason:
        st.caption("The command is written once the reason is given.")
        return
    ledger = release_ledger.find_ledger_path()
    is_path_shown = ledger is not None and not is_public_host()
    settings = ReleaseSettings(
        ledger=str(ledger) if is_path_shown else release_ledger.LEDGER_FILE_NAME,
        folder=RELEASE_FOLDER,
        dataset=release_ledger.data_set_name(table),
        total=total,
        reason=reason,
    )
    task = LearningTask(
        table=table_file_name(table), schema=table.schema, text=text, unit=table.unit.row_unit
    )
    command = learning_release_command(task, ALGORITHMS[METHOD](), budget, settings)
    st.code(command, language="bash", wrap_lines=True)
    st.caption(COMMAND_TEXT)


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


def _known_data_set(table: Table) -> DataSet | None:
    """Return the table's data set in the ledger that this tab may see; None where it is new."""
    ledger = release_ledger.find_ledger_path()
    if ledger is None:
        return None
    with suppress(InputError):  # a file that is no ledger: the command itself says so
        data_sets = release_ledger.load_data_sets(ledger)
        return release_ledger.find_data_set(data_sets, release_ledger.data_set_name(table))
    return None
