"""Parameters turned into widgets; nothing here computes."""

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpcore.algorithms import ALGORITHMS, solving
from dpcore.algorithms.base import stars
from dpcore.numbers import brief
from dpcore.params import Param, parameters
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease

from .link import Rule
from .state import unless_given

AUTO, STAR = "auto", "*"
EPSILONS = [0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0]
DELTAS = [0.0] + [float(f"1e-{power}") for power in range(12, 1, -1)]
WORLDS = 5  # runs with other noise each, unless a person says otherwise
WHOLE = {"seed": (0, 2**31 - 1), "repeats": (1, 20)}  # whole numbers, from and to
KEPT = {"bind": "query-params"}  # in the address, and there when a person comes back to the page


def grid(low: float, high: float, kind: type) -> list:
    """1-2-5 steps from `low` to `high`, both included; equal decimal steps where `low` is 0."""
    if low <= 0:
        step = 10.0 ** math.floor(math.log10(high - low))
        return sorted({kind(round(low + i * step, 12)) for i in range(int((high - low) / step) + 1)} | {kind(high)})
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = {kind(float(f"{digit}e{power}")) for power in decades for digit in (1, 2, 5)}
    return sorted({v for v in steps if low <= v <= high} | {kind(low), kind(high)})


def number(value: Any) -> str:
    """A setting as a person writes it."""
    return value if isinstance(value, str) else brief(value) if value < 1e6 else f"{value:,.0f}"


def epsilon_slider() -> float:
    """ε on a logarithmic scale."""
    words = "Privacy budget: smaller means more noise and a stronger promise. Each step to the right weakens it."
    first = unless_given("epsilon", 1.0)
    return st.select_slider("Privacy budget (ε)", EPSILONS, first, number, key="epsilon", help=words, **KEPT)


def delta_slider(place: Any = st, *, zero: bool = False) -> float:
    """δ on a logarithmic scale with 0 for pure differential privacy; greyed at 0 where it must be `zero`."""
    if zero:
        words = "This algorithm keeps its promise without any failure probability: δ must be 0."
        return place.select_slider(
            "Failure probability (δ)", DELTAS, 0.0, number, key="no-delta", help=words, disabled=True
        )
    words = "Probability that the promise of ε does not hold; keep it far below 1/n. 0 asks for pure DP."
    return place.select_slider("Failure probability (δ)", DELTAS, 1e-9, number, key="delta", help=words, **KEPT)


def budget(place: Any = st) -> Budget:
    """Ask for ε, and for δ in `place`."""
    return Budget(epsilon_slider(), delta_slider(place))


def algorithm() -> str:
    """The registry name of the chosen algorithm, with its summary below the widget."""
    titles = {cls.about.title: name for name, cls in solving(QueryRelease).items()}
    name = titles[st.selectbox("Algorithm", list(titles), key="algorithm", **KEPT)]
    about = ALGORITHMS[name].about
    words = f"{about.summary} Use it when {about.use_when}; not when {about.avoid_when}."
    st.caption(f"{about.brief}.", help=words)
    return name


def worlds() -> tuple[int, ...]:
    """The seeds: of the run that is shown, and of those that replay it with other noise."""
    left, right = st.columns(2)
    words = "Exploring can be repeated: the same number gives the same run."
    seed = left.number_input("Repeat number", *WHOLE["seed"], 0, key="seed", help=words, **KEPT)
    words = "Runs with this number and the next ones: the charts show the first, and how far the others lie from it."
    repeats = right.number_input("Repeats", *WHOLE["repeats"], WORLDS, key="repeats", help=words, **KEPT)
    return tuple(range(seed, seed + repeats))


def settings(
    name: str, problem: QueryRelease, budget: Budget, apart: Mapping[str, Any] | None = None, inside: Any = None
) -> dict[str, str]:
    """One widget for each parameter of an algorithm; returns texts as `params.build` takes them.

    Values that the papers' theory gives here become ticks of their own, marked with a star. Parameters whose symbol is
    in `apart` stand there, the others side by side, or one below the other `inside` a container.
    """
    starred = stars(ALGORITHMS[name](), problem, budget)
    listed, apart = parameters(ALGORITHMS[name]), apart or {}
    among = [p for p in listed if p.symbol not in apart]
    columns = iter([inside] * len(among) if inside is not None else st.columns(len(among)) if among else [])
    chosen = {}
    for p in listed:
        place = apart[p.symbol] if p.symbol in apart else next(columns)
        value = _widget(p, f"{name}.{p.name}", place, starred.get(p.name), named=p.symbol in apart)
        if p.name in starred:
            place.caption(f"{p.symbol}{STAR} = {starred[p.name]:.3g}, the paper's value")
        chosen[p.name] = repr(starred[p.name]) if value == p.symbol + STAR else str(value)
    return chosen


def rule(name: str) -> Rule | None:
    """What the widgets of this file take from the address for a parameter of that name."""
    if name in ("epsilon", "delta"):
        return _steps(EPSILONS if name == "epsilon" else DELTAS)
    if name in WHOLE:
        low, high = WHOLE[name]
        return Rule(lambda text: text.isascii() and text.isdigit() and low <= int(text[:20]) <= high, f"{low} … {high}")
    if name == "algorithm":
        titles = [cls.about.title for cls in solving(QueryRelease).values()]
        return Rule(titles.__contains__, ", ".join(titles))
    algorithm, _, field = name.partition(".")
    for p in parameters(ALGORITHMS[algorithm]) if algorithm in solving(QueryRelease) else ():
        if p.name == field:
            return Rule(p.choices.__contains__, ", ".join(p.choices)) if p.choices else _steps(_options(p), p.symbol)
    return None


def _steps(options: list, symbol: str = "") -> Rule:
    """Of a slider: the steps it has."""
    texts = {number(option) for option in options} | ({symbol + STAR} if symbol else set())
    numbers = [option for option in options if not isinstance(option, str)]
    words = f"{number(numbers[0])} … {number(numbers[-1])}, the {len(numbers)} steps of its slider"
    return Rule(texts.__contains__, words)


def _options(p: Param) -> list:
    """The steps of a parameter's slider."""
    steps = grid(p.low or 0.0, p.high or 0.0, p.kind)
    return [AUTO, *steps] if p.default is None else sorted({*steps, p.default})


def _widget(p: Param, key: str, place: Any, star: float | None, *, named: bool = False) -> Any:
    """`named`: in words, as the sliders of ε and δ are."""
    label = (
        f"{p.doc.split(':')[0].split(',')[0].capitalize()} ({p.symbol})" if named else f"{p.name} {p.symbol}".strip()
    )
    words = p.doc[0].upper() + p.doc[1:] + f" ({p.range})." + (f" Auto: from {p.auto}." if p.auto else "")
    if p.choices:
        return place.selectbox(label, p.choices, p.choices.index(p.default), key=key, help=words, **KEPT)
    options, value = _options(p), AUTO if p.default is None else p.default
    if star is not None:
        numbers = [o for o in options if not isinstance(o, str)]
        options.insert(len(options) - len(numbers) + sum(o < star for o in numbers), p.symbol + STAR)
    return place.select_slider(label, options, value, number, key=key, help=words, **KEPT)
