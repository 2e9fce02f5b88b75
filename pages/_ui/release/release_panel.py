"""What the Release page draws of its desk: the button that releases, and what came of it."""

from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.evaluation.experiment import Experiment
from dpcore.evaluation.programs.release_program import ReleaseSettings, release_program
from dpcore.release.preparation import PreparedRelease

from ..components import draw_heading, draw_program, question_choice
from ..components.tab_experiment import store_experiment
from ..released.downloads import OUTPUTS_TEXT, SCHEMA_OUTPUT_TEXT, draw_release_outputs
from ..released.released_views import draw_released_views
from ..session import Table, is_public_host, release_ledger
from ..session.stakeholder_wall import text_unless_stakeholder
from .release_job import ReleaseDesk

RELEASE_FOLDER = "release"  # the new folder that code writes a release to


def draw_outcome(desk: ReleaseDesk, ledger: Path | None) -> None:
    """Draw the files of the desk's release, or why there are none, and the way to another one."""
    if desk.released:
        files = desk.job.result  # type: ignore[union-attr]
        draw_release_outputs(files)
        draw_released_views(files)
    else:
        failure = desk.job.error or "The release did not happen."  # type: ignore[union-attr]
        failure_text = release_ledger.format_ledger_error(failure, ledger)
        st.error(text_unless_stakeholder(failure_text))
        st.caption(
            "What was used of the budget stays used. The list at the end of this page says so."
        )
    st.button("Prepare another release", icon=":material/add:", on_click=desk.clear)


def draw_output_list(*, measures_schema: bool) -> None:
    """List what leaves with a release."""
    draw_heading("3 · What leaves?")
    st.markdown((SCHEMA_OUTPUT_TEXT if measures_schema else "") + OUTPUTS_TEXT)


def draw_code(ready: PreparedRelease, table: Table, ledger: Path | None) -> None:
    """Draw the code of the release that is prepared; running it uses budget, as the button does."""
    request = ready.request
    measurement = ready.schema_measurement
    task = question_choice.task_of_table(
        table,
        request.workload.domain.names,
        request.query_texts,
        None if measurement is None else measurement.split.share,
    )
    experiment = Experiment(task=task, algorithm=request.algorithm, budget=request.budget)
    store_experiment(experiment, table)
    is_path_shown = ledger is not None and not is_public_host()
    settings = ReleaseSettings(
        ledger=str(ledger) if is_path_shown else release_ledger.LEDGER_FILE_NAME,
        folder=RELEASE_FOLDER,
        dataset=request.dataset or "",
        total=request.total,
        new_version=request.new_version,
        reason=request.reason,
        rows=request.rows,
        neutralize=request.neutralize,
        noise=request.noise,
    )
    draw_program(release_program(experiment, settings), table)


def draw_release_button(
    desk: ReleaseDesk,
    plan_key: Any,
    ready: PreparedRelease,
    ledger: Path | None,
    share_text: str,
    *,
    needs_reason: bool,
) -> None:
    """Offer the plan, and draw the button that releases it; blocked while a step is missing."""
    token = desk.offer_token(plan_key)
    missing_steps = []
    if ledger is None:
        missing_steps.append("choose a folder")
    if needs_reason:
        missing_steps.append("give a reason")
    missing_text = f" ({' and '.join(missing_steps)} first)" if missing_steps else ""
    with st.container(key="in-sight"):
        st.markdown(f"Uses {share_text}, even if it fails.")
        st.button(
            f"Release: permanent{missing_text}",
            type="primary",
            icon=":material/publish:",
            key="release-now",
            disabled=bool(missing_steps),
            on_click=desk.start,
            args=("" if missing_steps else token, ready, ledger),
        )
