"""A run's records: what was spent up to each of them, and errors against the table and against the
population.
"""

from dataclasses import replace

from dpcore import ALGORITHMS, Run
from tests.small_problems import BUDGET, approx, wide_query_problem


def test_of_very_many_tables_some_are_compared_after_a_step_and_all_at_the_end(monkeypatch):
    problem, rows = wide_query_problem()
    algorithm = ALGORITHMS["gaussian_maxent"]()
    every = list(Run(algorithm, problem, rows, BUDGET))
    monkeypatch.setattr("dpcore.evaluation.truth.MAX_TABLES_PER_STEP", 100)
    run = Run(algorithm, problem, rows, BUDGET)
    seen = list(run)
    assert [record.t for record in seen] == [1, 2, 3, 4]
    assert seen[3].empirical == every[3].empirical
    for rough, whole in zip(seen[:3], every, strict=False):
        assert "errors of some of the tables" in rough.note
        assert rough.empirical.mean_l1 == approx(whole.empirical.mean_l1, rel=0.1)
        assert rough.empirical.max_error <= whole.empirical.max_error
    choices = [replace(c, value=9) if c.name == "rounds" else c for c in run.plan.settings]
    early = Run(algorithm, problem, rows, BUDGET, plan=replace(run.plan, settings=tuple(choices)))
    assert [record.t for record in early] == [1, 2, 3, 4, 4], (
        "an end that the plan did not foresee takes a second look"
    )
    assert [record.empirical for record in early.convergence] == [
        record.empirical for record in seen
    ]
    stopped = Run(algorithm, problem, rows, BUDGET, stop=lambda: True).finish()
    assert stopped.convergence[0].empirical == seen[0].empirical, "who stops does not wait"
