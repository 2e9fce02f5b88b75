"""The proof of a plan's promise, written down from the plan and the docstrings of what it uses.

Statistic → sensitivity → charge → total: each derivation stands beside the code that relies on it, and is quoted here,
so that a proof cannot speak of another program than the one that runs.
"""

import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from markupsafe import Markup, escape

from ...algorithms import Algorithm
from ...algorithms.schema_measurement.measurement_plan import Division, joint_cost
from ...core.numbers import brief
from ...core.types import value_object
from ...privacy.accounting import (
    Accounting,
    Approximate,
    BoundedRange,
    Charge,
    Gaussian,
    Plan,
    Pure,
    Spend,
    SubsampledGaussian,
    Sums,
    composition,
    conversions,
)
from ...privacy.curators.column_curator import ColumnCurator
from ...privacy.curators.curator_of_problem import CURATORS
from ...problems import Grouped
from .printing import TEMPLATES, page

SIZES = {"l1": "Δ₁", "l2": "Δ₂", "sensitivity": "Δ", "clip": "C"}
NAMES: dict[type, str] = {
    Gaussian: "Gaussian noise", Pure: "pure differential privacy", BoundedRange: "exponential mechanism",
    Approximate: "approximate differential privacy", SubsampledGaussian: "Gaussian noise on a random sample",
}  # fmt: skip
LONG = 60  # characters of a derivation that is not repeated in a proof
SPENDS = ("Exact", *(kind.__name__ for kind in NAMES))
WORKLOADS = ("Marginals", "Explicit", "TableQueries", "Union")
MEASURING = ("measure", "measure_sample", "count", "frequent")  # verbs that release a value with noise
LETTERS = {"mu": "μ", "epsilon": "ε₀", "failure": "δ₀", "noise_multiplier": "z", "rate": "q", "rho": "ρ"}


@value_object
class ProofStep:
    """One charge of a plan in the proof: its statistic, derivation, mechanism, spend, law and cost, in words.

    `sizes` are the sensitivities of n times the value to one row, where they are known before the run, and `group` is
    how many rows one person has at most; `noise` is how large the noise is, as text, or "". `cost` is what all `times`
    of it add to the plan's one sum, as text. `column` is the one whose schema is measured by it.
    """

    statistic: str
    derivation: str
    sizes: dict[str, float]
    mechanism: str
    spend: str
    law: str
    times: int
    cost: str
    group: int
    noise: str
    column: str = ""


@value_object
class Proof:
    """A whole proof: all steps, their total, the theorem that adds them up, and the promise kept.

    It is about a table of n `rows`, of which one person has `group` at the most.
    """

    algorithm: str
    title: str
    source: str
    adaptive: bool
    steps: tuple[ProofStep, ...]
    total: str
    theorem: str
    epsilon: float
    promise: tuple[float, float]
    rows: int
    group: int


def proof(
    name: str,
    algorithm: Algorithm | type[Algorithm],
    plan: Plan,
    problem: Grouped,
    measured: tuple[Plan, Division] | None = None,
) -> Proof:
    """The proof for a plan of the algorithm that is registered under `name`, for the rows of this problem.

    Where the schema is `measured` by a plan of its own, within a division of the whole budget, its charges come first,
    named after columns, and the total is what the ledger's check of both adds up: all that may ever be spent.
    """
    sums, accounting, budget, steps = plan.sums, plan.accounting, plan.budget, []
    epsilon = sums.epsilon(budget.delta, accounting)
    if measured is not None:
        schema_plan, division = measured
        accounting, budget = division.accounting, division.budget
        cost, failure, epsilon = joint_cost(division, schema_plan, plan, algorithm.adaptive)
        sums = Sums(pure=cost) if accounting is Accounting.PURE else Sums(rho=cost, failure=failure)
        steps = [_step(charge, schema_plan, accounting, ColumnCurator, problem) for charge in schema_plan.charges]
    return Proof(
        algorithm=name,
        title=algorithm.about.title,
        source=algorithm.about.source,
        adaptive=algorithm.adaptive,
        steps=(*steps, *(_step(c, plan, accounting, CURATORS[algorithm.problem], problem) for c in plan.charges)),
        total=_total(sums, accounting),
        theorem=_theorem(accounting),
        epsilon=epsilon,
        promise=(budget.epsilon, budget.delta),
        rows=problem.n,
        group=problem.group,
    )


def sentence(found: Proof) -> str:
    """A sentence that says what the steps of a proof cost together, and which promise that keeps."""
    epsilon, delta = found.promise
    opening = "At the most, however it decides as it goes along" if found.adaptive else "In all"
    return f"{opening}: {found.total}, that is ε = {found.epsilon:.6g} ≤ {epsilon:g} at δ = {brief(delta)}."


def proof_page(found: Proof) -> str:
    """The proof as a page (HTML) to print."""
    steps, first_step_with = [], {}
    for number, step in enumerate(found.steps, start=1):
        lines = []
        for name, line_text in step_lines(step):
            earlier_step = first_step_with.setdefault(line_text, number)
            lines.append(
                (name, f"As in step {earlier_step}." if earlier_step < number and len(line_text) > LONG else line_text)
            )
        steps.append((step, lines))
    return page(
        TEMPLATES / "proof.html",
        proof=found,
        steps=steps,
        total=sentence(found),
        paragraphs=_paragraphs,
        typeset=_typeset,
    )


def step_lines(step: ProofStep) -> list[tuple[str, str]]:
    """The lines of a step by name: the statistic, its sensitivity, the released value, and the cost."""
    group = step.group
    noise = [("How large the noise is", step.noise)] if step.noise else []
    return [
        ("What is measured", step.derivation),
        ("Sensitivity", _sensitivity(step.sizes, group)),
        ("What is released", step.mechanism),
        *noise,
        ("Use of the budget", f"{step.times:,} × {step.spend}"),
        ("Why that is enough", step.law),
        ("Cost", step.cost),
    ]


def _sensitivity(sizes: dict[str, float], group: int) -> str:
    """The sensitivities to one row, and to all rows of one person."""
    group_text = f"times {group} for {group} rows of one person" if group > 1 else ""
    if not sizes:
        unknown_text = "Known when it is measured, by the same derivation"
        return f"{unknown_text}{', ' if group_text else ''}{group_text}. The noise follows it."
    row_terms = [f"{SIZES[name]} = {value:.6g}" for name, value in sizes.items()]
    if not group_text:
        return ", ".join(row_terms)
    group_terms = [f"{group} {SIZES[name]} = {group * value:.6g}" for name, value in sizes.items()]
    return f"{', '.join(row_terms)}, {group_text}: {', '.join(group_terms)}"


def _step(charge: Charge, plan: Plan, accounting: Accounting, holder: type, problem: Grouped) -> ProofStep:
    """The step of a proof for one charge of a plan; `holder` is the curator whose verb it is."""
    statistic, spend = charge.statistic, charge.spend
    kind = statistic if isinstance(statistic, type) else type(statistic)
    size_values = {name: getattr(statistic, name, None) for name in SIZES}  # of a class, what all of its kind have
    sizes = {name: float(value) for name, value in size_values.items() if isinstance(value, (int, float))}
    is_column_count = holder is ColumnCurator
    workload = getattr(statistic, "workload", None)
    relevant_names = [type(spend).__name__] + ["Exact"] * plan.exact
    relevant_names += (
        [type(w).__name__ for w in (workload, *(w for w, _ in workload.members))] if workload else WORKLOADS
    )
    charge_sums = Sums.of([(spend, charge.times)])
    return ProofStep(
        statistic=_plain(re.split(r"[:.]", _doc(kind))[0]),
        derivation=_told(_doc(kind), relevant_names),
        sizes=sizes,
        mechanism=_told(_doc(getattr(holder, _verb(charge))), relevant_names),
        spend=_spend(spend),
        law=_plain(_doc(type(spend))),
        times=charge.times,
        cost=_total(charge_sums, accounting),
        group=problem.group,
        noise=_noise(charge, sizes, problem, counts=is_column_count) if _verb(charge) in MEASURING else "",
        column=charge.name if is_column_count else "",
    )


def _noise(charge: Charge, sizes: dict[str, float], problem: Grouped, *, counts: bool) -> str:
    """The standard deviation of the noise of a measurement, with every number that it is made of, in words.

    Of counts it is in rows, else a share of the n rows. Where the sensitivity is not known yet, σ is a multiple of it.
    """
    spend, n, b = charge.spend, problem.n, problem.group
    row_factor = "" if counts else "n"
    row_text = "" if counts else f"{n:,} × "
    if isinstance(spend, SubsampledGaussian):
        clip, z, q = sizes.get("clip"), spend.noise_multiplier, spend.rate
        sensitivity_text = "C" if clip is None else f"{clip:.6g}"
        sigma = z / (q * n) * (1.0 if clip is None else clip)
        return (
            f"σ = zC/(qn) = {z:.6g} × {sensitivity_text}/({q:.6g} × {n:,}) = {sigma:.6g}{' C' if clip is None else ''}"
        )
    gaussian = isinstance(spend, Gaussian)
    size_name, symbol = ("l2", "μ") if gaussian else ("l1", "ε₀")
    amount = spend.mu if isinstance(spend, Gaussian) else spend.pure
    delta = sizes.get(size_name)
    sigma = (1.0 if gaussian else math.sqrt(2)) * b / (amount if counts else n * amount)
    formula = f"{'' if gaussian else '√2 '}b {SIZES[size_name]}/({row_factor}{symbol})"
    root_text = "" if gaussian else "√2 × "
    sensitivity_text = SIZES[size_name] if delta is None else f"{delta:.6g}"
    result = f"{sigma:.6g} {SIZES[size_name]}" if delta is None else f"{sigma * delta:.6g}"
    return (
        f"σ = {formula} = {root_text}{b} × {sensitivity_text}/({row_text}{amount:.6g}) = "
        f"{result}{' rows' if counts else ''}"
    )


def _verb(charge: Charge) -> str:
    """The curator's verb whose docstring derives a charge."""
    if isinstance(charge.spend, SubsampledGaussian):
        return "measure_sample"
    return {"draw": "draw_parameter"}.get(charge.verb, charge.verb)


def _spend(spend: Spend) -> str:
    """A spend with its parameters, in words."""
    parameters_text = ", ".join(f"{LETTERS[name]} = {value:.6g}" for name, value in asdict(spend).items() if value)
    return f"{NAMES[type(spend)]}, {parameters_text}"


def _total(sums: Sums, accounting: Accounting) -> str:
    """What costs sum up to by an accounting, in words."""
    failure = f", and δ = {sums.failure:.3g} for failures" if sums.failure else ""
    if accounting is not Accounting.OPTIMAL:
        symbol, cost = sums.cost(accounting)
        return (f"{cost:g} {symbol}" if accounting is Accounting.PLD else f"Σ {symbol} = {cost:.6g}") + failure
    joint = sums.joint
    parts = [] if joint is None or not joint.mu_squared else [f"Σ μ² = {joint.mu_squared:.6g}"]
    if joint is not None and joint.pures:
        parts.append(f"{joint.pures:,} releases of ε₀ ≤ {joint.pure:.6g}")
    if joint is not None and joint.draws:
        parts.append(f"{joint.draws:,} draws of range ≤ {joint.span:.6g}")
    return " and ".join(parts) + failure


def _theorem(accounting: Accounting) -> str:
    """The theorem by which costs add up, from the docstring of what computes it."""
    if accounting is Accounting.PURE:
        return "The ε of releases add up, however they are chosen. Source: Dwork, McSherry, Nissim, Smith 2006."
    proved = {
        Accounting.GDP: conversions.gdp_log_delta,
        Accounting.ZCDP: conversions.zcdp_epsilon,
        Accounting.OPTIMAL: composition,
        Accounting.PLD: conversions.subsampled_epsilon,
    }
    return _plain(_doc(proved[accounting]))


def _doc(thing: Any) -> str:
    """The docstring of a thing; "" where it has none."""
    return inspect.getdoc(thing) or ""


def _told(words: str, kept: Sequence[str]) -> str:
    """A docstring without the paragraphs and items that begin with the name of a spend or workload not `kept`."""
    relevant_text = ""
    for part in re.split(r"(?=\n\n|\n- )", words):
        name_match = re.match(r"(?:\n\n|\n- )(\w+)(?:\([^)]*\)|, [^:]*)?: ", part)
        if name_match is None or name_match[1] not in (*SPENDS, *WORKLOADS):
            relevant_text += part
        elif name_match[1] in kept:
            relevant_text += part if name_match[1] in WORKLOADS else f"\n\n{part[name_match.end() :]}"
    return _plain(relevant_text)


def _plain(words: str) -> str:
    """A docstring without array shapes, raised errors and code names."""
    words = re.sub(r"\s*Raises\s[^.]*(?:\.(?=\S)[^.]*)*\.|\s*\(`[^`]*`\)| \([a-z]+,( [a-z])?\)", "", words)
    return words.replace("`", "").strip()


def _paragraphs(words: str) -> list[tuple[str, list[str]]]:
    """The paragraphs of a docstring: of each the text before its list, and the items of that list."""
    split_parts = (re.split(r"(?:^|\n)\s*- ", part) for part in words.split("\n\n"))
    return [(first.strip(), items) for first, *items in split_parts]


def _typeset(words: str) -> Markup:
    """A text as HTML, escaped and in <bdi>, in which _ and ^ make subscripts and superscripts."""
    marked = re.sub(r"_(?:\{([^{}]*)\}|([^\W_]+'?))", r"<sub>\1\2</sub>", f"<bdi>{escape(words)}</bdi>")
    return Markup(re.sub(r"\^(?:\{([^{}]*)\}|\(([^()]*)\)|([−-]?(?:∞|[^\W_]+)\*?))", r"<sup>\1\2\3</sup>", marked))
