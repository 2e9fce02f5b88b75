"""The Compare page, headless: what its charts and tables say is what the library says."""

import datetime
import re
import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import pandas as pd

from dpcore import ALGORITHMS, Budget, Marginals, PrivacyUnit
from dpcore.accuracy.meaning_of_epsilon import Promise, format_times_in_100
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.query_release.shared.optimal_noise import least_rmse
from dpcore.core.job import Job
from dpcore.core.numbers import format_percentage_points
from dpcore.core.provenance import Provenance
from dpcore.evaluation.purposes import TEST_NAMES, Purposes, false_alarm_sentence
from dpcore.evaluation.run import compare_with_rows, subgroup_errors
from dpcore.evaluation.sweeps.queue_forecast import Pace
from dpcore.evaluation.sweeps.sweep import Case
from dpcore.evaluation.sweeps.worker_pool import WorkerPool
from pages._ui.charts import frontier_charts
from pages._ui.charts import frontier_svg as drawing
from pages._ui.compare import (
    duration_forecast,
    error_measures,
    meeting_report,
    overview,
    promised_epsilon,
    verdict,
)
from pages._ui.compare.accuracy_goal import ALL_ANSWERS, AccuracyGoal
from pages._ui.compare.overview import BASELINE_LABELS, SAMPLING_ERROR_LABEL
from pages._ui.compare.sweep_jobs import ALGORITHM_TITLES, Sweep
from pages._ui.jobs import JobGroup
from pages._ui.session import Table, sample_table
from tests.pages.headless import (
    berkeley,
    button_labels,
    caption_text,
    click_and_wait,
    dataframe,
    error_text,
    figure_traces,
    figures,
    open_code,
    open_page,
    plotly_numbers,
    run_comparison,
    run_rest,
    run_script,
    run_until_settled,
    session,
    set_fields,
    switch_page,
    traces_by_name,
)
from tests.small_problems import all_tables, approx, final_errors, run_to_end

TITLE = ALGORITHM_TITLES["gaussian_maxent"]


def compared(algorithms=("gaussian_maxent", "dpfw"), epsilons=(0.1, 1.0), seeds=2, **query):
    """The page after a comparison on the Berkeley sample has ended."""
    return run_comparison(
        open_page("compare", sample="berkeley", **query), algorithms, epsilons, seeds
    )


def dots(app):
    """Every dot of the frontier at an ε that was chosen: (algorithm, ε, seed) to error."""
    drawn = [trace for trace in figure_traces(app) if "customdata" in trace]
    chosen = app.multiselect(key="epsilons").value
    return {
        tuple(key[:3]): y
        for trace in drawn
        for key, y in zip(trace["customdata"], plotly_numbers(trace["y"]), strict=True)
        if key[1] in chosen
    }


def test_a_sample_is_compared_at_once_for_everyone_and_an_upload_on_a_press_only(monkeypatch):
    def opened(mine):
        app = open_page("app")
        session(app).table = mine
        return switch_page(app, "compare")

    monkeypatch.setattr(overview, "DEFAULT_EPSILONS", (0.3, 1.0))
    monkeypatch.setattr(overview, "DEFAULT_ALGORITHMS", ("gaussian_maxent", "pmw"))
    table = sample_table("berkeley")
    first = dots(opened(table))
    assert len(first) == 12, "both algorithms at both budgets, three times"
    monkeypatch.setattr(JobGroup, "submit", None)
    assert dots(opened(sample_table("berkeley"))) == first, "another tab has them without a run"
    app = opened(Table("mine.csv", table.frame, table.schema, "typed", uploaded=True))
    assert app.info[0].value == "Nothing has run yet."
    assert not figures(app)


def test_how_long_all_runs_take_is_said_before_where_it_is_long(monkeypatch):
    app = open_page("compare", sample="berkeley")
    assert "Forecast" not in caption_text(app)
    monkeypatch.setattr(duration_forecast, "forecast_affordable_run", lambda *_: (30.0, 2.0**30))
    set_fields(
        app, compared=["dpam", "dpfw"], sweep_seeds=4, epsilons=[0.2, 2.0]
    )  # which were not forecast yet
    assert "Forecast: about 6 min for 24 runs, 1 GiB of memory." in caption_text(app)
    monkeypatch.setattr(WorkerPool, "before", lambda self, session, jobs: 80.0)
    assert "1 GiB of memory. After about 80 s of others' work." in caption_text(app.run())


class Elsewhere:
    """A pool that is busy with others."""

    pace = Pace()

    def __init__(self, seconds):
        self.seconds = seconds

    def before(self, session, jobs):
        return self.seconds if jobs else 0.0


def test_the_time_left_counts_others_before_this_and_what_one_own_runs_took(monkeypatch):
    case = Case(name="dpfw", algorithm=ALGORITHMS["dpfw"](), budget=Budget(1, 0), seed=0)
    mine = Sweep()
    mine.planned_cases = [case] * 4
    mine.group.jobs = [Job(None, key=case, predicted_seconds=17.0) for _ in range(2)]
    monkeypatch.setattr("pages._ui.jobs.case_runs.worker_pool", lambda: Elsewhere(80.0))
    assert mine.group.status_text == "0 of 4 runs, about 97 s left, about 80 s of it others' work"
    mine.run_seconds = {"dpfw": [30.0, 20.0]}
    assert mine.group.status_text == "0 of 4 runs, about 105 s left, about 80 s of it others' work"
    monkeypatch.setattr("pages._ui.jobs.case_runs.worker_pool", lambda: Elsewhere(0.0))
    assert mine.group.status_text == "0 of 4 runs, about 25 s left"


def line_key(app):
    """The list that says what the lines of the frontier are."""
    bodies = [element.proto.body for element in app.get("html")]
    return next(body for body in bodies if "line-key" in body)


def stars(app):
    """The marks of the recommended setting."""
    return [
        trace
        for trace in figure_traces(app)
        if (trace.get("marker") or {}).get("symbol") == "star" and "customdata" not in trace
    ]


def line_of(app, start):
    """The values of the line whose name begins so."""
    return next(
        plotly_numbers(trace["y"])
        for name, trace in traces_by_name(app).items()
        if str(name).startswith(start)
    )


def lines_of(app):
    """The lines to compare with that are drawn: the name of each is followed by its value."""
    return [
        line
        for line in BASELINE_LABELS
        if any(str(name).startswith(line) for name in traces_by_name(app))
    ]


def test_every_dot_is_the_run_with_its_seed_by_every_measure(tmp_path):
    app = compared()
    key = ("gaussian_maxent", 1.0, 1)
    found = dots(app)
    run = berkeley(*key)
    table = sample_table("berkeley")
    assert set(found) == {
        (a, e, s) for a in ("gaussian_maxent", "dpfw") for e in (0.1, 1.0) for s in (0, 1)
    }
    for one, drawn in ((key, run), (("dpfw", 0.1, 0), berkeley("dpfw", 0.1, 0))):
        assert found[one] == approx(100 * final_errors(drawn).max_error), (
            "what is needed, in points"
        )
    assert "within 1 point" in traces_by_name(app)
    assert lines_of(app) == [SAMPLING_ERROR_LABEL], "before anybody chooses a line"
    assert lines_of(set_fields(app, lines=BASELINE_LABELS)) == BASELINE_LABELS
    workload = run.problem.workload
    real = run.truth.answers
    gaps = np.abs(run.release.answers(workload) - real)
    pairs = compare_with_rows(run.release, table.encoded_rows(table.domain.names), workload)
    lost = [np.abs(pairs.real[t] - pairs.synthetic[t]).sum() / 2 for t in workload.tables]

    def measured(name):
        return dots(set_fields(app, measure=name))[key]

    assert measured("rows in a wrong cell") == approx(100 * final_errors(run).misplaced)
    assert measured("largest error") == approx(100 * final_errors(run).largest)
    assert measured("one question") == approx(100 * gaps[real.argmax()])
    assert 0 < measured("one group") < 100
    assert measured(error_measures.K_MARGINAL_KIND) == approx(1000 * np.mean(lost)), (
        "1000 less the K-marginal"
    )
    app.session_state["details"] = "Report"
    outcomes = session(app).resources["sweep"].outcomes
    results = run_script(open_code(app), tmp_path)["results"]
    assert len(results) == len(found)
    for line in results:
        name = line.pop("algorithm")
        point = outcomes[name, line.pop("epsilon"), 1e-9, line.pop("seed")].point
        assert line == approx(point.errors)


def test_more_budgets_add_dots_another_delta_is_another_comparison_and_a_population_another_truth():
    app = compared(seeds=1)
    before = dots(app)
    after = dots(run_rest(set_fields(app, epsilons=[0.1, 1.0, 3.0])))
    assert before.items() <= after.items()
    assert len(after) == 6
    pure = dots(run_rest(set_fields(app, delta=0.0)))
    assert set(pure) == {("dpfw", epsilon, 0) for epsilon in (0.1, 1.0, 3.0)}, (
        "the one that can serve"
    )
    assert pure.items().isdisjoint(after.items())
    assert "promised with Gaussian noise" in caption_text(app)
    set_fields(app, measure="largest error")
    own = dots(run_rest(set_fields(app, records="ten times as many")))
    beyond = dots(set_fields(app, truth="its population"))
    assert beyond.keys() == own.keys()
    sampling = line_of(set_fields(app, lines=[SAMPLING_ERROR_LABEL]), SAMPLING_ERROR_LABEL)[0]
    assert all(0 < abs(beyond[key] - own[key]) <= 1.001 * sampling for key in own), (
        "by the triangle inequality"
    )


MIDDLE = pd.DataFrame(
    [("a", 0.1, 0.3), ("a", 1.0, 0.03), ("b", 0.1, 0.2), ("b", 1.0, 0.1)],
    columns=["algorithm", "epsilon", "error"],
)


def test_the_drawing_is_sound_svg_and_holds_hostile_names_as_text():
    hostile = {"<script>alert(1)</script>": 0.25, "sampling & more": 0.01}
    root = ET.fromstring(
        drawing.frontier_markup(
            MIDDLE,
            hostile,
            frontier_charts.series_styles(["a", "b"]),
            title='a "title" <b>',
            unit="<i>",
        )
    )
    texts = [node.text for node in root.iter("text")]
    assert {"a", "b", "0.1", "1"} <= set(texts)
    assert any(t.startswith("<script>") for t in texts), "shown as it stands"
    assert not list(root.iter("script"))
    lines = [node.get("points") for node in root.iter("polyline")]
    heights = [[float(p.split(",")[1]) for p in line.split()] for line in lines]
    assert heights[0][0] < heights[0][1], "smaller errors stand lower"
    assert heights[0][0] < heights[1][0]
    assert heights[0][1] > heights[1][1]
    assert "nothing to draw" in drawing.frontier_markup(
        MIDDLE.assign(error=0.0),
        {},
        frontier_charts.series_styles(["a", "b"]),
        title="t",
        unit="points",
    )


def test_theory_passes_through_the_algorithms_own_dots_and_says_what_was_put_in():
    app = compared(("dpfw",), (0.1, 1.0, 3.0), seeds=1)
    set_fields(app, Proved="DPFW")
    curve = next(trace for name, trace in traces_by_name(app).items() if "theory" in (name or ""))
    x = plotly_numbers(curve["x"])
    y = plotly_numbers(curve["y"])
    assert np.interp(1.0, x, y) == approx(dots(app)[("dpfw", 1.0, 0)], rel=0.02)
    assert y[0] / y[-1] == approx((x[-1] / x[0]) ** 0.4), "the rate of Theorem 3"
    assert "n = 4,526, k = 24, |Q| = 56" in caption_text(app)
    assert "up to constants: Micali, Lezane, Betken 2025, Theorem 3" in caption_text(app)
    (formula,) = [element.value for element in app.latex]
    assert r"(\log k)^{1/5} \, (\log|Q|)^{2/5}" in formula, "as the theorem has it"
    assert r"(n\varepsilon)^{2/5}}" in formula


def test_what_all_questions_need_what_no_method_beats_and_another_tools_table_are_said_and_drawn():
    app = compared(("gaussian_maxent",), (0.1, 1.0, 3.0), seeds=1)
    pairs = berkeley("gaussian_maxent", 1.0, 0).problem
    errors = {
        epsilon: final_errors(berkeley("gaussian_maxent", epsilon, 0))
        for epsilon in (0.1, 1.0, 3.0)
    }
    known = promised_epsilon.public_noise_levels(pairs, 1e-9)
    for tolerance in (0.001, 0.005):
        run_rest(set_fields(app, ask_tolerance=tolerance))
        assert line_of(app, "within") == approx([100 * tolerance] * 2)
        alone = promised_epsilon.best_promise(known, pairs.workload.m, tolerance, 0.95)
        own = traces_by_name(app)["promised"]
        assert plotly_numbers(own["y"]) == approx(
            [100 * alone.error_by_epsilon[e] for e in plotly_numbers(own["x"])]
        )
        (star,) = stars(app)
        line = traces_by_name(app)[TITLE] if alone.epsilon is None else own
        on_line = dict(zip(plotly_numbers(line["x"]), plotly_numbers(line["y"]), strict=True))
        assert star["y"][0] == approx(on_line[star["x"][0]]), "on the line that it belongs to"
        if alone.epsilon is not None:
            assert star["x"][0] == alone.epsilon
    at = alone.epsilon
    tried = final_errors(berkeley("gaussian_maxent", at, 0))
    best = (
        f"Measured: at ε = {at:g}, Gaussian + maximum entropy is best: "
        f"{100 * tried.max_error:.2g} points"
    )
    assert f"{best}." in caption_text(app)
    exactness = format_percentage_points(tried.as_exact_as_sample)
    assert f"as exact as counting only {exactness}% of the people" in line_key(app)
    least = "least of any unbiased method"
    assert least not in traces_by_name(app)
    set_fields(app, measure="root mean square over questions")
    budgets = sorted({*errors, at})
    expected = [least_rmse(pairs.workload, Budget(e, 1e-9), pairs.n) for e in budgets]
    line = traces_by_name(app)[least]
    assert plotly_numbers(line["x"]) == budgets
    assert plotly_numbers(line["y"]) == approx([100 * e for e in expected])
    assert (
        f"any unbiased Gaussian release of these questions is {100 * expected[-1]:.3g} points"
        in caption_text(app)
    )
    ratio = f"{expected[-1] / errors[3.0].rmse:.2g} × below what any unbiased method could do"
    assert f"Gaussian + maximum entropy: {ratio}" in caption_text(app)
    set_fields(app, measure="what I need")
    table = sample_table("berkeley")
    other = table.frame.sample(400, random_state=0)
    uploader(app).set_value(
        ("<b>other</b>.csv", other.to_csv(index=False).encode(), "text/csv")
    ).run()
    theirs, ours = (
        pairs.workload.answers_of_rows(table.domain.encode(frame)) for frame in (other, table.frame)
    )
    assert line_of(app, "&lt;b&gt;other&lt;") == approx([100 * np.abs(theirs - ours).max()] * 2)
    run_until_settled(
        uploader(app).set_value(("bad.csv", b"Gender,Department\nX,A\nX,A\n", "text/csv")).run()
    )
    assert "no column" in error_text(app)


def uploader(app):
    return next(u for u in app.get("file_uploader") if u.label == "Synthetic table")


def test_all_lines_carry_titles_at_their_ends_and_the_table_is_sorted_without_gaps():
    app = compared(("gaussian_maxent", "dpfw", "mwem"), (0.1, 1.0), seeds=2)
    figure = figures(app)[0]
    assert "Run the comparison" not in button_labels(app), "nothing is left to run"
    named = {a["text"] for a in figure["layout"]["annotations"]}
    algorithms = {"Gaussian +<br>maximum entropy", "MWEM", "DPFW"}
    others = {name for name in named if name.startswith("luck of the<br>sample: ")}
    assert len(others) == 1
    assert named - others == algorithms | {"promised", "within 1 point"}
    assert not any(trace.get("showlegend") for trace in figure["data"] if "customdata" in trace)
    runs = dataframe(app, "seed")
    order = list(zip(runs["epsilon"], runs["error"], strict=True))
    assert order == sorted(order)
    key = line_key(app)
    for name in ("gaussian_maxent", "dpfw", "mwem"):
        about = ALGORITHMS[name].about
        assert (
            f"<b>{ALGORITHM_TITLES[name]}</b>: {about.brief}. <small>{about.source}</small>" in key
        )
    assert "another sample of 4,526 would be this far off anyway" in key
    for frame in (d.value for d in app.dataframe):
        assert not frame.isna().to_numpy().any()
        assert not frame.astype(str).isin(["None", *ALGORITHMS]).to_numpy().any(), (
            "titles, and no code names"
        )


def test_the_worst_column_pair_and_group_are_those_of_the_run_and_an_error_is_taken_apart():
    app = compared(("dpfw",), (0.1,), seeds=1, details="Where from")
    sweep = session(app).resources["sweep"]
    table = sample_table("berkeley")
    run = berkeley("dpfw", sweep.promised_epsilon, 0)
    rows = table.encoded_rows(table.domain.names)
    domain = table.domain

    def largest(names):
        asked = Marginals(domain, [names])
        return float(np.abs(run.release.answers(asked) - asked.answers_of_rows(rows)).max())

    frame = dataframe(app, "which").set_index("worst")
    column = max(domain.names, key=lambda name: largest((name,)))
    pair = max(combinations(domain.names, 2), key=largest)
    assert frame.loc["column", "which"] == column
    assert frame.loc["column", "off by"] == f"{100 * largest((column,)):.2g} points"
    assert frame.loc["pair", "which"] == " × ".join(pair)
    assert frame.loc["pair", "≈ people"] == f"{4526 * largest(pair):,.0f}"
    both = compare_with_rows(run.release, rows, Marginals.all(domain, 2))
    groups = [
        zip(of.error, of.share, strict=True)
        for of in (subgroup_errors(both, name) for name in domain.names)
    ]
    assert (
        f": by {max(error for of in groups for error, share in of if share > 0):.2%}"
        in caption_text(app)
    )
    click_and_wait(app, "Take this error apart")
    parts = dataframe(app, "part")["share"].to_numpy()
    assert parts[:-1].sum() == approx(parts[-1])
    assert abs(parts[-1]) == approx(final_errors(run).max_error), "the worst question is the first"


def test_purposes_are_curves_of_what_the_library_says_and_refusals_one_sentence():
    app = compared(("gaussian_maxent",), (0.1,), seeds=1, details="Purposes")
    (target,) = [box for box in app.selectbox if box.label == "Predict"]
    assert target.value == "Gender", "a column of two values to begin with"
    click_and_wait(app, "Try the purposes")
    table = sample_table("berkeley")
    mine = Purposes.for_table(table.domain, table.encoded_rows(table.domain.names), target="Gender")
    run = run_to_end(
        "gaussian_maxent", all_tables(table.domain, mine.train.n), mine.train, Budget(0.1, 1e-9)
    )
    found = {f.purpose: f for f in mine.score_tasks(run)}
    for kind in ("train a model: gradient boosting", "find what is linked"):
        lines = of_purpose(app, kind)
        theirs = found[kind]
        expected = {
            "synthetic rows": theirs.value,
            "the real table": theirs.real,
            "a sample as exact": theirs.sample,
        }
        assert {name: lines[name, 0.1] for name in expected} == approx(expected), kind
    alarms = [found[f"test a hypothesis: {name}"].value for name in TEST_NAMES]
    assert [of_purpose(app, "test a hypothesis")[name, 0.1] for name in TEST_NAMES] == approx(
        alarms
    )
    assert false_alarm_sentence(*alarms) in caption_text(app)
    click_and_wait(set_fields(app, **{"in groups by": "Gender", "Predict": ""}), "Try the purposes")
    assert (
        error_text(app)
        == "a group is compared by how well a target is predicted; name the target too"
    )


def test_what_purposes_need_is_said_before_a_click_and_leads_on():
    sample = sample_table("berkeley")
    frame = sample.frame.assign(who=[f"p{i // 2}" for i in range(len(sample.frame))])
    mine = Table("mine.csv", frame, sample.schema, "typed", uploaded=True)
    mine.set_privacy_unit(PrivacyUnit("who", 2))
    app = open_page("app")
    session(app).table = mine
    app.query_params["details"] = "Purposes"
    app = run_comparison(switch_page(app, "compare"), ("gaussian_maxent",), (1.0,))
    assert not error_text(app)
    assert "Try the purposes" not in button_labels(app)
    (said,) = [info.value for info in app.info if "Purposes need" in info.value]
    assert "a person may have several rows" in said
    assert "data" in {
        link.proto.page for link in app.get("page_link") if link.proto.label == "Open Data"
    }


def of_purpose(app, kind):
    """The numbers of the purpose's chart: mean by line and ε."""
    frame = dataframe(set_fields(app, Purpose=kind), "line")
    return {(row.line, row.epsilon): row.middle for row in frame.itertuples(index=False)}


def report_of(table, sweep, tolerance=0.05):
    """The report's text, without what sets values apart."""
    goal = AccuracyGoal(columns=ALL_ANSWERS, tolerance=tolerance, share=0.95)
    errors = verdict.needed_errors(sweep, goal)
    advice = verdict.Advice(
        goal=goal, promise=None, recommendation=verdict.recommend(goal, None, errors)
    )
    measure = error_measures.need_measure(sweep, goal)
    return re.sub("</?bdi>", "", meeting_report.render_report(table, sweep, measure, advice))


def test_the_report_is_written_when_nobody_s_page_is_drawn():
    held = compared(seeds=1).session_state["session"]
    text = report_of(held.table, held.resources["sweep"])
    line = r"<td>([\d.]+)</td><td>([\d.]+%)</td><td>([\d.]+ times in 100)</td><td>([^<]+)</td>"
    rows = [
        (float(epsilon), title, rate, risen)
        for epsilon, risen, rate, titles in re.findall(line, text)
        for title in titles.split(", ")
    ]
    problem = held.resources["sweep"].problem
    expected = []
    for epsilon in (0.1, 1.0):
        for name in ("gaussian_maxent", "dpfw"):
            algorithm = ALGORITHMS[name]()
            plan = make_plan(algorithm, problem, Budget(epsilon, 1e-9))
            promise = Promise.of_plan(plan, adaptive=algorithm.adaptive)
            expected.append(
                (
                    epsilon,
                    ALGORITHM_TITLES[name],
                    format_times_in_100(promise.max_guess_probability()),
                    promise.suspicion_percent,
                )
            )
    assert sorted(rows) == sorted(expected), "what every page says of the same plan"
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org", "").replace("http-equiv", ""), (
        "it asks nobody"
    )
    drawn = ET.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    said = re.search(r"([0-9.]+) points", text)[1]
    highs = [float(t.text) for t in drawn.iter("text") if t.get("text-anchor") == "end"]
    assert min(highs) <= float(said) <= max(highs), "the axis is in the table's unit"
    assert text.count(Provenance.REAL_DATA) == 1
    (rate,) = [rate for epsilon, title, rate, _ in rows if (epsilon, title) == (0.1, TITLE)]
    assert f"guesses right at most {rate} whether" in text
    assert "worst of the repeats" in text
    today = datetime.datetime.now(datetime.UTC)
    assert f"berkeley · {today.day} {today:%B %Y}" in text
    assert "<td>all 28 answers within 5 points in 95% of releases</td>" in text, "what was decided"
    assert f"<b>Measured at ε = 0.1 with {TITLE}.</b>" in text, "what is recommended"
    for name in ("gaussian_maxent", "dpfw"):
        assert ALGORITHMS[name].about.source in text
    unreached = report_of(held.table, held.resources["sweep"], tolerance=0.001)
    assert re.search(
        r"<b>Not within 0.1 points at any ε here; within [\d.]+ points? at ε", unreached
    )
    # Each algorithm's mark is as on the page.
    assert set(frontier_charts.MARKERS) <= set(
        re.findall('"(.*)":', drawing.TEMPLATE_FILE.read_text())
    )
