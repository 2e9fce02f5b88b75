"""A run's records: what was spent up to each of them, and errors against the table and against the population."""

from dpcore.algorithms import ALGORITHMS
from dpcore.data.samples import census
from dpcore.evaluation.metrics import errors
from dpcore.evaluation.run import Run
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.workloads import Marginals


def test_every_record_has_what_the_ledger_held_then_and_both_errors_of_its_release():
    sample = census(1000)
    domain = sample.domain.project(("sex", "marital"))
    rows = domain.encode(sample.frame)
    population = sample.domain.marginal(sample.population, domain.names)
    problem = QueryRelease(Marginals.all(domain, 1), rows.n)
    run = Run(ALGORITHMS["mwem"](), problem, rows, Budget(1.0, 1e-6), population=population)
    spent = []
    for record in run:
        ledger = run._curator.ledger
        assert record.spent == ledger.spent
        spent.append(record.spent.epsilon)
        answers = run.release.answers(problem.workload)
        for found, truth, n in (
            (record.empirical, problem.workload.answers_of_rows(rows), rows.n),
            (record.population, problem.workload.answers(population), None),
        ):
            assert found == errors(answers, truth, problem.workload, n)
    assert len(set(spent)) >= 3, "it is charged as it goes"
    assert spent == sorted(spent)
