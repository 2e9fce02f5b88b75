"""Draw a release once, with noise that cannot be seeded: release, synthetic rows, measurements."""

import math
from collections import Counter

import pandas as pd

from ..core.errors import BudgetError, InputError
from ..core.types import ProgressCallback, frozen, ignore_progress
from ..models.releases import Release, ReleasedParameter, UnbiasedAnswers
from ..models.synthetic_people import sample_table
from ..privacy import entropy
from ..privacy.accounting import Plan
from ..privacy.curators.curator import Curator
from ..privacy.curators.curator_of_problem import make_curator
from ..privacy.noisy_answers import NoisyAnswers
from .ledger.noise_key import NoiseKey
from .preparation import Prepared, PreparedLearning, PreparedRelease

FLOAT_NOISE_TEXT = (
    "floating-point noise ({}); the proof is about real numbers, and the rounding "
    "of floats may reveal more"
)
EXACT_NOISE_TEXT = "exact {} on {} (without rounding, by {})"


@frozen
class DrawnRelease:
    """The last released object, the synthetic rows and the measurements of a release.

    Synthetic rows are None for answers that have no distribution, and those of synthetic people
    where everyone counts once with totals of rows (`models.synthetic_people`). `noise` says in
    words which noise was drawn exactly and which in floating point.
    """

    release: Release
    rows: pd.DataFrame | None
    measurements: list[NoisyAnswers]
    noise: str


def draw_release(
    ready: PreparedRelease, key: NoiseKey, progress: ProgressCallback = ignore_progress
) -> DrawnRelease:
    """Draw a release that was charged; `progress` is called with 0, then with every round.

    No generator can be guessed from what it drew; with the same key the very same is drawn again.
    Raises BudgetError where the algorithm did not keep to its plan.
    """
    release, curator = _run_plan(ready, key, progress)
    noise_words = _noise_text(curator)
    rows = None
    if ready.schema_measurement is not None:
        noise_words += f"; that of the schema: {_schema_noise_text(ready.schema_measurement.plan)}"
    try:
        request = ready.request
        count = request.rows or ready.problem.n
        rows = sample_table(release, request.unit, count, key.generator("rows"))
    except InputError:
        if not isinstance(release, UnbiasedAnswers):
            raise
    return DrawnRelease(release, rows, curator.measured_answers, noise_words)


def draw_parameter(
    ready: PreparedLearning, key: NoiseKey, progress: ProgressCallback = ignore_progress
) -> tuple[ReleasedParameter, str]:
    """Draw what is learned, once it was charged; return it, and in words how it was drawn.

    Raises BudgetError where anything was drawn with rounding; all else as `draw_release`.
    """
    release, curator = _run_plan(ready, key, progress)
    exact_counts = curator.exact_draw_counts
    if len(curator.budget_meter.events) != exact_counts.total():
        raise BudgetError("what is learned was drawn in floating point; nothing leaves")
    if not isinstance(release, ReleasedParameter):
        raise InputError("the algorithm learned no numbers")
    noise_words = EXACT_NOISE_TEXT.format(
        " and ".join(sorted(exact_counts)), "a public grid", entropy.GENERATOR_NAME
    )
    return release, noise_words


def _run_plan(
    ready: Prepared, key: NoiseKey, progress: ProgressCallback
) -> tuple[Release, Curator]:
    """Return what an algorithm releases, and the curator that it asked.

    Raises BudgetError where the algorithm did not keep to its plan, or noise was rounded at δ = 0.
    """
    noise_rng = key.generator("noise")
    choice_rng = key.generator("choices")
    problem = ready.problem
    plan = ready.plan
    algorithm = ready.request.algorithm
    curator = make_curator(problem, ready.rows, plan, noise_rng)
    release = None
    progress(0, plan["rounds"])
    for step in algorithm.steps(problem, plan, curator, choice_rng):
        release = step.release
        progress(step.t, plan["rounds"])
    if release is None:
        raise InputError("the algorithm released nothing")
    if not algorithm.adaptive:
        allowed_events: Counter[object] = Counter()
        for charge in plan.planned_events:
            allowed_events[charge.spend] += charge.times
        if Counter[object](spend for _, spend in curator.budget_meter.events) - allowed_events:
            raise BudgetError("the algorithm did not keep to its plan; nothing leaves")
    if (
        ready.request.budget.delta == 0
        and len(curator.budget_meter.events) > curator.exact_draw_counts.total()
    ):
        raise BudgetError("noise in floating point keeps no promise at delta=0; nothing leaves")
    return release, curator


def _noise_text(curator: Curator) -> str:
    """Return a text saying which noise was drawn exactly and which in floating point."""
    exact_counts = curator.exact_draw_counts
    sentences = []
    noise_target = "counts"
    if curator.finest_grid_step < 1:
        noise_target = (
            "queries rounded to multiples of "
            f"2^{math.log2(curator.finest_grid_step):.0f}, a public grid, which it covers"
        )
    if exact_counts:
        sentences.append(
            EXACT_NOISE_TEXT.format(
                " and ".join(sorted(exact_counts)), noise_target, entropy.GENERATOR_NAME
            )
        )
    if len(curator.budget_meter.events) > exact_counts.total():
        sentences.append(
            ("the rest by " if exact_counts else "")
            + FLOAT_NOISE_TEXT.format(entropy.GENERATOR_NAME)
        )
    return "; ".join(sentences)


def _schema_noise_text(plan: Plan) -> str:
    """Return a text saying what was drawn for the schema, exactly or in floating point."""
    if not plan.exact:
        return FLOAT_NOISE_TEXT.format(entropy.GENERATOR_NAME)
    noise_names = {
        "Laplace noise" if c.spend.has_laplace_noise else "Gaussian noise"
        for c in plan.planned_events
    }
    return EXACT_NOISE_TEXT.format(
        " and ".join(sorted(noise_names)), "counts", entropy.GENERATOR_NAME
    )
