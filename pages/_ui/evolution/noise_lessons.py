"""Two lessons on the paper's printed noise: its true privacy, and noise that keeps the claim."""

import math

import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.algorithms.points import evolution_bounds as theory
from dpcore.core.numbers import format_short_number
from dpcore.privacy.accounting import conversions, equal_threshold_spend

from ..charts.figure_frame import line_chart
from ..components import (
    ADDRESS_WIDGET_ARGS,
    EPSILON_OPTIONS,
    draw_chart_panel,
    draw_heading,
    format_setting,
)
from ..components.parameter_widgets import DELTA_OPTIONS
from ..lessons.lesson import Lesson, draw_prediction
from ..lessons.lesson_answers import LessonFinding, Medians, nearest_mark_index

ROUNDS = 14  # as for n = 1000


def decide_printed_delta(_medians: Medians) -> LessonFinding:
    """Return the true δ of the printed noise at (1, 10⁻⁴) as a multiple of the claim.

    The answers to choose from are 1, 2 or 40.
    """
    printed = theory.printed_partition_noise(epsilon=1.0, delta=1e-4)
    ratio = math.exp(conversions.gdp_log_delta(1.0, math.sqrt(2) / printed)) / 1e-4
    return LessonFinding(
        nearest_mark_index(ratio, (1, 2, 40)),
        f"It keeps {1e-4 * ratio:.2g}, {ratio:.2g} times what is claimed.",
    )


def decide_forgotten_rounds(_medians: Medians) -> LessonFinding:
    """Return the ε of all rounds together at ε = 1 each.

    The answers to choose from are 1, √14, or the 14 that a plain sum says.
    """
    composed_epsilon = conversions.pure_composition_epsilon(1.0, ROUNDS, 1e-4)
    sentence = f"At δ = 10⁻⁴ all {ROUNDS} steps together keep ε = {composed_epsilon:.3g} at best."
    return LessonFinding(
        nearest_mark_index(composed_epsilon, (1, math.sqrt(ROUNDS), ROUNDS)), sentence
    )


PARTITION_LESSON = Lesson(
    "Noise as Algorithm 5 prints it",
    "Algorithm 5 (PSMM) adds Gaussian noise of variance log(1/δ)/ε² to its counts and says (ε, "
    "δ). At ε = 1 and δ = "
    "10⁻⁴, what δ does that noise keep in truth?",
    ("10⁻⁴, as printed", "About 2 times as much", "About 40 times as much"),
    decide_printed_delta,
    "One replaced person moves two counts, so the counts move by √2; and the variance of a "
    "Gaussian must carry the "
    "constants that a proof up to constants leaves out. The exact standard deviation is √2/μ*; "
    "that is what runs here.",
)
COMPOSITION_LESSON = Lesson(
    "Noise that forgets its steps",
    "Appendix E draws Laplace noise for (ε, δ) in every one of its T steps, as if it were the "
    "only one. At ε = 1 and "
    "14 steps, as for n = 1000, what ε do all steps together keep?",
    (
        "Still 1: a threshold hides the rest",
        "About 4, the square root of the steps",
        "Far more than 4",
    ),
    decide_forgotten_rounds,
    "Every step answers a new question about the same people, so its cost adds up. Half of δ is "
    "kept for the "
    "thresholds of all steps. Composed optimally, each step may use only a small ε₀. Here post = "
    "“laplace” does so.",
)


def draw_lessons() -> None:
    """Draw both lessons, one after the other."""
    with st.container(border=True, key="lesson-settings"):
        left_column, right_column = st.columns(2)
        epsilon = left_column.select_slider(
            "ε, as claimed",
            EPSILON_OPTIONS,
            1.0,
            format_setting,
            key="lesson-epsilon",
            **ADDRESS_WIDGET_ARGS,
        )
        delta = right_column.select_slider(
            "δ, as claimed",
            DELTA_OPTIONS[1:],
            1e-4,
            format_setting,
            key="lesson-delta",
            **ADDRESS_WIDGET_ARGS,
        )
    if draw_prediction(PARTITION_LESSON):
        _draw_partition_lesson(epsilon, delta)
    if draw_prediction(COMPOSITION_LESSON):
        _draw_composition_lesson(epsilon, delta)


def _draw_partition_lesson(epsilon: float, delta: float) -> None:
    """Draw the δ that the printed noise on counts claims against the δ that it keeps, at this ε."""
    draw_heading("What δ does the printed noise keep?")
    lines = []
    for claimed in DELTA_OPTIONS[1:]:
        printed = theory.printed_partition_noise(epsilon=epsilon, delta=claimed)
        exact = math.sqrt(2) / conversions.gdp_mu(epsilon, claimed)
        true = math.exp(conversions.gdp_log_delta(epsilon, math.sqrt(2) / printed))
        lines.append(
            {
                "claimed δ": claimed,
                "printed noise": printed,
                "true δ": true,
                "corrected noise": exact,
            }
        )
    frame = pd.DataFrame(lines)
    table_row = frame[frame["claimed δ"] == delta].iloc[0]
    lines = {"true δ": "printed noise", "claimed δ": "corrected noise"}
    figure = line_chart(
        frame, "claimed δ", lines, ("δ that is claimed", "δ that is kept"), log="xy"
    )
    summary = (
        f"At ε = {epsilon:g} and δ = {format_short_number(delta)} the printed standard deviation "
        "on counts is "
        f"{table_row['printed noise']:.4g}, its true δ {table_row['true δ']:.2g}, "
        f"{table_row['true δ'] / delta:.3g} "
        "times the claim; "
        f"{table_row['corrected noise']:.4g} is needed."
    )
    draw_chart_panel(figure, summary, frame, "lesson-partition")


def _draw_composition_lesson(epsilon: float, delta: float) -> None:
    """Draw the ε that T rounds claim without composition, and the ε that they truly keep.

    Also the ε₀ of each round that keeps the claim.
    """
    draw_heading("What ε do all steps together keep?")
    lines = []
    for T in (1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20):
        composed_epsilon = conversions.pure_composition_epsilon(epsilon, T, delta)
        step_epsilon = equal_threshold_spend(Budget(epsilon, delta), T).epsilon
        lines.append(
            {
                "steps": T,
                "true ε": composed_epsilon,
                "failures δ": T * delta / 2,
                "corrected ε₀ a step": step_epsilon,
            }
        )
    frame = pd.DataFrame(lines).assign(claimed=epsilon)
    names = {
        "true ε": "printed: ε in every step",
        "claimed": "claimed, and kept by the corrected noise",
        "corrected ε₀ a step": "corrected: ε₀ of one step",
    }
    figure = line_chart(frame, "steps", names, ("T, steps", "ε"), log="y" if epsilon < 10 else "")
    table_row = frame[frame["steps"] == ROUNDS].iloc[0]
    summary = (
        f"After {ROUNDS} steps at ε = {epsilon:g} each, the best that can be said is ε = "
        f"{table_row['true ε']:.3g} "
        "at δ = "
        f"{delta + table_row['failures δ']:.2g}; {table_row['corrected ε₀ a step']:.3g} a step "
        "keeps the claim, so "
        "its Laplace "
        f"noise is {epsilon / table_row['corrected ε₀ a step']:.3g} times larger."
    )
    draw_chart_panel(figure, summary, frame, "lesson-composition")
