"""Draw the Learning page's second part: the law of two weights, and the paper's sampler step by step."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.evaluation.output_laws import plane_law, public_walk
from dpcore.problems.losses import Logistic
from dpcore.problems.parse_tasks import task_text

from ..charts import learning_charts
from ..components import heading, panel, parameter_widgets, peek
from ..session import Table, clean, plain, shared
from .quantile import calibration, cautions, made, numeric
from .table_learning import pairs, predicted


def plane(table: Table, left: Any, right: Any, experts: Any) -> None:
    """Draw where both weights of a line fall and what they predict; then the sampler's steps."""
    options = [pair for pair in pairs(table) if set(numeric(table)) - {pair[1]}]
    if options:
        _law(table, options, left, right, experts)
    else:
        left.info("The picture needs a column of numbers as the feature, and another column as the target.")
    with experts:
        heading("How the published sampler works")
        _steps()


@peek
def _law(table: Table, possible: list[tuple[str, str]], left: Any, right: Any, experts: Any) -> None:
    """Draw predictions of many private draws, and the law of their two weights for experts."""
    with right:
        loss, target = predicted(possible, "plane-")
        others = [name for name in numeric(table) if name != target]
        feature = st.selectbox("From the column", others, format_func=clean, key=f"plane-feature-{target}", **shared())
    with left:
        heading(f"How does {plain(feature)} predict {plain(target)}?")
        budget = parameter_widgets.budget(experts)
    with experts:
        calibration_choice = calibration("plane")
    text = task_text(loss, target, level=0.9 if loss == "quantile" else None, features=(feature,))
    problem, rows = made(table, text)
    law = plane_law(problem, rows, budget, calibration=calibration_choice)
    columns = {c.name: c for c in table.domain.columns}  # type: ignore[union-attr]
    feature_column = columns[feature]
    x = np.linspace(float(feature_column.low or 0), float(feature_column.high or 1), 60)
    scaled = (2 * (x - x[0]) / (x[-1] - x[0]) - 1) / np.sqrt(2)
    lines = np.outer(law.draws[:, 0], scaled) + law.draws[:, 1:] / np.sqrt(2)
    optimal_line = law.optimum[0] * scaled + law.optimum[1] / np.sqrt(2)
    title, is_probability = clean(target), isinstance(problem.loss, Logistic)
    if is_probability:
        lines, optimal_line = (1 / (1 + np.exp(-value)) for value in (lines, optimal_line))
        title = f"chance that {title} is {clean(columns[target].labels[1])}"
    frame = pd.DataFrame(
        {clean(feature): x, "without privacy": optimal_line, "lowest draw": lines.min(0), "highest": lines.max(0)}
    )
    largest_gap = float((frame["highest"] - frame["lowest draw"]).max())
    with left:
        cautions(budget, table)
        gap_text = f"{100 * largest_gap:.0f} points" if is_probability else f"{largest_gap:.3g}"
        summary = (
            f"You would publish one thin line, drawn by chance. They differ by {gap_text} at most. The dashed "
            "one is real."
        )
        panel(
            learning_charts.fans(x, lines[:30], optimal_line, (feature, title), is_probability), summary, frame, "fans"
        )
    weight_names = (f"weight of {clean(feature)}", "constant")
    weight_deviations = law.draws.std(0)
    summary = (
        f"Darker: more likely. Each dot is one of {len(law.draws)} draws. They spread by {weight_deviations[0]:.3g} "
        "across and "
        f"{weight_deviations[1]:.3g} up, most where the error hardly changes. Along a grey line it is the same."
    )
    with experts:
        heading("Where the two weights fall")
        panel(
            learning_charts.plane(law, weight_names),
            summary,
            pd.DataFrame(law.draws, columns=pd.Index(weight_names)),
            "plane",
        )


def _steps() -> None:
    """Draw the published sampler's proposals on twelve invented numbers."""
    b, proposals = public_walk()
    frame = pd.DataFrame(
        [
            {"try": i, "round": p.round, "y": p.y[0], "x": p.x[0], "z": p.z[0], "ρ": p.rho, "accepted": p.accepted}
            for i, p in enumerate(proposals, 1)
        ]
    )
    rounds = int(frame["round"].max())
    summary = (
        f"Twelve invented numbers, {rounds} rounds, {len(frame) / rounds:.2f} tries a round. Each try blurs the state "
        "to y and proposes x′ and z near it. It multiplies loss differences of a few rows into ρ, and accepts x′ with "
        "probability ρ/2. States in between follow the rows, so this picture uses invented ones."
    )
    panel(learning_charts.walk(frame, b), summary, frame, "walk")
