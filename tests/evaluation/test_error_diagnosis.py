"""Where errors come from: the parts sum up, each is what it says, and baselines are what anybody
would compute.
"""

import math
import warnings

import numpy as np
import pandas as pd

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run, domain_from_json
from dpcore.core.errors import PrivacyWarning
from dpcore.core.provenance import Provenance
from dpcore.evaluation.error_diagnosis import (
    GroupComparison,
    baseline_errors,
    draw_rows,
    nearest_in_model,
    noiseless_setting,
    product_of_marginals,
    resample_rows,
    split_error_by_source,
    with_planned_parameters,
)
from dpcore.models.graphical_model import GraphicalModel
from dpcore.queries.questions import exact_question_share, parse_question
from tests.small_problems import (
    BUDGET,
    D324,
    QUERIES,
    all_tables,
    approx,
    categorical,
    domain_of,
    expect_error,
    histogram,
    integer,
    integer_domain,
    numeric,
    parametrize,
    query_problem,
    run_to_end,
    seeded,
)

P = seeded(1).dirichlet(np.ones(24))


def apart(run, rows, asked, *known, **also):
    """The waterfall of a finished run."""
    algorithm, budget = noiseless_setting(run.algorithm, run.problem, run.budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        best = Run(algorithm, run.problem, rows, budget, seed=run.seed).finish()
    return split_error_by_source(asked, rows, run.release, best.release, *known, **also)


def problem_and_rows(n=400):
    rows = draw_rows(D324, P, n, seeded(2))
    return all_tables(D324, n), rows


def test_drawing_from_a_population_comes_near_it_at_the_rate_of_sampling():
    rows = draw_rows(D324, P, 100_000, seeded(0))
    assert rows.n == 100_000
    assert np.abs(histogram(D324, rows) - P).max() < 4 * math.sqrt(0.25 / 100_000)
    again = resample_rows(rows, 50, seeded(0))
    assert again.n == 50
    assert (again.weights > 0).all()
    assert {tuple(v) for v in again.values} <= {tuple(v) for v in rows.values}


def test_baselines_are_what_they_say():
    problem, rows = problem_and_rows()
    found = baseline_errors(problem, rows, P)
    truth = problem.workload.answers(histogram(D324, rows))
    table = histogram(D324, rows).reshape(D324.shape)
    a = table.sum((1, 2))
    b = table.sum((0, 2))
    c = table.sum((0, 1))
    product = np.einsum("i,j,k->ijk", a, b, c).ravel()
    assert product_of_marginals(D324, rows) == approx(product)
    for name, D in (("uniform", np.full(24, 1 / 24)), ("independent", product), ("sampling", P)):
        assert found[name].errors.max_error == approx(
            np.abs(problem.workload.answers(D) - truth).max()
        )
    expected = math.sqrt(2 / math.pi) * np.sqrt(truth * (1 - truth) / problem.n).mean()
    assert found["resampling"].errors.mean_error == approx(expected, rel=0.15)
    assert {b.tag for b in found.values()} == {Provenance.REAL_DATA}
    assert "400" in found["resampling"].description


def test_what_needs_all_cells_or_a_population_is_left_out_without():
    domain = integer_domain(*[100] * 6)
    rows = domain.group_rows(seeded(0).integers(0, 100, (50, 6)))
    assert baseline_errors(all_tables(domain, 50, 1), rows).keys() == {"resampling"}


@parametrize("name", QUERIES)
def test_the_parts_sum_to_the_error_of_every_query(name):
    problem, rows = problem_and_rows()
    run = Run(ALGORITHMS[name](), problem, rows, BUDGET, population=P).finish()
    asked = Marginals.all(D324, 1)
    parts = apart(run, rows, asked, P)
    total = run.release.answers(asked) - asked.answers(P)
    assert sum(parts.parts.values()) == approx(total, abs=1e-12)
    assert list(parts.parts) == ["sampling", "binning", "model", "privacy"]
    assert parts.parts["sampling"] == approx(
        asked.answers_of_rows(rows) - asked.answers(P), abs=1e-15
    )
    assert (parts.parts["binning"] == 0).all()
    without = apart(run, rows, asked)
    assert list(without.parts) == ["binning", "model", "privacy"]
    assert without.reference == approx(asked.answers_of_rows(rows))


def test_the_models_part_is_what_remains_without_noise():
    problem, rows = problem_and_rows(2000)
    exact = run_to_end("gaussian_maxent", problem, rows, Budget(0.5, 1e-6))
    stiff = run_to_end("dpfw", problem, rows, Budget(0.5, 1e-6), rounds=12, alpha=2.0)
    parts = [apart(run, rows, problem.workload).parts for run in (exact, stiff)]
    assert np.abs(parts[0]["model"]).max() < 1e-3 < np.abs(parts[0]["privacy"]).max()
    assert np.abs(parts[1]["model"]).max() > 0.02, "a large α keeps D near uniform, noise or not"


def test_what_a_plan_settled_is_what_the_noiseless_twin_uses():
    problem, _ = query_problem("2-way")
    algorithm = ALGORITHMS["dpfw"](alpha=0.3)
    plan = algorithm.plan(problem, BUDGET)
    assert with_planned_parameters(algorithm, plan) == ALGORITHMS["dpfw"](
        alpha=0.3, rounds=plan["rounds"], cells=plan["cells"]
    )


BINNED = domain_of(
    {
        "age": integer(0, 99, bins=5, missing="category"),
        "pay": numeric(0.0, 10.0, 4, out_of_range="clip"),
        "sex": categorical("F", "M"),
    }
)
PEOPLE = pd.DataFrame(
    {
        "age": [3, 17, 18, 19, 25, 33, 60, 99, None, 40],
        "pay": [0.0, 2.6, 2.4, -5.0, 9.9, 70.0, 5.0, 5.1, 1.0, 7.5],
        "sex": list("FMFMFMFMFM"),
    }
)
QUESTIONS = {
    "age >= 18": 7,
    "age < 18": 2,
    "not age < 18": 8,
    "age is missing": 1,
    "age is not missing and sex = M": 5,
    "pay > 2.5": 6,
    "pay <= 0": 2,
    'pay = "[7.5, 10]"': 3,
    "sex = F and (pay between 2.4 and 5 or age in (3, 25))": 4,
    "sex != F and age not in (17, 19)": 3,
}


@parametrize("text, count", QUESTIONS.items())
def test_a_question_on_the_values_themselves_counts_rows(text, count):
    assert exact_question_share(text, BINNED, PEOPLE) == approx(count / 10)


def test_the_binning_part_is_the_answer_by_bins_minus_the_one_by_values():
    rows = BINNED.encode(PEOPLE)
    asked = parse_question("age >= 18", BINNED).workload
    for text in (
        "age between 20 and 39",
        "age is missing",
        "age >= 40 and sex = M",
    ):  # they cut no bin
        by_bins = parse_question(text, BINNED).workload.answers_of_rows(rows)
        assert by_bins[0] == approx(exact_question_share(text, BINNED, PEOPLE))
    run = run_to_end("gaussian_maxent", all_tables(BINNED, 10, 1), rows, Budget(1, 1e-3))
    parts = apart(
        run,
        rows,
        asked,
        unbinned_answers=np.array([exact_question_share("age >= 18", BINNED, PEOPLE)]),
    )
    by_bins = (4 * 2 / 20 + 5) / 10  # the bin 0..19 holds 4 rows, and 2 of its 20 numbers count
    assert parts.parts["binning"][0] == approx(by_bins - 0.7)
    assert parts.reference[0] == approx(0.7)
    assert sum(parts.parts.values())[0] == approx(run.release.answers(asked)[0] - 0.7)


def test_a_conclusion_compares_shares_within_groups():
    domain = domain_of(
        {
            "admitted": categorical("no", "yes"),
            "sex": categorical("F", "M"),
        }
    )
    asked = GroupComparison("sex", "M", "F", "admitted", "yes")
    table = asked.workload(domain)
    answers = table.answers(np.array([0.3, 0.2, 0.1, 0.4]))  # no F, no M, yes F, yes M
    assert asked.share_difference(domain, answers) == approx(0.4 / 0.6 - 0.1 / 0.4)
    assert math.isnan(asked.share_difference(domain, table.answers(np.array([0.5, 0.0, 0.5, 0.0]))))
    with expect_error("column 'sex' has no value 'X'; its values are F, M"):
        GroupComparison("sex", "X", "F", "admitted", "yes").workload(domain)
    with expect_error("only once"):
        GroupComparison("sex", "M", "F", "sex", "F").workload(domain)


def test_what_a_tree_cannot_hold_is_told_from_the_noise():
    domain = integer_domain(2, 2, 2)
    n = 4000
    a, b = seeded(0).integers(2, size=(2, n))
    rows = domain.group_rows(
        np.column_stack([a, b, a ^ b])
    )  # pairs know nothing of it, the triple everything
    problem = all_tables(domain, n)
    triple = Marginals.all(domain, 3)
    chain = Marginals(domain, ["ab", "bc"])
    run = run_to_end("gaussian_maxent", QueryRelease(chain, n), rows, cells=7)
    assert isinstance(run.release, GraphicalModel)
    assert len(run.release.junction.cliques) > 1
    found = apart(run, rows, triple)
    truth = triple.answers_of_rows(rows)
    assert sum(found.parts.values()) == approx(run.release.answers(triple) - truth, abs=1e-12)
    assert list(found.parts) == ["binning", "structure", "model", "privacy"]
    assert np.abs(found.parts["structure"]).min() > 0.1, (
        "1/8 in each cell, where the records have 1/4 or none"
    )
    assert np.abs(found.parts["model"]).max() < 1e-3
    assert 0 < np.abs(found.parts["privacy"]).max() < 0.02
    listed = run_to_end("gaussian_maxent", problem, rows)
    assert "structure" not in apart(listed, rows, triple).parts, "listed cells hold everything"


def test_records_that_constraints_call_impossible_are_what_the_model_cannot_hold():
    domain = domain_from_json(
        {
            "columns": {c: {"kind": "integer", "size": 3} for c in "ab"},
            "constraints": [{"order": ["a", "b"]}],
        }
    )
    rows = domain.group_rows(np.repeat(np.array([[2, 0], [0, 2], [1, 1]]), [100, 500, 400], axis=0))
    problem = all_tables(domain, rows.n)
    run = run_to_end("gaussian_maxent", problem, rows)
    found = apart(run, rows, problem.workload)
    structure = found.parts["structure"].reshape(3, 3)
    assert structure[2, 0] == approx(-0.1)
    assert structure[0, 2] == approx(0.5 / 0.9 - 0.5)
    assert sum(found.parts.values()) == approx(
        run.release.answers(problem.workload) - run.truth.answers
    )
    assert nearest_in_model(run.release, domain.group_rows(np.array([[0, 2], [1, 1]]))) is None
