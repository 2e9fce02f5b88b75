"""The one draw of a release, with noise that cannot be seeded: its released object, its rows, its measurements."""

import math
from collections import Counter
from collections.abc import Callable

import pandas as pd

from ..core.errors import BudgetError, InputError
from ..core.types import frozen, unwatched
from ..models.releases import Release, UnbiasedAnswers
from ..privacy import entropy
from ..privacy.accounting import Gaussian
from ..privacy.curators.curator import Curator
from ..privacy.curators.curator_of_problem import curator_of
from ..privacy.measurement import MeasuredAnswers
from .ledger.noise_key import NoiseKey
from .preparation import PreparedRelease, SettledRelease

FLOATING = "floating-point noise ({}); the proof is about real numbers, and the rounding of floats may reveal more"
EXACT = "exact {} on {} (without rounding, by {})"

Progress = Callable[[int, int], None]  # receives the round and the number of rounds


@frozen
class Drawing:
    """The last released object, synthetic rows (None for answers that have no distribution), and the measurements.

    `noise` says in words which noise was drawn exactly and which in floating point.
    """

    release: Release
    rows: pd.DataFrame | None
    measurements: list[MeasuredAnswers]
    noise: str


def draw(ready: PreparedRelease, key: NoiseKey, progress: Progress = unwatched) -> Drawing:
    """Draw a release that was charged; `progress` is called with 0, then with every round.

    No generator can be guessed from what it drew; with the same key the very same is drawn again.
    Raises BudgetError where the algorithm did not keep to its plan.
    """
    noise_rng, choice_rng, row_rng = (key.generator(purpose) for purpose in ("noise", "choices", "rows"))
    problem, plan, algorithm = ready.problem, ready.plan, ready.request.algorithm
    curator = curator_of(problem, ready.rows, plan, noise_rng)
    release = None
    progress(0, plan["rounds"])
    for step in algorithm.steps(problem, plan, curator, choice_rng):
        release = step.release
        progress(step.t, plan["rounds"])
    if release is None:
        raise InputError("the algorithm released nothing")
    if not algorithm.adaptive:
        allowed_events: Counter[object] = Counter()
        for charge in plan.charges:
            allowed_events[charge.spend] += charge.times
        if Counter[object](spend for _, spend in curator.ledger.events) - allowed_events:
            raise BudgetError("the algorithm did not keep to its plan; nothing leaves")
    if ready.request.budget.delta == 0 and len(curator.ledger.events) > curator.exactly.total():
        raise BudgetError("noise in floating point keeps no promise at delta=0; nothing leaves")
    noise_words, rows = _noise(curator), None
    if isinstance(ready, SettledRelease):
        noise_words += f"; that of the schema: {_schema_noise(ready)}"
    try:
        rows = release.sample(ready.request.rows or problem.n, row_rng)
    except InputError:
        if not isinstance(release, UnbiasedAnswers):
            raise
    return Drawing(release, rows, curator.measured, noise_words)


def _noise(curator: Curator) -> str:
    """A text that says which noise was drawn exactly and which in floating point."""
    exact_counts, sentences = curator.exactly, []
    noise_target = "counts"
    if curator.step < 1:
        noise_target = (
            f"queries rounded to multiples of 2^{math.log2(curator.step):.0f}, a public grid, which it covers"
        )
    if exact_counts:
        sentences.append(EXACT.format(" and ".join(sorted(exact_counts)), noise_target, entropy.NAME))
    if len(curator.ledger.events) > exact_counts.total():
        sentences.append(("the rest by " if exact_counts else "") + FLOATING.format(entropy.NAME))
    return "; ".join(sentences)


def _schema_noise(ready: SettledRelease) -> str:
    """A text that says what was drawn for the schema, exactly or in floating point."""
    if not ready.measuring.exact:
        return FLOATING.format(entropy.NAME)
    noise_names = {
        "Gaussian noise" if isinstance(c.spend, Gaussian) else "Laplace noise" for c in ready.measuring.charges
    }
    return EXACT.format(" and ".join(sorted(noise_names)), "counts", entropy.NAME)
