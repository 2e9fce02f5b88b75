"""Parameters turned into widgets; nothing here computes."""

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpcore import ALGORITHMS, Budget, QueryRelease
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.algorithm import theoretical_values
from dpcore.core.numbers import format_short_number
from dpcore.core.parameters import Param, declared_parameters

from ..session.current_table import default_unless_set
from .glossary_words import GLOSSARY

AUTO = "auto"
STAR_MARK = "*"
EPSILON_OPTIONS = [
    0.01,
    0.02,
    0.03,
    0.05,
    0.07,
    0.1,
    0.15,
    0.2,
    0.3,
    0.5,
    0.7,
    1.0,
    1.5,
    2.0,
    3.0,
    5.0,
    7.0,
    10.0,
]
DELTA_OPTIONS = [0.0] + [float(f"1e-{power}") for power in range(12, 1, -1)]
# whose promise is said together: the time of the exact sum grows with the square of their number
MAX_RELEASES = 100
DEFAULT_TOTAL_BUDGET = Budget(3.0, 1e-6)  # of all releases together, until a person says otherwise
DEFAULT_EPSILON = 1.0
DEFAULT_DELTA = 1e-9
DEFAULT_REPEATS = 5  # runs with other noise each, unless a person says otherwise
MAX_EXPLORE_REPEATS = 20
SEED_RANGE = 0, 2**31 - 1
# in the address, and there when a person comes back to the page
ADDRESS_WIDGET_ARGS = {"bind": "query-params"}


def setting_grid(low: float, high: float, number_type: type) -> list:
    """Return 1-2-5 steps from `low` to `high`, both included.

    Where `low` is 0 they are equal decimal steps.
    """
    if low <= 0:
        step = 10.0 ** math.floor(math.log10(high - low))
        return sorted(
            {number_type(round(low + i * step, 12)) for i in range(int((high - low) / step) + 1)}
            | {number_type(high)}
        )
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = {number_type(float(f"{digit}e{power}")) for power in decades for digit in (1, 2, 5)}
    return sorted({v for v in steps if low <= v <= high} | {number_type(low), number_type(high)})


def format_setting(value: Any) -> str:
    """Return a setting as a person writes it."""
    if isinstance(value, str):
        return value
    return format_short_number(value) if value < 1e6 else f"{value:,.0f}"


def epsilon_slider() -> float:
    """Draw a logarithmic slider for ε; return its value."""
    help_text = (
        "Privacy budget: smaller means more noise and a stronger promise. Each step to "
        "the right weakens it."
    )
    default = default_unless_set("epsilon", DEFAULT_EPSILON)
    return st.select_slider(
        "Privacy budget (ε)",
        EPSILON_OPTIONS,
        default,
        format_setting,
        key="epsilon",
        help=help_text,
        **ADDRESS_WIDGET_ARGS,
    )


def delta_slider(container: Any = st, *, must_be_zero: bool = False) -> float:
    """Draw a logarithmic slider for δ, with 0 for pure differential privacy; return its value.

    It is greyed at 0 if `must_be_zero`.
    """
    default = DEFAULT_DELTA
    help_text = f"{GLOSSARY['δ']['means']} 0 allows no exception."
    widget_args = {"key": "delta"} | ADDRESS_WIDGET_ARGS
    if must_be_zero:
        help_text = "This algorithm keeps its promise without any failure probability: δ must be 0."
        default = 0.0
        widget_args = {"key": "no-delta", "disabled": True}
    return container.select_slider(
        "Failure probability (δ)",
        DELTA_OPTIONS,
        default,
        format_setting,
        help=help_text,
        **widget_args,
    )


def selected_budget() -> Budget:
    """Return the budget that the sliders say, or will say where they were not drawn yet."""
    epsilon = st.session_state.get("epsilon")
    delta = st.session_state.get("delta")
    return Budget(
        DEFAULT_EPSILON if epsilon is None else float(epsilon),
        DEFAULT_DELTA if delta is None else float(delta),
    )


def budget_sliders(delta_container: Any = st) -> Budget:
    """Ask for ε, and for δ in `delta_container`."""
    return Budget(epsilon_slider(), delta_slider(delta_container))


def algorithm_selectbox() -> str:
    """Draw a choice of algorithm with its summary below; return its registry name."""
    names_by_title = {
        cls.about.title: name for name, cls in algorithms_for_problem(QueryRelease).items()
    }
    name = names_by_title[
        st.selectbox("Algorithm", list(names_by_title), key="algorithm", **ADDRESS_WIDGET_ARGS)
    ]
    description = ALGORITHMS[name].about
    help_text = (
        f"{description.summary} Use it when {description.use_when}; not when "
        f"{description.avoid_when}. Source: {description.source}."
    )
    paper = "" if description.paper == "this project" else f" ({description.paper})"
    st.caption(f"{description.brief}{paper}.", help=help_text)
    return name


def seed_inputs() -> tuple[int, int]:
    """Return the seed of the run that is shown, and how many runs there are with it.

    The others replay the run with other noise.
    """
    seed_container, repeats_container = st.columns(2)
    help_text = "Exploring can be repeated: the same number gives the same run."
    seed = seed_container.number_input(
        "Repeat number", *SEED_RANGE, 0, key="seed", help=help_text, **ADDRESS_WIDGET_ARGS
    )
    help_text = (
        "Runs with this number and the next ones: the charts show the first, and how far "
        "the others lie from it."
    )
    repeats = repeats_container.number_input(
        "Repeats",
        1,
        MAX_EXPLORE_REPEATS,
        DEFAULT_REPEATS,
        key="repeats",
        help=help_text,
        **ADDRESS_WIDGET_ARGS,
    )
    return seed, repeats


def setting_widgets(
    name: str,
    problem: QueryRelease,
    budget: Budget,
    separate_containers: Mapping[str, tuple[Any, Any]] | None = None,
    container: Any = st,
) -> dict[str, str]:
    """Draw one widget per parameter of an algorithm; return texts as `build_from_texts` takes.

    Values that the papers' theory gives here become ticks of their own, marked with a star. A
    parameter whose symbol is in `separate_containers` is drawn in the first of its containers, and
    the note about the star in the second; the others one below the other in `container`.
    """
    theoretical = theoretical_values(ALGORITHMS[name](), problem, budget)
    separate_containers = separate_containers or {}
    setting_texts = {}
    for p in declared_parameters(ALGORITHMS[name]):
        widget_container, note_container = separate_containers.get(p.symbol, (container, container))
        value = _setting_widget(
            p,
            f"{name}.{p.name}",
            widget_container,
            theoretical.get(p.name),
            label_in_words=p.symbol in separate_containers,
        )
        if p.name in theoretical:
            note_container.caption(
                f"{p.symbol}{STAR_MARK} = {theoretical[p.name]:.3g}, the paper's value"
            )
        setting_texts[p.name] = (
            repr(theoretical[p.name]) if value == p.symbol + STAR_MARK else str(value)
        )
    return setting_texts


def setting_options(p: Param) -> list:
    """Return the steps of the slider of a parameter that is a number."""
    steps = setting_grid(p.low or 0.0, p.high or 0.0, p.kind)
    return [AUTO, *steps] if p.default is None else sorted({*steps, p.default})


def _setting_widget(
    p: Param,
    key: str,
    container: Any,
    theoretical_value: float | None,
    *,
    label_in_words: bool = False,
) -> Any:
    """Draw the widget of one parameter; return its value.

    With `label_in_words` it is labelled in words, as the sliders of ε and δ are.
    """
    label = (
        f"{p.doc.split(':')[0].split(',')[0].capitalize()} ({p.symbol})"
        if label_in_words
        else f"{p.name} {p.symbol}".strip()
    )
    help_text = (
        p.doc[0].upper()
        + p.doc[1:]
        + f" ({p.allowed_values_text})."
        + (f" Auto: from {p.auto}." if p.auto else "")
    )
    if p.choices:
        return container.selectbox(
            label,
            p.choices,
            p.choices.index(p.default),
            key=key,
            help=help_text,
            **ADDRESS_WIDGET_ARGS,
        )
    value = AUTO if p.default is None else p.default
    options = setting_options(p)
    if theoretical_value is not None:
        numbers = [o for o in options if not isinstance(o, str)]
        options.insert(
            len(options) - len(numbers) + sum(o < theoretical_value for o in numbers),
            p.symbol + STAR_MARK,
        )
    return container.select_slider(
        label, options, value, format_setting, key=key, help=help_text, **ADDRESS_WIDGET_ARGS
    )
