"""The proof of a plan's promise, written down from the plan and the docstrings of what it uses.

Statistic → sensitivity → charge → total: each derivation stands beside the code that relies on it,
and is quoted here, so that a proof cannot speak of another program than the one that runs.
"""

import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from markupsafe import Markup, escape

from ...algorithms import Algorithm
from ...core.numbers import format_short_number
from ...core.types import value_object
from ...privacy.accounting import (
    Accountant,
    Approximate,
    BoundedRange,
    ComposedPlan,
    Gaussian,
    GdpAccountant,
    LossDistributionAccountant,
    OptimalAccountant,
    Plan,
    PlannedEvent,
    Pure,
    PureAccountant,
    Spend,
    SubsampledGaussian,
    ZcdpAccountant,
    composition,
    conversions,
)
from ...privacy.curators.column_curator import ColumnCurator
from ...privacy.curators.curator_of_problem import CURATOR_TYPES
from ...problems import BoundedContribution
from .printing import TEMPLATES, render_page

SENSITIVITY_SYMBOLS = {"l1": "Δ₁", "l2": "Δ₂", "sensitivity": "Δ", "clip": "C"}
SPEND_NAMES: dict[type, str] = {
    Gaussian: "Gaussian noise",
    Pure: "pure differential privacy",
    BoundedRange: "exponential mechanism",
    Approximate: "approximate differential privacy",
    SubsampledGaussian: "Gaussian noise on a random sample",
}
MAX_REPEATED_CHARS = 60  # characters of a derivation that is not repeated in a proof
SPEND_CLASS_NAMES = ("Exact", *(kind.__name__ for kind in SPEND_NAMES))
WORKLOAD_CLASS_NAMES = ("Marginals", "Explicit", "TableQueries", "Union")
MEASURING_VERBS = (
    "measure",
    "measure_sample",
    "count",
    "frequent",
)  # verbs that release a value with noise
PARAMETER_SYMBOLS = {
    "mu": "μ",
    "epsilon": "ε₀",
    "failure": "δ₀",
    "noise_multiplier": "z",
    "rate": "q",
    "rho": "ρ",
}


@value_object
class ProofStep:
    """One charge of a plan in the proof: statistic, derivation, mechanism, spend, law and cost.

    In words. `sizes` are the sensitivities of n times the value to one row, where they are known
    before the run, and `group` is how many rows one person has at most; `noise` is how large the
    noise is, as text, or "". `cost` is what all `times` of it add to the plan's one sum, as text.
    `column` is the one whose schema is measured by it.
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

    It is about a table of n `rows`, of which one person has `group` at the most; with `shared_rows`
    about n people, so many rows of whom at the most share one vote.
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
    shared_rows: int | None


def derive_proof(
    name: str,
    algorithm: Algorithm | type[Algorithm],
    plan: Plan,
    problem: BoundedContribution,
    composed_plan: ComposedPlan | None = None,
    *,
    shared_rows: int | None = None,
) -> Proof:
    """Return the proof for a plan of the algorithm registered under `name`.

    For the rows of this problem. Where the plan is the second of a `composed_plan`, after one that
    measures the schema, the charges of the first come first, named after columns, and the total is
    what the check of both adds up: all that may ever be spent. `shared_rows` is that of the privacy
    unit, for people who count once.
    """
    accountant = plan.accountant
    budget = plan.budget
    steps = []
    if composed_plan is not None:
        accountant = composed_plan.accountant
        budget = composed_plan.budget
        steps = [
            _proof_step(charge, composed_plan.first, type(accountant), ColumnCurator, problem)
            for charge in composed_plan.first.planned_events
        ]
    return Proof(
        algorithm=name,
        title=algorithm.about.title,
        source=algorithm.about.source,
        adaptive=algorithm.adaptive,
        steps=(
            *steps,
            *(
                _proof_step(c, plan, type(accountant), CURATOR_TYPES[algorithm.problem], problem)
                for c in plan.planned_events
            ),
        ),
        total=_total_text(accountant),
        theorem=_theorem_text(type(accountant)),
        epsilon=accountant.epsilon(budget.delta),
        promise=(budget.epsilon, budget.delta),
        rows=problem.n,
        group=problem.group,
        shared_rows=shared_rows,
    )


def total_sentence(whole_proof: Proof) -> str:
    """Return a sentence on the joint cost of a proof's steps, and the promise that it keeps."""
    epsilon, delta = whole_proof.promise
    opening = (
        "At the most, however it decides as it goes along" if whole_proof.adaptive else "In all"
    )
    return (
        f"{opening}: {whole_proof.total}, that is ε = {whole_proof.epsilon:.6g} ≤ {epsilon:g} "
        f"at δ = {format_short_number(delta)}."
    )


def proof_page(whole_proof: Proof) -> str:
    """Return the proof as a page (HTML) to print."""
    steps = []
    first_step_with = {}
    for number, step in enumerate(whole_proof.steps, start=1):
        lines = []
        for name, line_text in step_lines(step):
            earlier_step = first_step_with.setdefault(line_text, number)
            lines.append(
                (
                    name,
                    f"As in step {earlier_step}."
                    if earlier_step < number and len(line_text) > MAX_REPEATED_CHARS
                    else line_text,
                )
            )
        steps.append((step, lines))
    return render_page(
        TEMPLATES / "proof.html",
        proof=whole_proof,
        steps=steps,
        total=total_sentence(whole_proof),
        paragraphs=_paragraphs,
        typeset=_typeset,
    )


def step_lines(step: ProofStep) -> list[tuple[str, str]]:
    """Return a step's lines by name: statistic, sensitivity, released value and cost."""
    group = step.group
    noise = [("How large the noise is", step.noise)] if step.noise else []
    return [
        ("What is measured", step.derivation),
        ("Sensitivity", _sensitivity_text(step.sizes, group)),
        ("What is released", step.mechanism),
        *noise,
        ("Use of the budget", f"{step.times:,} × {step.spend}"),
        ("Why that is enough", step.law),
        ("Cost", step.cost),
    ]


def _sensitivity_text(sizes: dict[str, float], group: int) -> str:
    """Return a text on the sensitivities to one row, and to all rows of one person."""
    group_text = f"times {group} for {group} rows of one person" if group > 1 else ""
    if not sizes:
        unknown_text = "Known when it is measured, by the same derivation"
        return f"{unknown_text}{', ' if group_text else ''}{group_text}. The noise follows it."
    row_terms = [f"{SENSITIVITY_SYMBOLS[name]} = {value:.6g}" for name, value in sizes.items()]
    if not group_text:
        return ", ".join(row_terms)
    group_terms = [
        f"{group} {SENSITIVITY_SYMBOLS[name]} = {group * value:.6g}"
        for name, value in sizes.items()
    ]
    return f"{', '.join(row_terms)}, {group_text}: {', '.join(group_terms)}"


def _proof_step(
    charge: PlannedEvent,
    plan: Plan,
    accounting: type[Accountant],
    curator_class: type,
    problem: BoundedContribution,
) -> ProofStep:
    """Return the proof's step for one charge of a plan.

    `curator_class` is the curator whose verb it is.
    """
    statistic = charge.statistic
    spend = charge.spend
    kind = statistic if isinstance(statistic, type) else type(statistic)
    size_values = {
        name: getattr(statistic, name, None) for name in SENSITIVITY_SYMBOLS
    }  # of a class, what all of its kind have
    sizes = {
        name: float(value) for name, value in size_values.items() if isinstance(value, (int, float))
    }
    is_column_count = curator_class is ColumnCurator
    workload = getattr(statistic, "workload", None)
    relevant_names = [type(spend).__name__]
    if plan.exact:
        relevant_names.append("Exact")
    relevant_names += (
        [type(w).__name__ for w in (workload, *(w for w, _ in workload.parts))]
        if workload
        else WORKLOAD_CLASS_NAMES
    )
    return ProofStep(
        statistic=_plain_docstring(re.split(r"[:.]", _docstring(kind))[0]),
        derivation=_relevant_docstring(_docstring(kind), relevant_names),
        sizes=sizes,
        mechanism=_relevant_docstring(
            _docstring(getattr(curator_class, _curator_method_name(charge))), relevant_names
        ),
        spend=_spend_text(spend),
        law=_plain_docstring(_docstring(type(spend))),
        times=charge.times,
        cost=_total_text(accounting.of_events([(spend, charge.times)])),
        group=problem.group,
        noise=_noise_text(charge, sizes, problem, in_rows=is_column_count)
        if _curator_method_name(charge) in MEASURING_VERBS
        else "",
        column=charge.name if is_column_count else "",
    )


def _noise_text(
    charge: PlannedEvent, sizes: dict[str, float], problem: BoundedContribution, *, in_rows: bool
) -> str:
    """Return a measurement's noise standard deviation and all numbers that make it, in words.

    Of counts it is in rows, else a share of the n rows. Where the sensitivity is not known yet, σ
    is a multiple of it.
    """
    spend = charge.spend
    n = problem.n
    b = problem.group
    row_factor = "" if in_rows else "n"
    row_text = "" if in_rows else f"{n:,} × "
    if isinstance(spend, SubsampledGaussian):
        clip = sizes.get("clip")
        z = spend.noise_multiplier
        q = spend.rate
        sensitivity_text = "C" if clip is None else f"{clip:.6g}"
        sigma = z / (q * n) * (1.0 if clip is None else clip)
        return (
            f"σ = zC/(qn) = {z:.6g} × {sensitivity_text}/({q:.6g} × {n:,}) = "
            f"{sigma:.6g}{' C' if clip is None else ''}"
        )
    gaussian = isinstance(spend, Gaussian)
    size_name = "l2" if gaussian else "l1"
    symbol = "μ" if gaussian else "ε₀"
    amount = spend.mu if isinstance(spend, Gaussian) else spend.pure_epsilon
    delta = sizes.get(size_name)
    sigma = (1.0 if gaussian else math.sqrt(2)) * b / (amount if in_rows else n * amount)
    formula = (
        f"{'' if gaussian else '√2 '}b {SENSITIVITY_SYMBOLS[size_name]}/({row_factor}{symbol})"
    )
    root_text = "" if gaussian else "√2 × "
    sensitivity_text = SENSITIVITY_SYMBOLS[size_name] if delta is None else f"{delta:.6g}"
    result = (
        f"{sigma:.6g} {SENSITIVITY_SYMBOLS[size_name]}" if delta is None else f"{sigma * delta:.6g}"
    )
    return (
        f"σ = {formula} = {root_text}{b} × {sensitivity_text}/({row_text}{amount:.6g}) = "
        f"{result}{' rows' if in_rows else ''}"
    )


def _curator_method_name(charge: PlannedEvent) -> str:
    """Return the name of the curator's method whose docstring derives a charge."""
    if charge.spend.is_subsampled:
        return "measure_sample"
    return {"draw": "draw_parameter"}.get(charge.verb, charge.verb)


def _spend_text(spend: Spend) -> str:
    """Return a spend with its parameters, in words."""
    parameters_text = ", ".join(
        f"{PARAMETER_SYMBOLS[name]} = {value:.6g}" for name, value in asdict(spend).items() if value
    )
    return f"{SPEND_NAMES[type(spend)]}, {parameters_text}"


def _total_text(accountant: Accountant) -> str:
    """Return what costs sum up to by an accountant, in words."""
    failure = accountant.failure
    return accountant.sum_text + (f", and δ = {failure:.3g} for failures" if failure else "")


def _theorem_text(accounting: type[Accountant]) -> str:
    """Return the theorem by which costs add up, from the docstring of what computes it."""
    if accounting is PureAccountant:
        return (
            "The ε of releases add up, however they are chosen. Source: Dwork, McSherry, "
            "Nissim, Smith 2006."
        )
    proved = {
        GdpAccountant: conversions.gdp_log_delta,
        ZcdpAccountant: conversions.zcdp_epsilon,
        OptimalAccountant: composition,
        LossDistributionAccountant: conversions.subsampled_epsilon,
    }
    return _plain_docstring(_docstring(proved[accounting]))


def _docstring(documented: Any) -> str:
    """Return an object's docstring; "" where it has none."""
    return inspect.getdoc(documented) or ""


def _relevant_docstring(docstring: str, relevant_names: Sequence[str]) -> str:
    """Return a docstring without the parts on spends and workloads that do not matter here.

    Those are the paragraphs and items that begin with a name not among `relevant_names`.
    """
    relevant_text = ""
    for part in re.split(r"(?=\n\n|\n- )", docstring):
        name_match = re.match(r"(?:\n\n|\n- )(\w+)(?:\([^)]*\)|, [^:]*)?: ", part)
        if name_match is None or name_match[1] not in (*SPEND_CLASS_NAMES, *WORKLOAD_CLASS_NAMES):
            relevant_text += part
        elif name_match[1] in relevant_names:
            relevant_text += (
                part if name_match[1] in WORKLOAD_CLASS_NAMES else f"\n\n{part[name_match.end() :]}"
            )
    return _plain_docstring(relevant_text)


def _plain_docstring(docstring: str) -> str:
    """Return a docstring without array shapes, raised errors and code names."""
    docstring = re.sub(
        r"\s*Raises\s[^.]*(?:\.(?=\S)[^.]*)*\.|\s*\(`[^`]*`\)| \([a-z]+,( [a-z])?\)", "", docstring
    )
    return docstring.replace("`", "").strip()


def _paragraphs(docstring: str) -> list[tuple[str, list[str]]]:
    """Split a docstring into paragraphs: each the text before its list, and the list's items."""
    split_parts = (re.split(r"(?:^|\n)\s*- ", part) for part in docstring.split("\n\n"))
    return [(first.strip(), items) for first, *items in split_parts]


def _typeset(text: str) -> Markup:
    """Return a text as HTML, with subscripts for _ and superscripts for ^.

    It is escaped and in <bdi>.
    """
    marked = re.sub(
        r"_(?:\{([^{}]*)\}|([^\W_]+'?))", r"<sub>\1\2</sub>", f"<bdi>{escape(text)}</bdi>"
    )
    return Markup(
        re.sub(
            r"\^(?:\{([^{}]*)\}|\(([^()]*)\)|([−-]?(?:∞|[^\W_]+)\*?))", r"<sup>\1\2\3</sup>", marked
        )
    )
