"""Second part of the Learning page: two weights' distribution and the paper's sampler.

The sampler is shown step by step.
"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget
from dpcore.evaluation.experiment import ExperimentGrid, LearningTask
from dpcore.evaluation.output_laws import PlaneLaw, plane_law, sampler_walk_on_invented_rows
from dpcore.evaluation.programs.learning_program import plane_program
from dpcore.evaluation.programs.program import Program
from dpcore.problems.losses import Logistic
from dpcore.problems.parse_tasks import task_text

from ..charts import learning_charts
from ..components import (
    draw_chart_panel,
    draw_heading,
    draw_program,
    hide_in_stakeholder_view,
    parameter_widgets,
)
from ..components.program_panel import table_file_name
from ..session import Table, escape_markdown, persistent_widget_args, printable_text
from .learning_release import LearnedTask, draw_prediction_release
from .quantile import choose_calibration, draw_cautions, load_task, numeric_column_names
from .table_learning import choose_loss_and_target, loss_target_pairs


def draw_plane(
    table: Table, left_container: Any, right_container: Any, expert_container: Any
) -> None:
    """Draw where both weights of a line fall and what they predict; then the sampler's steps."""
    options = [
        pair for pair in loss_target_pairs(table) if set(numeric_column_names(table)) - {pair[1]}
    ]
    if options:
        _draw_weight_law(table, options, left_container, right_container, expert_container)
    else:
        left_container.info(
            "The picture needs a column of numbers as the feature, and another column as the "
            "target."
        )
    with expert_container:
        draw_heading("How the published sampler works")
        _draw_sampler_steps()


@hide_in_stakeholder_view
def _draw_weight_law(
    table: Table,
    options: list[tuple[str, str]],
    left_container: Any,
    right_container: Any,
    expert_container: Any,
) -> None:
    """Draw predictions of many private draws, and the law of their two weights for experts."""
    with right_container:
        loss, target = choose_loss_and_target(options, "plane-")
        features = [name for name in numeric_column_names(table) if name != target]
        feature = st.selectbox(
            "From the column",
            features,
            format_func=printable_text,
            key=f"plane-feature-{target}",
            **persistent_widget_args(),
        )
    with left_container:
        draw_heading(f"How does {escape_markdown(feature)} predict {escape_markdown(target)}?")
        budget = parameter_widgets.budget_sliders(expert_container)
    with expert_container:
        calibration_choice = choose_calibration("plane")
    text = task_text(
        loss, target, quantile_level=0.9 if loss == "quantile" else None, features=(feature,)
    )
    problem, rows = load_task(table, text)
    law = plane_law(problem, rows, budget, calibration=calibration_choice)
    with left_container:
        draw_cautions(budget, table)
        is_probability = isinstance(problem.loss, Logistic)
        _draw_predictions(law, table, feature, target, is_probability=is_probability)
    with expert_container:
        _draw_weights(law, feature)
    if table.trial is None:
        with right_container:
            draw_prediction_release(
                LearnedTask(table=table, text=text, problem=problem, budget=budget)
            )
        draw_program(_plane_program(table, text, budget, calibration_choice), table)


def _plane_program(table: Table, text: str, budget: Budget, calibration: str) -> Program:
    """Return the program that computes the law of the weights, and learns them once."""
    task = LearningTask(
        table=table_file_name(table), schema=table.schema, text=text, unit=table.unit.row_unit
    )
    algorithm = ALGORITHMS["regularized_exponential"](calibration=calibration)
    grid = ExperimentGrid(task=task, algorithms={"": algorithm}, budgets=(budget,))
    return plane_program(grid, calibration)


def _draw_predictions(
    law: PlaneLaw, table: Table, feature: str, target: str, *, is_probability: bool
) -> None:
    """Draw the predictions of many private draws, beside the one without privacy."""
    columns = {c.name: c for c in table.domain.columns}  # type: ignore[union-attr]
    feature_column = columns[feature]
    x = np.linspace(float(feature_column.low or 0), float(feature_column.high or 1), 60)
    scaled = (2 * (x - x[0]) / (x[-1] - x[0]) - 1) / np.sqrt(2)
    lines = np.outer(law.draws[:, 0], scaled) + law.draws[:, 1:] / np.sqrt(2)
    optimal_line = law.optimum[0] * scaled + law.optimum[1] / np.sqrt(2)
    title = printable_text(target)
    if is_probability:
        lines = 1 / (1 + np.exp(-lines))
        optimal_line = 1 / (1 + np.exp(-optimal_line))
        title = f"chance that {title} is {printable_text(columns[target].labels[1])}"
    frame = pd.DataFrame(
        {
            printable_text(feature): x,
            "without privacy": optimal_line,
            "lowest draw": lines.min(0),
            "highest": lines.max(0),
        }
    )
    largest_gap = float((frame["highest"] - frame["lowest draw"]).max())
    gap_text = f"{100 * largest_gap:.0f} points" if is_probability else f"{largest_gap:.3g}"
    summary = (
        f"You would publish one thin line, drawn by chance. They differ by {gap_text} at most. "
        "The dashed one is real."
    )
    figure = learning_charts.prediction_lines_chart(
        x, lines[:30], optimal_line, (feature, title), is_probability
    )
    draw_chart_panel(figure, summary, frame, "fans")


def _draw_weights(law: PlaneLaw, feature: str) -> None:
    """Draw where the two weights fall."""
    weight_names = (f"weight of {printable_text(feature)}", "constant")
    weight_deviations = law.draws.std(0)
    summary = (
        f"Darker: more likely. Each dot is one of {len(law.draws)} draws. They spread by "
        f"{weight_deviations[0]:.3g} across and {weight_deviations[1]:.3g} up, most where the "
        "error hardly changes. Along a grey line it is the same."
    )
    draw_heading("Where the two weights fall")
    draw_chart_panel(
        learning_charts.coefficient_plane_chart(law, weight_names),
        summary,
        pd.DataFrame(law.draws, columns=pd.Index(weight_names)),
        "plane",
    )


def _draw_sampler_steps() -> None:
    """Draw the published sampler's proposals on twelve invented numbers."""
    b, proposals = sampler_walk_on_invented_rows()
    frame = pd.DataFrame(
        [
            {
                "try": i,
                "round": p.round,
                "y": p.y[0],
                "x": p.x[0],
                "z": p.z[0],
                "ρ": p.rho,
                "accepted": p.accepted,
            }
            for i, p in enumerate(proposals, 1)
        ]
    )
    rounds = int(frame["round"].max())
    summary = (
        f"Twelve invented numbers, {rounds} rounds, {len(frame) / rounds:.2f} tries a round. "
        "Each try blurs the state "
        "to y and proposes x′ and z near it. It multiplies loss differences of a few rows into "
        "ρ, and accepts x′ with "
        "probability ρ/2. States in between follow the rows, so this picture uses invented ones."
    )
    draw_chart_panel(learning_charts.sampler_walk_chart(frame, b), summary, frame, "walk")
