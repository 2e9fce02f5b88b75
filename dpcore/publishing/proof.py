"""The proof of a plan's promise, written down from the plan and the docstrings of what it uses.

Statistic → sensitivity → charge → total: each derivation stands beside the code that relies on it, and is quoted here,
so that a proof cannot speak of another program than the one that runs.
"""

import inspect
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..algorithms import registered_name
from ..algorithms.base import Algorithm
from ..numbers import brief
from ..privacy.accounting import composition, conversions
from ..privacy.accounting.budget import Accounting, Gaussian, Spend, SubsampledGaussian, Sums
from ..privacy.accounting.ledger import Charge, Plan
from ..privacy.accounting.lifetime import Concentrated
from ..privacy.column_curator import ColumnCurator
from ..privacy.curators import CURATORS
from ..schemas.plan import Division, whole
from .measured import SettledRelease
from .printing import page, text
from .request import PreparedRelease

SIZES = {"l1": "Δ₁", "l2": "Δ₂", "sensitivity": "Δ", "clip": "C"}
LETTERS = {"mu": "μ", "epsilon": "ε₀", "failure": "δ₀", "noise_multiplier": "z", "rate": "q", "rho": "ρ"}


@dataclass(frozen=True)
class Step:
    """What one charge of a plan pays for, in the order of the proof: names in words, derivations as they were written.

    `sizes` are the sensitivities of n times the value, where they are known before the run; `cost` is what all `times`
    of it add to the plan's one sum, as text. `column` is the one whose schema is measured by it.
    """

    statistic: str
    derivation: str
    sizes: dict[str, float]
    verb: str
    mechanism: str
    spend: str
    law: str
    times: int
    cost: str
    column: str = ""


@dataclass(frozen=True)
class Proof:
    """All steps, what they add up to, by which theorem, and the promise that it keeps."""

    algorithm: str
    source: str
    adaptive: bool
    steps: tuple[Step, ...]
    total: str
    theorem: str
    epsilon: float
    promise: tuple[float, float]


def proof(name: str, algorithm: Algorithm | type[Algorithm], plan: Plan) -> Proof:
    """The proof of a plan of the algorithm that is registered under `name`."""
    sums, accounting, budget = plan.sums, plan.accounting, plan.budget
    epsilon = sums.epsilon(budget.delta, accounting)
    return Proof(
        algorithm=name,
        source=algorithm.about.source,
        adaptive=algorithm.adaptive,
        steps=tuple(_step(charge, plan, accounting, CURATORS[algorithm.problem]) for charge in plan.charges),
        total=_total(sums, accounting),
        theorem=_theorem(accounting),
        epsilon=epsilon,
        promise=(budget.epsilon, budget.delta),
    )


def proof_of(ready: PreparedRelease) -> Proof:
    """The proof of a release: of its schema's charges too, where that was measured with it, in one sum with the plan's.

    The total is what the ledger's check of both adds up: all that the algorithm may ever spend.
    """
    algorithm = ready.request.algorithm
    name = registered_name(algorithm)
    if not isinstance(ready, SettledRelease):
        return proof(name, algorithm, ready.plan)
    return joint_proof(name, algorithm, ready.plan, ready.measuring, ready.division)


def joint_proof(name: str, algorithm: Algorithm, plan: Plan, first: Plan, division: Division) -> Proof:
    """The proof of a schema's plan, whose charges are named after their columns, and of an algorithm's plan."""
    own, accounting, budget = proof(name, algorithm, plan), division.accounting, division.budget
    cost, failure, epsilon = whole(division, first, plan, algorithm.adaptive)
    pure = accounting is Accounting.PURE
    return replace(
        own,
        steps=(
            *(_step(charge, first, accounting, ColumnCurator, charge.name) for charge in first.charges),
            *(_step(charge, plan, accounting, CURATORS[algorithm.problem]) for charge in plan.charges),
        ),
        total=_total(Sums(pure=cost) if pure else Sums(rho=cost, failure=failure), accounting),
        theorem=_theorem(accounting),
        epsilon=epsilon,
        promise=(budget.epsilon, budget.delta),
    )


def sentence(found: Proof) -> str:
    """What the steps add up to, in one line."""
    epsilon, delta = found.promise
    most = "At the most, however it decides as it goes along" if found.adaptive else "In all"
    return f"{most}: {found.total}, that is ε = {found.epsilon:.6g} ≤ {epsilon:g} at δ = {brief(delta)}."


def proof_page(found: Proof) -> str:
    """The proof as a page (HTML) to print."""
    body = [f'<p class="odds">{text(sentence(found))}</p><p>{text(found.algorithm)}: {text(found.source)}</p>']
    for number, step in enumerate(found.steps, start=1):
        rows = "".join(f'<tr><th scope="row">{text(k)}</th><td>{_prose(v)}</td></tr>' for k, v in told(step))
        where = f" of column {text(step.column)}, for the schema" if step.column else ""
        body.append(f"<h2>{number}. {text(step.statistic)}{where}, {step.times:,} ×</h2><table>{rows}</table>")
    body.append(f"<h2>Total</h2><table><tr><th>{text(found.total)}</th><td>{_prose(found.theorem)}</td></tr></table>")
    return page(f"Why {found.algorithm} keeps its promise", "".join(body))


def told(step: Step) -> list[tuple[str, str]]:
    """The lines of a step, by name: statistic, sensitivity, mechanism, charge and what it costs."""
    sizes = ", ".join(f"{SIZES[name]} = {value:.6g}" for name, value in step.sizes.items())
    return [
        ("statistic", step.derivation),
        ("sensitivity", sizes or "known when it is asked, by the same derivation; the noise follows it"),
        ("mechanism", step.mechanism),
        ("charge", f"{step.times:,} × {step.spend}"),
        ("its law", step.law),
        ("adds", step.cost),
    ]


def _step(charge: Charge, plan: Plan, accounting: Accounting, holder: type, column: str = "") -> Step:
    statistic, spend = charge.statistic, charge.spend
    kind = statistic if isinstance(statistic, type) else type(statistic)
    named = {} if isinstance(statistic, type) else {name: getattr(statistic, name, None) for name in SIZES}
    exactly = plan.exact and isinstance(spend, Gaussian)
    law = _doc(Concentrated if exactly else type(spend))
    each = Sums.of([(spend, charge.times)])
    return Step(
        statistic=kind.__name__,
        derivation=_doc(kind),
        sizes={name: float(value) for name, value in named.items() if isinstance(value, (int, float))},
        verb=charge.verb,
        mechanism=_doc(getattr(holder, _verb(charge))),
        spend=_spend(spend) + (f", as ρ = {spend.rho:.6g} of discrete noise" if exactly else ""),
        law=law,
        times=charge.times,
        cost=_total(each, accounting),
        column=column,
    )


def _verb(charge: Charge) -> str:
    if isinstance(charge.spend, SubsampledGaussian):
        return "measure_sample"
    return {"draw": "draw_parameter"}.get(charge.verb, charge.verb)


def _spend(spend: Spend) -> str:
    said = ", ".join(f"{LETTERS[name]} = {value:.6g}" for name, value in asdict(spend).items() if value)
    return f"{type(spend).__name__}({said})"


def _total(sums: Sums, accounting: Accounting) -> str:
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
    if accounting is Accounting.PURE:
        return "The ε of releases add up, however they are chosen. Source: Dwork, McSherry, Nissim, Smith 2006."
    proved = {
        Accounting.GDP: conversions.gdp_log_delta,
        Accounting.ZCDP: conversions.zcdp_epsilon,
        Accounting.OPTIMAL: composition,
        Accounting.PLD: conversions.subsampled_epsilon,
    }
    return _doc(proved[accounting])


def _doc(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def _prose(words: str) -> str:
    """A docstring as paragraphs and lists."""
    return "".join(map(_paragraph, words.split("\n\n")))


def _paragraph(words: str) -> str:
    first, *items = re.split(r"(?:^|\n)\s*- ", words)
    listed = "".join(f"<li>{text(item)}</li>" for item in items)
    return (f"<p>{text(first)}</p>" if first.strip() else "") + (f"<ul>{listed}</ul>" if listed else "")
