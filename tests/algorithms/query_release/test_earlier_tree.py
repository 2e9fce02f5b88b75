"""Provisional errors on the tree of the run before: near, quick, within the budget, and never part
of what a run releases.
"""

import pickle
from pathlib import Path

import numpy as np

import dpcore.release
from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run
from dpcore.algorithms.query_release import maximum_entropy
from dpcore.algorithms.query_release.shared import earlier_tree, tree_measurement
from dpcore.evaluation.sweeps import worker_pool
from dpcore.evaluation.sweeps.worker_pool import JobSpec
from tests.small_problems import equal_columns_domain, module_fixture, seeded

DOMAIN = equal_columns_domain(8, 4)
CODES = np.cumsum(seeded(0).integers(-1, 2, (4_000, 8)), axis=1).clip(-1, 2) + 1
ROWS = DOMAIN.group_rows(CODES)
PROBLEM = QueryRelease(Marginals.all(DOMAIN, 2), ROWS.n)
ALGORITHM = ALGORITHMS["gaussian_maxent"](cells=2_000)
BUDGET = Budget(0.5, 1e-6)


def provisional_errors(earlier, algorithm=ALGORITHM, problem=PROBLEM, rows=ROWS, seed=0):
    """The provisional errors of a run, on an earlier run's tree."""
    return Run(algorithm, problem, rows, BUDGET, seed=seed).provisional_errors(rows, earlier)


@module_fixture
def earlier(others):
    return Run(ALGORITHM, PROBLEM, ROWS, Budget(1.0, 1e-6)).finish().tree_fit


def test_provisional_errors_are_near_those_of_the_run(earlier):
    errors = provisional_errors(earlier)
    run = Run(ALGORITHM, PROBLEM, ROWS, BUDGET).finish()
    final = run.convergence[-1].empirical
    assert errors is not None
    assert 0.5 < errors.misplaced / final.misplaced < 2
    assert errors == provisional_errors(earlier)


def test_the_potentials_that_an_earlier_run_left_are_used_and_stay_as_they_are(earlier):
    before = {key: table.copy() for key, table in earlier.potentials.items()}
    warm = provisional_errors(earlier)
    assert all((earlier.potentials[key] == table).all() for key, table in before.items())
    nothing = {key: 0 * table for key, table in before.items()}
    tree_alone = earlier_tree.TreeFit(earlier.junction, nothing)
    cold = provisional_errors(tree_alone)
    assert warm != cold


def test_no_tree_is_searched_and_no_iteration_is_made_that_is_not_needed(earlier, monkeypatch):
    def refuse(*_args):
        raise AssertionError

    iterations = []
    staged_fit = earlier_tree.staged_fit

    def count_iterations(*args, **options):
        for iterate in staged_fit(*args, **options):
            iterations.append(iterate)
            yield iterate

    monkeypatch.setattr(tree_measurement, "choose_tree", refuse)
    monkeypatch.setattr(maximum_entropy, "staged_fit", refuse)
    monkeypatch.setattr(earlier_tree, "staged_fit", count_iterations)
    assert provisional_errors(earlier)
    assert len(iterations) <= 2 * earlier_tree.ITERATIONS_RANGE[1]


def test_a_large_tree_is_fitted_in_few_iterations():
    cells = (1, 400_000, 2_000_000, 10_000_000)
    assert [*map(earlier_tree.provisional_iterations, cells)] == [30, 30, 17, 8]


def test_there_is_nothing_provisional_of_another_problem(earlier):
    listed = ALGORITHMS["gaussian_maxent"]()
    assert provisional_errors(earlier, listed) is None
    small = ALGORITHMS["gaussian_maxent"](cells=earlier.junction.cells // 2)
    assert provisional_errors(earlier, small), "as at a smaller ε"
    small = ALGORITHMS["gaussian_maxent"](cells=earlier.junction.cells // 5)
    assert provisional_errors(earlier, small) is None
    other = ALGORITHMS["aim"]()
    assert provisional_errors(earlier, other) is None
    fewer = QueryRelease(Marginals.all(DOMAIN.project(DOMAIN.names[:7]), 2), ROWS.n)
    rows = fewer.domain.group_rows(CODES[:, :7])
    assert provisional_errors(earlier, ALGORITHM, fewer, rows) is None


class Pipe:
    """A pipe that keeps what is sent."""

    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)

    def poll(self):
        return False


def messages(**more):
    """What a worker sends of a job, by its kind."""
    pipe = Pipe()
    spec = JobSpec(
        algorithm=ALGORITHM, problem=PROBLEM, budget=BUDGET, seeds=(3,), block=None, **more
    )
    assert worker_pool._run_all_seeds(spec, ROWS, pipe) == "done"
    return pipe.sent


def test_a_run_finds_the_same_after_provisional_errors_and_without(earlier):
    _, first, *sent = messages(earlier=earlier, returns_tree_fit=True)
    assert first == (
        "provisional",
        provisional_errors(earlier, seed=3),
    )
    plain = messages()
    assert "provisional" not in dict(plain)
    result = dict(sent)["result"]
    expected = dict(plain)["result"]
    assert (result.release.beliefs == expected.release.beliefs).all()
    assert result.summary.query_errors == expected.summary.query_errors
    assert result.tree_fit.junction == result.release.junction
    sent_on = pickle.loads(pickle.dumps(result.tree_fit))  # to the page, and to another worker
    assert provisional_errors(sent_on) == provisional_errors(result.tree_fit)
    assert expected.tree_fit is None


def test_no_release_knows_what_was_explored_before():
    texts = [
        path.read_text(encoding="utf-8") for path in Path(dpcore.release.__path__[0]).rglob("*.py")
    ]
    assert texts
    assert not [text for text in texts if "tree_fit" in text or "provisional_errors" in text]
