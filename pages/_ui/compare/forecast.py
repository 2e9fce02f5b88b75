"""How long a comparison will take, said before it is run."""

from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.forecasts import SAID, affordable, in_bytes, in_seconds
from dpcore.errors import InputError
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease

from ..jobs.pool import WORKERS
from ..shell.session import session


def say(of: Any, problem: QueryRelease, names: Iterable[str], budgets: Sequence[Budget], seeds: int) -> None:
    """Roughly the time and memory of all these runs, from public numbers, where they take more than a moment.

    `of` names the problem; what one kind of run takes is worked out once for it.
    """
    known: dict[tuple[str, Budget], tuple[float, float]] = session().memo("forecasts", of, dict)
    runs, seconds, size = 0, 0.0, 0.0
    for name in names:
        for budget in budgets:
            if (name, budget) not in known:
                known[name, budget] = _one(name, problem, budget)
            each, most = known[name, budget]
            runs, seconds, size = runs + seeds * (most > 0), seconds + seeds * each, max(size, most)
    if (seconds := seconds / min(WORKERS, max(runs, 1))) >= SAID:
        st.caption(
            f"Forecast: {in_seconds(seconds)} for all {runs} runs, {WORKERS} at a time, and {in_bytes(size)} of memory "
            "for the largest, roughly, from public numbers."
        )


def _one(name: str, problem: QueryRelease, budget: Budget) -> tuple[float, float]:
    """Seconds and bytes; none where the run is refused, which its dot will say."""
    try:
        return affordable(build(ALGORITHMS[name], {}), problem, budget)
    except InputError:
        return 0.0, 0.0
