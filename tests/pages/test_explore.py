"""Explore, headless: replays of the noise, units, the sliders an algorithm has, links that say what
cannot be.
"""

import io
import json
import re
import shlex
from types import SimpleNamespace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore import ALGORITHMS, Budget, BudgetError, Column, Domain, Marginals, domain_to_json
from dpcore.accuracy.intervals.cell_intervals import cell_intervals
from dpcore.accuracy.intervals.question_intervals import comparison_interval, question_interval
from dpcore.accuracy.intervals.unbiased_tables import unbiased_tables
from dpcore.accuracy.meaning_of_epsilon import format_times_in_100
from dpcore.accuracy.usefulness import planned_tables, suitable_uses
from dpcore.algorithms.query_release.shared.optimal_noise import compare_with_bound, least_rmse
from dpcore.cli import build_parser
from dpcore.cli.experiment_arguments import experiment_from_arguments
from dpcore.core.numbers import format_count, format_points_and_count
from dpcore.evaluation.run import compare_with_rows
from dpcore.queries.questions import parse_question
from dpcore.release import tiles
from pages._ui.charts import explore_charts
from pages._ui.components import parameter_widgets
from pages._ui.components.frame import PUBLIC_SAMPLE_TEXT
from pages._ui.explore import ask_question, comparison, keep_run, outcome
from pages._ui.explore import explore_run as replaying
from pages._ui.jobs.public_runs import public_runs
from pages._ui.overview import question_sentences
from pages._ui.session import sample_table
from pages._ui.session.session import session as its_session
from tests.pages.headless import (
    algorithm_title,
    berkeley,
    caption_text,
    click,
    dataframe,
    download_labels,
    everything,
    figures,
    markdown_text,
    open_code,
    open_page,
    plotly_numbers,
    run_script,
    run_until_settled,
    set_fields,
    visible_text,
)
from tests.small_problems import approx, final_errors, module_fixture


def opened(**query):
    return open_page("explore", sample="berkeley", **query)


def chart(app, name):
    """A figure by the name of a trace that only it has."""
    return next(f for f in figures(app) if any(trace.get("name") == name for trace in f["data"]))


def test_the_page_says_and_draws_the_numbers_of_the_run_and_of_its_repeats():
    app = opened()
    assert markdown_text(app).count(PUBLIC_SAMPLE_TEXT) == 1
    runs = [
        berkeley("gaussian_maxent", 1.0, seed) for seed in range(parameter_widgets.DEFAULT_REPEATS)
    ]
    worst = [100 * final_errors(run).largest for run in runs]
    low, high = (float(f"{v:.2g}") for v in (min(worst), max(worst)))
    assert low < high
    assert "In 5 repeats with fresh noise, measured: " in caption_text(app)
    assert f"largest error {low:g} to {high:g} points" in caption_text(app)
    assert (
        f", worst of 5: {format_count(max(worst) / 100, runs[0].problem.n, '')}".rstrip()
        in visible_text(app)
    )
    whiskers = next(t for t in chart(app, "synthetic")["data"] if t["name"] == "95% range")
    assert min(plotly_numbers(whiskers["error_y"]["array"])) > 0
    domain = runs[0].problem.domain
    truth = sample_table("berkeley").encoded_rows(runs[0].problem.domain.names)
    gaps = {
        name: compare_with_rows(runs[0].release, truth, Marginals(domain, [[name]])).gaps.max()
        for name in domain.names
    }
    column = chart(app, "95% range")["layout"]["xaxis"]["title"]["text"]
    assert gaps[column] == max(gaps.values())
    assert app.subheader[2].value == "“A\\, Female”\\:\u2060 18 people too few"
    assert any(t.get("fill") == "toself" for t in chart(app, "noise alone")["data"])
    shows_the_tiles_of(runs[0], app)
    found = final_errors(runs[0])
    n = runs[0].problem.n
    assert (
        f"**{float(f'{found.as_exact_as_sample * n:.2g}'):,.0f} of {n:,} people**"
        in visible_text(app)
    )
    assert (
        f"**guesses right at most {format_times_in_100(runs[0].promise.max_guess_probability())}**"
        in visible_text(app)
    )
    assert "4,526 people" in everything(app), "the head and the notes count as the tiles do"
    assert "4,526 rows" not in everything(app)
    good, unfit = suitable_uses(planned_tables(runs[0].problem, runs[0].plan), n).sentence.split(
        ". "
    )
    assert f"**{good}.** {unfit}" in visible_text(app)
    beside = compare_with_bound(
        found.rmse, least_rmse(runs[0].problem.workload, Budget(1.0, 1e-9), n)
    )
    assert f"Root mean square error {100 * found.rmse:.2g} points, {beside}." in caption_text(app)


def test_a_table_too_small_for_its_questions_offers_what_helps():
    app = opened(epsilon="0.1", repeats="1")
    assert "**This table is too small for these questions at ε = 0.1.** Try:" in visible_text(app)
    assert "Not for" not in visible_text(app)
    offer = next(button for button in app.button if button.key == "useful-epsilon")
    click(app, offer.label)
    run_until_settled(app)
    (guess,) = re.findall(r"guesses right at most [\d.]+ times in 100", visible_text(app))
    assert f"{guess}." in offer.help, "what it costs is said before"
    assert "Good for: shares by" in visible_text(app)


def test_the_command_and_the_code_below_download_are_those_of_the_run_that_is_shown(tmp_path):
    app = open_code(opened(below="Download", epsilon="3", seed="2"))
    command = app.code[0].value.partition("\n")[2]
    files = {*download_labels(app)}
    assert files >= {"Python script", "Notebook", "Schema", "Table", "Save project"}
    run = berkeley("gaussian_maxent", 3.0, 2)
    schema_file = tmp_path / "schema.json"
    schema_file.write_text(json.dumps(domain_to_json(run.problem.domain)))
    words = [str(schema_file) if word == "schema.json" else word for word in shlex.split(command)]
    experiment = experiment_from_arguments(build_parser().parse_args(words[3:]))
    assert experiment.task.columns == run.problem.domain.names
    assert experiment.budget == run.budget
    assert experiment.algorithm == run.algorithm
    assert list(experiment.seeds) == list(range(2, 2 + parameter_widgets.DEFAULT_REPEATS))
    assert final_errors(run_script(app, tmp_path)["runs"][0]) == final_errors(run)


def test_the_cell_that_differs_most_has_a_frame_on_both_maps():
    real = np.ones((2, 3))
    apart = real + [[0, 0, 0], [0, 0, -0.25]]
    drawn = explore_charts.two_way_maps(real, apart, ("a", "b"), (["p", "q"], "xyz"))
    assert "≥1" in str(drawn)
    assert drawn.data[1].z.min() == -25
    assert [(s["x0"], s["x1"], s["y0"], s["y1"]) for s in drawn["layout"]["shapes"]] == [
        (1.5, 2.5, 0.5, 1.5)
    ] * 2


def test_what_is_sent_of_a_chart_is_made_once_and_is_the_whole_figure():
    real = np.ones((2, 3))
    drawn = explore_charts.two_way_maps(real, real, ("a", "b"), (["p", "q"], "xyz"))
    assert drawn.to_dict() is drawn.to_dict()
    assert drawn.to_dict() == go.Figure(drawn).to_dict()


def shows_the_tiles_of(run, app):
    final = final_errors(run)
    misplaced = tiles.format_share_of_rows([final.misplaced])
    largest = format_count(final.largest, run.problem.n, "people")
    for name, value in (("People in a wrong cell", misplaced), ("Largest error", largest)):
        assert re.search(rf"{name}.*\n\*\*{value}\*\*  \n.*measured", visible_text(app))


def test_replays_that_end_while_the_page_is_drawn_are_shown_too(monkeypatch):
    public_runs().close()  # no other tab has made these runs
    drawn = []
    spread = outcome.draw_noise_spread

    def slowly(shown):
        drawn.append(len(shown.replays))
        spread(shown)
        for job in its_session().resources["explore"].group.jobs if len(drawn) == 1 else ():
            assert job.wait(60)

    monkeypatch.setattr(outcome, "draw_noise_spread", slowly)
    monkeypatch.setattr(replaying, "wait_for_replays", lambda *_: None)
    app = opened()
    assert drawn[0] < drawn[-1] == parameter_widgets.DEFAULT_REPEATS - 1
    assert "In 5 repeats with fresh noise, measured: " in caption_text(app)


def test_one_repeat_shows_the_same_first_run_without_bars_or_range():
    app = opened(repeats="1", seed="1")
    assert "fresh noise" not in caption_text(app)
    assert not any(t.get("fill") for t in chart(app, "noise alone")["data"])
    shows_the_tiles_of(berkeley("gaussian_maxent", 1.0, 1), app)


def test_columns_without_a_listed_value_come_last():
    alone, known = (
        Column(name=n, kind="categorical", values=v)
        for n, v in (("a", ("(other)",)), ("b", ("x", "(other)")))
    )
    assert comparison.informative_columns_first(Domain(columns=(alone, known))) == ["b", "a"]


def test_errors_are_points_and_people_together():
    assert format_points_and_count(0.00001, 20_000, "people") == "0.001 points ≈ 0.2 people"
    assert format_points_and_count(1.0, 20_000, "rows") == "100 points ≈ 20,000 rows"


def test_delta_is_greyed_at_zero_where_it_must_be_zero(monkeypatch):
    app = opened()
    assert not app.select_slider(key="delta").disabled
    plan = ALGORITHMS["mwem"].plan

    def pure(self, problem, budget):
        if budget.delta:
            raise BudgetError("delta must be 0")
        return plan(self, problem, budget)

    monkeypatch.setattr(ALGORITHMS["mwem"], "plan", pure)
    set_fields(app, algorithm=algorithm_title("mwem"))
    greyed = next(w for w in app.select_slider if w.label.endswith("(δ)"))
    assert greyed.disabled
    assert greyed.value == 0.0
    assert "at δ = 0," in caption_text(app)


def test_the_theorem_of_an_algorithm_ends_where_its_run_ends():
    app = opened(algorithm=algorithm_title("mwem"), against="ε used")
    lines = {
        trace["name"]: trace
        for trace in chart(run_until_settled(app), "whole runs, by theorem")["data"]
        if "name" in trace
    }
    proved = lines["whole runs, by theorem"]
    end = plotly_numbers(lines["largest error"]["y"])[-1]
    x = plotly_numbers(proved["x"])
    y = plotly_numbers(proved["y"])
    assert y[-1] == approx(end)
    assert y[-5] == approx(y[-1] * (x[-1] / x[-5]) ** 0.5)
    set_fields(app, algorithm=algorithm_title("gaussian_maxent"))
    assert app.select_slider(key="delta").value == 1e-9


BAD = {
    "epsilon": "0.25",
    "seed": "inf",
    "repeats": "21",
    "gaussian_maxent.alpha": "7",
    "algorithm": "![x](y)",
    "sample": "mars",
    "dpfw.output": "first",
    "nobody": "knows",
}


def test_values_of_a_link_that_cannot_be_are_named_with_what_is_allowed_until_read():
    app = open_page("explore", **BAD)
    (warning,) = [w.value.replace("\\", "") for w in app.warning]
    for name in BAD.keys() - {"nobody", "dpfw.output"}:
        assert f"{name} = {BAD[name]} (allowed: " in warning, name
    assert "epsilon = 0.25 (allowed: 0.01 … 10" in warning
    assert "nobody" not in warning
    assert "![" not in app.warning[0].value
    app.query_params.clear()
    assert app.run().warning
    assert not click(app, "Understood").warning


def test_lines_are_in_points_with_people_beside_and_the_band_holds_a_run_that_has_ended_where_it_ended():
    two = {
        "seed": [0, 0, 1],
        "t": [1, 2, 1],
        "epsilon_spent": [0.1, 0.2, 0.1],
        "largest": [0.1, 0.05, 0.2],
    }
    figure = explore_charts.convergence_chart(
        pd.DataFrame(two), "epsilon_spent", "ε used", 1000, "people"
    )
    band = next(t for t in figure.data if t.fill == "toself")
    assert dict(zip(band.x[:2], band.y[:2], strict=True)) == approx({0.1: 20, 0.2: 20})
    line = next(t for t in figure.data if t.name == "largest error")
    assert line.y[0] == approx(10)
    assert line.customdata[0] == approx(100)
    assert line.x[0] == approx(0.1)
    assert (
        json.loads(figure.to_json())["layout"]["yaxis"]["title"]["text"] == "points (1 = 10 people)"
    )


def test_pinned_runs_stand_each_beside_the_line_of_its_own_budget():
    app = opened(below="Two settings")
    click(app, "Pin this run as A")
    set_fields(app, epsilon=0.1)
    facts = dataframe(app, "A (pinned)")
    assert facts.loc["ε"].tolist() == ["1", "0.1"]
    assert chart(app, "largest error, A")
    for name, epsilon in (("A (pinned)", 1.0), ("B (now)", 0.1)):
        run = berkeley("gaussian_maxent", epsilon, 0)
        least = least_rmse(run.problem.workload, Budget(epsilon, 1e-9), run.problem.n)
        assert float(facts.loc[keep_run.RMSE_RATIO_LABEL, name]) == approx(
            final_errors(run).rmse / least, rel=1e-3
        )


def test_questions_are_marked_without_a_mouse_by_a_column_they_involve():
    app = opened()
    listed = next(
        f.value
        for f in app.dataframe
        if {"question", "low"} <= set(f.value.columns) and len(f.value) > 10
    )
    assert "selectedpoints" not in questions_drawn(app)["data"][0]
    set_fields(app, **{"Mark questions about": "Gender"})
    expected = [i for i, text in enumerate(listed["question"]) if "Gender = " in text]
    assert 0 < len(expected) < len(listed)
    assert questions_drawn(app)["data"][0]["selectedpoints"] == expected
    assert f"{len(expected):,} marked questions" in everything(app)
    means = next(
        f.value for f in app.dataframe if list(f.value.columns) == ["column", "error", "questions"]
    )
    assert means.set_index("column").loc["Gender", "questions"] == len(expected)


def questions_drawn(app):
    return next(f for f in figures(app) if f["layout"].get("dragmode") == "select")


def test_the_sentence_says_whether_waiting_pays():
    t = np.arange(1, 101)
    for errors, told in (
        (0.1 / t, "The error is still falling: more steps may help"),
        (np.where(t < 60, 0.1, 0.0044), "The error stopped falling: waiting does not help"),
        (t / 1000, "The error stopped falling: waiting does not help"),
        ([0.01], "Done after 1 steps"),
    ):
        assert (
            outcome.convergence_verdict(pd.DataFrame({"t": t[: len(errors)], "largest": errors}))
            == told
        )


# Intervals: of a column, of typed questions, compared, refused with the reason, as a file

FIRST = "Gender = Female"
SECOND = "Admission = Admitted"


@module_fixture
def by_hand():
    """The run that the page shows of the berkeley sample, and what its noisy tables say."""
    run = berkeley("gaussian_maxent", 1.0, 0)
    return run, unbiased_tables(run.release, run.measured, run.problem.domain)


def words(app):
    return f"{visible_text(app)} {caption_text(app)}"


def asked(app, first, second="", kind=None):
    return set_fields(
        app, question=first, question_with=second, **{"compared-by": kind} if kind else {}
    )


def test_a_column_and_typed_questions_carry_the_intervals_of_the_release_and_are_compared(by_hand):
    run, told = by_hand
    app = opened(below="Ask a question")
    figure = chart(app, "95% range")
    drawn = next(t for t in figure["data"] if t["name"] == "95% range")
    column = figure["layout"]["xaxis"]["title"]["text"]
    expected = cell_intervals(told, Marginals(told.domain, [[column]]), run.problem.n)
    middle, half = (np.array(plotly_numbers(v)) for v in (drawn["y"], drawn["error_y"]["array"]))
    assert middle + half == approx(100 * expected["high"])
    assert middle - half == approx(100 * expected["low"])
    assert "95% intervals for this table, from the release alone" in words(app)
    assert any(
        button.label == "All combinations with intervals (CSV)"
        for button in app.get("download_button")
    )
    shown = dataframe(app, "population from")
    assert (shown["population from"] <= shown["table from"]).all()
    assert (shown["table to"] <= shown["population to"]).all()

    n = run.problem.n
    both = [parse_question(text, told.domain) for text in (FIRST, SECOND)]
    for kind in question_sentences.COMPARISON_KINDS:
        asked(app, FIRST, SECOND, kind)
        for question in both:
            assert question_sentences.interval_sentence(
                question_interval(told, question, n)
            ).replace("\\", "") in words(app)
            assert f"{question.text}: **Real " in words(app)
        found = comparison_interval(told, *both, n, kind)
        assert question_sentences.interval_sentence(found, kind).replace("\\", "") in words(app)
        assert found.low < found.unbiased < found.high
        assert "(conservative)" not in words(app)
    text = "Gender = Female and Admission = Admitted and Department = A"
    asked(app, text)
    why = "nothing was measured about Department × Gender × Admission together"
    assert re.search(
        rf"at 95% \(conservative: {why}, and every table is allowed .*?\): in this table 0\.00% to",
        words(app),
    )
    asked(app, FIRST, text, "difference")
    assert words(app).count(why) == 2
    assert "From the release alone, at 95%: in this table" in words(app)
    asked(app, FIRST, text, "ratio")
    assert f"There is no upper bound: noise does not tell ({text}) apart from 0." in words(app)
    assert re.search(
        r"in this table \d\S* or more, in the population it was drawn from \d\S* or more\.",
        words(app),
    )


def test_stakeholders_see_what_the_release_says_and_nothing_real():
    app = asked(opened(view="stakeholder"), FIRST)
    assert "From the release alone, at 95%: in this table" in words(app)
    assert re.search(r"Gender = Female: \*\*synthetic [\d.]+%\*\*", words(app))
    assert not re.search(r"\breal\b.*%", words(app), re.IGNORECASE)


def test_all_cells_are_written_with_their_intervals(by_hand, monkeypatch):
    run, told = by_hand

    def written(tables):
        done = SimpleNamespace(release=run.release, unbiased_answers=told)
        chosen = SimpleNamespace(problem=run.problem, budget=run.budget)
        return pd.read_csv(io.StringIO(ask_question.cells_csv(done, tables, chosen)))

    tables = run.problem.workload
    frame = written(tables)
    assert len(frame) == tables.m
    assert frame["answer"].to_numpy() == approx(run.release.answers(tables))
    for name, values in cell_intervals(told, tables, run.problem.n).items():
        assert frame[name].to_numpy() == approx(values)
    beyond = written(Marginals(told.domain, [list(told.domain.names)]))
    assert (
        beyond[["unbiased", "low", "high", "population_low", "population_high"]]
        .isna()
        .all(axis=None)
    )
    monkeypatch.setattr(ask_question, "MAX_DOWNLOAD_CELLS", tables.m - 1)
    app = opened(below="Ask a question")
    assert re.search(rf"{tables.m} combinations are more than the {tables.m - 1}", words(app))
