"""What Explore shows of a run until it has ended, when only ε was moved since the run before."""

from types import SimpleNamespace

from streamlit.testing.v1 import AppTest

from dpcore import ALGORITHMS, Budget
from dpcore.core.job import Job, JobState
from dpcore.evaluation.experiment import Experiment
from pages._ui.explore.explore_run import RunWithReplays

ALGORITHM = ALGORITHMS["gaussian_maxent"]()


def experiment(task="pairs", epsilon=1.0, algorithm=ALGORITHM):
    return Experiment(task=task, algorithm=algorithm, budget=Budget(epsilon, 1e-9))


def runs_after(rows, result, state=JobState.DONE):
    """The runs of a tab whose first run has ended so."""
    runs = RunWithReplays(first_run=SimpleNamespace(rows=rows))
    job = Job(task=None)
    job.results.append(result)
    job.end(state)
    runs.group.jobs = [job]
    runs.group.requested = (rows, experiment(), None)
    runs.keep_tree_fit()
    return runs


def test_the_tree_of_the_run_before_is_for_the_same_rows_and_questions_only():
    rows = object()
    runs = runs_after(rows, SimpleNamespace(tree_fit="tree"))
    assert runs.tree_fit_of(rows, experiment(epsilon=0.5)) == "tree"
    assert runs.tree_fit_of(object(), experiment()) is None
    assert runs.tree_fit_of(rows, experiment(task="others")) is None
    coarser = ALGORITHMS["gaussian_maxent"](cells=1000)
    assert runs.tree_fit_of(rows, experiment(algorithm=coarser)) is None
    runs.group.jobs = []
    runs.close()
    assert runs.tree_fit_of(rows, experiment()) is None, "nothing of a table stays"


def test_a_run_that_was_stopped_or_chose_no_tree_leaves_the_tree_before():
    rows = object()
    runs = runs_after(rows, SimpleNamespace(tree_fit="tree"), JobState.CANCELLED)
    assert runs.tree_fit is None
    runs = runs_after(rows, SimpleNamespace(tree_fit=None))
    assert runs.tree_fit is None


def page_of_a_run():
    import numpy as np

    from dpcore import Marginals, QueryRelease, domain_from_json
    from dpcore.evaluation.metrics import compute_errors
    from pages._ui.explore.explore_run import _draw_provisional_errors

    domain = domain_from_json({"a": 2, "b": 2})
    workload = Marginals.all(domain, 2)
    answers = workload.answers(np.full(4, 0.25))
    errors = compute_errors(answers, answers * [0.5, 1, 1, 1.5], workload)
    _draw_provisional_errors(errors, QueryRelease(workload, 1000))


def test_provisional_errors_say_that_they_are_so():
    tester = AppTest.from_function(page_of_a_run).run()
    assert not tester.exception
    texts = [element.value for element in tester.markdown]
    assert len([text for text in texts if "so far" in text]) == 2
    (caption,) = [element.value for element in tester.caption]
    assert caption.startswith("So far")
    assert "replaces these numbers" in caption
