"""The Learning page, headless: what its charts say is what the library says."""

import shlex
from contextlib import chdir
from dataclasses import replace

import numpy as np
import pandas as pd

from dpcore import Budget, read_json
from dpcore.core.provenance import Provenance
from dpcore.evaluation.output_laws import line_law
from dpcore.evaluation.sweeps.sweep import PointKey
from dpcore.privacy.accounting.data_set_total import LifetimeBudget, ZcdpAccountant
from dpcore.problems.parse_tasks import read_task, task_text
from dpcore.release.evidence import verifier
from pages._ui.components.parameter_widgets import DEFAULT_TOTAL_BUDGET
from pages._ui.learning import learning_runs
from pages._ui.learning import quantile as learning
from pages._ui.learning.learning_release import (
    INVENTED_ROWS_TEXT,
    PREDICTION,
    VALUE,
    LearnedTask,
    plan_release,
)
from pages._ui.session import Table, sample_table
from tests import make_assets
from tests.pages.headless import (
    caption_text,
    click_and_wait,
    figure_traces,
    figures,
    heading,
    markdown_text,
    open_code,
    open_page,
    plotly_numbers,
    run_script,
    run_until_settled,
    session,
    set_fields,
    table,
    unescape_markdown,
)
from tests.small_problems import (
    BUDGET,
    approx,
    categorical,
    domain_of,
    expect_error,
    final_errors,
    integer,
    numeric,
    parametrize,
    run_command,
    run_to_end,
    write_json,
)

PARTS = list(learning.PARTS)


def opened(**query):
    return open_page("learning", **{name.replace("_", "-"): value for name, value in query.items()})


def median_age():
    """What the page asks when it opens, and of which records."""
    table = sample_table("census")
    return read_task("quantile:age:0.5", table.domain, table.frame)


def plain(values):
    return np.array(plotly_numbers(values))


def experts(app, part="Other methods"):
    app.session_state["learning-experts"] = True
    app.session_state["line-part"] = part
    return run_until_settled(app.run())


def test_one_column_asks_a_question_in_words_shows_the_exact_law_and_follows_the_sliders(tmp_path):
    app = opened()
    law = figure_traces(app)[0]
    x = plain(law["x"])
    y = plain(law["y"])
    assert (y * (x[1] - x[0])).sum() == approx(1, abs=1e-3)
    problem, rows = median_age()
    assert y == approx(line_law(problem, rows, Budget(1, 1e-9)).density)
    price, now = figure_traces(app, 1)
    _, off = plotly_numbers(now["x"] + now["y"])
    assert y[abs(x - 42) <= off].sum() / y.sum() == approx(0.9, abs=2e-3)
    assert (
        heading(app)
        == f"Protected median age: within {off:.3g} years of the real one, 9 times in 10"
    )
    costs = dict(zip(plotly_numbers(price["x"]), plotly_numbers(price["y"]), strict=True))
    assert costs[1] == off
    assert heading(app, 1) == f"Within {costs[0.1]:.2g} years at ε = 0.1, {costs[3]:.2g} at 3"
    assert "real, seen only here: 42" in str(figures(app)[0]["layout"])
    assert f"saying “42.5, give or take {off:.2g} years”." in unescape_markdown(markdown_text(app))
    assert "**guesses right at most 54 times in 100**" in markdown_text(app), "as on other pages"
    assert "would use all of ε = 1." in caption_text(app)
    set_fields(app, factor=3.0)
    (shown,) = plotly_numbers(figure_traces(app, 1)[1]["y"])
    script = run_script(open_code(app), tmp_path)
    assert script["law"].radius_of_90_percent == shown
    assert script["run"].plan["mu"] == script["law"].mu
    set_fields(app, factor=1.0)
    set_fields(app, line_stages=3)
    assert "(after 3 steps, by quadrature over the draw before)" in caption_text(app)
    assert np.ptp(plain(figure_traces(app)[0]["x"])) < np.ptp(x) / 2
    set_fields(app, line_stages=1, epsilon=0.1)
    assert np.ptp(plain(figure_traces(app)[0]["x"])) > 2 * np.ptp(x)
    set_fields(app, level=0.9)
    assert "real, seen only here: 6" in str(figures(app)[0]["layout"]), "the 90% quantile of ages"
    released = release_by_command(app, tmp_path)
    assert released["learned"]["task"] == "quantile:age:0.9"
    assert released["promise"]["epsilon"] == 0.1
    assert "Uses ε = 0.1 at δ = 1e-9, permanently" in markdown_text(app)
    guess = 100 * released["promise"]["means"]["guess"]
    assert f"**guesses right at most {np.ceil(guess):.0f} times in 100**" in markdown_text(app)
    set_fields(app, learn_column="hours")
    assert "Protected value with 90% of hours below it: within " in heading(app)
    set_fields(app, part=PARTS[3])
    assert "as private as Gaussian noise?" in heading(app)
    assert INVENTED_ROWS_TEXT in caption_text(app)


def release_by_command(app, folder, kind=VALUE):
    """The facts of the release that the page's own command makes, beside the table and its schema."""
    app.session_state[f"release-{kind.noun}"] = True
    run_until_settled(app.run())
    (command,) = [code.value for code in app.code if " learn-release " in code.value]
    write_json(folder / "schema.json", table(app).schema)
    with chdir(folder):
        run_command(shlex.split(command)[3:])
    assert all(holds for holds, _, _ in verifier.run_checks(folder / kind.folder))
    return read_json(folder / kind.folder / "release.json")


def check_prediction(app, released):
    """The release is of two weights, at the cost that the page says."""
    assert (released["promise"]["epsilon"], released["promise"]["delta"]) == (1, 0)
    assert "Uses ε = 1 at δ = 0, permanently" in markdown_text(app)
    guess = 100 * released["promise"]["means"]["guess"]
    assert f"**guesses right at most {np.ceil(guess):.0f} times in 100**" in markdown_text(app)
    assert "You release two weights: one of age, and a constant." in markdown_text(app)
    lifetime = LifetimeBudget(DEFAULT_TOTAL_BUDGET, ZcdpAccountant, 0.0)
    share = 100 * lifetime.used_capacity_share(released["dataset"]["spent"]["epsilon"])
    assert f"New budget · this release {np.ceil(share):.0f}% · left" in caption_text(app)
    answers = released["learned"]["answers"]
    assert [answer["name"] for answer in answers] == ["age", "(intercept)"]


DAY = integer("2020-01-01", "2020-12-31", read="date of y-m-d")


@parametrize(
    "kind, text, n, message",
    [
        (PREDICTION, "logistic:label:x", 40, None),
        (VALUE, "quantile:x:0.5", 40, None),
        (PREDICTION, "logistic:label:x,day", 40, "it has 3 weights"),
        (PREDICTION, "logistic:label:x", 10**8, "ε = 1 it cannot be drawn from 100,000,000 rows"),
        (PREDICTION, "absolute:day:x", 40, "'day' holds dates"),
        (VALUE, "quantile:day:0.5", 40, "'day' holds dates"),
    ],
)
def test_what_is_not_released_says_why_and_what_can_be(kind, text, n, message):
    columns = {"label": categorical("n", "y"), "x": numeric(0, 1, 2), "day": DAY}
    frame = pd.DataFrame({"label": ["n", "y"] * 20, "x": np.linspace(0, 1, 40)})
    frame["day"] = [f"2020-01-{1 + i % 28:02}" for i in range(40)]
    offered = Table("t", frame, {"columns": columns}, "", uploaded=False)
    problem, _ = read_task(text, offered.domain, frame)
    task = LearnedTask(
        table=offered, text=text, problem=replace(problem, n=n), budget=Budget(1.0, 0.0)
    )
    if message is None:
        assert plan_release(kind, task).exact
    else:
        with expect_error(message):
            plan_release(kind, task)


def test_the_curve_over_mu_marks_the_theorys_and_is_u_shaped():
    app = experts(opened(), "Theory's choice of μ")
    set_fields(app, learn_column="hours")
    drawn = figures(app)[2]
    excess = plain(drawn["data"][0]["y"])
    assert excess.min() < min(excess[0], excess[-1]) / 2
    star, used = (line["x0"] for line in drawn["layout"]["shapes"])
    assert star == approx(used)
    set_fields(app, factor=10.0)
    assert figures(app)[2]["layout"]["shapes"][1]["x0"] == approx(10 * star)


def test_rivals_run_in_the_pool_and_every_dot_is_its_run():
    app = opened(line_seeds="1")
    assert len(figures(app)) == 2, "methods are for experts, and run where they look"
    experts(app)
    assert "is best: privacy adds an error of" in caption_text(app)
    data = figure_traces(app, 2)
    drawn = {trace["name"]: trace for trace in data if "name" in trace}
    assert set(drawn) == set(learning.METHODS)
    problem, rows = median_age()
    run = run_to_end("exponential", problem, rows, Budget(1.0, 1e-9))
    at = list(plain(drawn["Exponential mechanism"]["x"])).index(1.0)
    assert plain(drawn["Exponential mechanism"]["y"])[at] == approx(final_errors(run).excess_risk)
    set_fields(app, level=0.9)
    assert figure_traces(app, 2) != data, "runs follow the question"


def test_a_classifier_is_learned_from_three_quarters_and_judged_by_the_rest(tmp_path):
    learners = ["Regularised exponential mechanism", "Objective perturbation"]
    app = opened(part=PARTS[2], table_seeds="2")
    click_and_wait(set_fields(app, learners=learners, features_income=["age", "sex"]), "Learn")
    assert "learn from 15,000 rows; 5,000 rows test them" in caption_text(app)
    assert len(figures(app)) == 3
    set_fields(app, measure_learn="population_accuracy")
    accuracy = plain(figure_traces(app, 1)[1]["y"])
    assert (accuracy > 0.6).all()
    assert (accuracy < 1).all()
    runs = session(app).resources["classifier"]
    app = open_code(set_fields(app, learners=learners[1:], table_seeds=1))
    for line in run_script(app, tmp_path)["results"]:
        key = PointKey(line["algorithm"], line["epsilon"], 1e-9, line["seed"])
        errors = runs.outcomes[key].point.errors
        assert {name: line[name] for name in errors} == approx(errors)
    assert {"Regularised exponential mechanism", "without privacy"} <= {
        t.get("name") for t in figure_traces(app, 2)
    }
    refusal = (
        "This prediction is not released: it has 3 weights, and at most 2 can be drawn without "
        "rounding. A prediction from one column of numbers, none missing, can be released."
    )
    assert refusal in caption_text(app)
    set_fields(app, features_income=["age"], radius=5.0)
    assert refusal not in caption_text(app)
    released = release_by_command(app, tmp_path, PREDICTION)
    assert released["learned"]["task"] == "logistic:income:age"
    assert released["protects"]["records"] == 20_000, "none is held out"
    assert released["learned"]["answers"][0]["high"] == 5
    check_prediction(app, released)


def test_a_prediction_opens_with_runs_made_beforehand_and_another_one_waits_for_a_press():
    app = opened(part=PARTS[2])
    runs = session(app).resources["classifier"]
    kept = {found.point.key: found for found in runs.planned_outcomes}
    few = [case for case in runs.planned_cases if case.seed == 1 and case.budget.epsilon == 0.3]
    for point, x in make_assets.learned(few):
        found = kept[(point["algorithm"], 0.3, 1e-9, 1)]
        assert found.point.errors == approx(point["errors"])
        assert found.x == approx(x)
    assert len(kept) == len(runs.planned_cases) == len(few) * 4 * 3
    assert not runs.group.jobs
    assert "is best: privacy adds an error of" in caption_text(app)
    set_fields(app, target_logistic="sex")
    assert "Press “Learn”" in app.warning[0].value


@parametrize("loss", ["hinge", "absolute", "huber", "quantile"])
def test_every_loss_makes_a_picture_of_two_coefficients(loss, tmp_path):
    app = set_fields(opened(part=PARTS[1]), plane_loss=loss)
    assert [trace["type"] for trace in figure_traces(app, 1)] == [
        "heatmap",
        "contour",
        "scatter",
        "scatter",
    ]
    assert len(figures(app)) == 3
    if loss == "huber":
        script = run_script(open_code(app), tmp_path)
        draws = plain(figure_traces(app, 1)[2]["x"])
        assert draws == approx(script["law"].draws[:, 0])
        released = release_by_command(app, tmp_path, PREDICTION)
        assert released["learned"]["task"] == "huber:hours:age"
        check_prediction(app, released)


def test_the_guarantee_is_kept_everywhere_and_the_printed_one_is_not():
    first, second, third = (figure["data"] for figure in figures(opened(part=PARTS[3])))
    promised, kept = (plain(trace["y"]).astype(float) for trace in first)
    assert (kept[~np.isnan(kept)] <= promised[~np.isnan(kept)]).all()
    assert kept[0] > promised[0] / 3, "and the promise is not far"
    assert (plain(second[0]["y"]) > plain(second[1]["y"])).all(), "the exact s is larger"
    assert (plain(third[0]["y"]) > plain(third[1]["y"])).all(), "more than δ is spent"


def test_a_table_without_numbers_is_told_so_and_still_learns_a_classifier():
    app = opened(sample="titanic")
    assert "no column of numbers" in app.info[0].value
    app = opened(sample="titanic", part=PARTS[1])
    assert "needs a column of numbers" in app.info[0].value
    app = opened(sample="titanic", part=PARTS[2])
    assert "rows test them" in caption_text(app)


def test_stakeholders_see_what_is_public_only():
    app = opened(view="stakeholder")
    for part in PARTS:
        set_fields(app, part=part)
        assert Provenance.REAL_DATA not in markdown_text(app)
        assert len(figures(app)) == {PARTS[1]: 1, PARTS[3]: 3}.get(part, 0), (
            "pictures of invented rows only"
        )
        assert not app.metric


def test_cancel_stops_what_runs_and_keeps_what_is_there():
    runs = learning_runs.LearningRuns()
    problem, rows = median_age()
    planned = learning.plan_cases(["Exponential mechanism", "Noisy gradient descent"], BUDGET, 20)
    runs.start(1, (problem, rows, None), planned)
    runs.group.jobs[0].wait(30)
    runs.group.collect_results()
    assert "Some methods still run" in learning.best_method_sentence(runs, runs.error_table())
    runs.group.cancel()
    assert not runs.group.jobs
    assert 0 < len(runs.outcomes) < len(runs.planned_cases) == 160
    runs.close()


def test_hostile_names_reach_the_task_and_the_page_as_text():
    target = 'a:b,"c'
    feature = "![x](http://evil)_<b>"
    columns = {target: categorical("n", "y"), feature: numeric(0, 1, 2)}
    frame = pd.DataFrame({target: ["n", "y"] * 5, feature: np.linspace(0, 1, 10)})
    problem, _ = read_task(
        task_text("logistic", target, features=(feature,)), domain_of(columns), frame
    )
    assert problem.d == 2
    app = opened()
    session(app).table = Table("<i>t</i>", frame, {"columns": columns}, "", uploaded=True)
    app.run()
    assert "\\\\" not in markdown_text(app)
    assert "Do not publish" in app.warning[0].value
    for part in PARTS[1:3]:
        set_fields(app, part=part)
        assert not app.error
        app.session_state["release-prediction"] = True
        assert not run_until_settled(app.run()).error
        assert "You release two weights" in markdown_text(app)
    assert "](http" not in markdown_text(app) + caption_text(app)
    assert all("<b>" not in str(figure["layout"]) for figure in figures(app))
