"""A public start of the histogram algorithms: empty cells stay empty, and a good start helps where ε is small."""

import numpy as np
import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.evaluation.run import Run
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from tests.helpers import QUERIES, histogram, serves, task, variants

HISTOGRAMS = [name for name, cls in QUERIES.items() if cls.graphical]
BUDGETS = [Budget(0.5, 1e-6), Budget(0.5, 0)]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(("name", "settings"), [variant for variant in variants() if variant[0] in HISTOGRAMS])
def test_cells_outside_the_support_stay_empty_at_every_step(name, settings, budget):
    if not serves(name, settings, "3-way of 4", budget):
        return
    problem, rows = task("3-way of 4")
    start = histogram(problem.domain, rows) * (np.arange(problem.domain.size) % 3 > 0)
    start /= start.sum()
    problem = QueryRelease(problem.workload, problem.n, start=start)
    run = Run(build(ALGORITHMS[name], settings), problem, rows, budget)
    for _ in run:
        D = run.release.D
        assert (D[start == 0] == 0).all()
        assert (D >= 0).all()
        assert D.sum() == pytest.approx(1, abs=1e-9)
