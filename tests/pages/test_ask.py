"""The front door of Compare: the smallest ε for all that is asked, from public numbers or from
runs.
"""

import re
from urllib.parse import parse_qs

import numpy as np
import pandas as pd

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run, read_queries
from dpcore.accuracy.meaning_of_epsilon import format_times_in_100
from dpcore.accuracy.noise_levels import probability_all_within
from dpcore.accuracy.predicted_error import predicted_noise_stddev
from pages._ui.compare.accuracy_goal import ALL_ANSWERS, AccuracyGoal, tables_by_columns
from pages._ui.compare.duration_forecast import DurationForecast
from pages._ui.compare.promised_epsilon import (
    PromisedEpsilon,
    best_promise,
    public_noise_levels,
)
from pages._ui.compare.verdict import recommend, verdict_text
from pages._ui.components import EPSILON_OPTIONS, format_setting
from pages._ui.components.parameter_widgets import DEFAULT_TOTAL_BUDGET
from pages._ui.session import Table, sample_table
from tests.pages.headless import (
    algorithm_title,
    caption_text,
    dataframe,
    heading,
    open_page,
    run_until_settled,
    session,
    set_fields,
    switch_page,
    visible_text,
)
from tests.small_problems import D324, approx, final_errors, parametrize

TITLE = algorithm_title("gaussian_maxent")


def opened(**query):
    return open_page("compare", sample="berkeley", **query)


def problem(group=1):
    return QueryRelease(Marginals.all(sample_table("berkeley").domain, 2), 4526, group)


def found(tolerance, share, group=1, delta=1e-9):
    asked = problem(group)
    return best_promise(public_noise_levels(asked, delta), asked.workload.m, tolerance, share)


def sigma(epsilon):
    return predicted_noise_stddev(ALGORITHMS["gaussian_maxent"](), problem(), Budget(epsilon, 1e-9))


@parametrize("tolerance, share", [(0.001, 0.999), (0.01, 0.95), (0.1, 0.5)])
def test_the_forecast_is_the_smallest_epsilon_of_the_sliders(tolerance, share):
    best = found(tolerance, share)
    chances = {e: probability_all_within(tolerance, sigma(e), 28) for e in EPSILON_OPTIONS}
    enough = [e for e, chance in chances.items() if chance >= share]
    assert best.epsilon == (enough[0] if enough else None)
    assert best.chance == chances[best.epsilon or EPSILON_OPTIONS[-1]]
    assert best.sigma == sigma(best.epsilon or EPSILON_OPTIONS[-1])
    reached = [
        probability_all_within(best.error_by_epsilon[e], sigma(e), 28) for e in EPSILON_OPTIONS
    ]
    assert reached == approx([share] * len(EPSILON_OPTIONS)), "how far off in so many releases"


def test_rows_of_one_person_need_more():
    alone, three = (found(0.02, 0.95, group).epsilon for group in (1, 3))
    assert three > alone


def test_without_delta_nothing_is_known_beforehand():
    assert found(0.01, 0.95, delta=0.0) is None
    app = opened(delta="0")
    refused = "Not promised at any ε, and no chosen algorithm can try it: choose others"
    assert heading(app) == refused, "Gaussian noise needs δ"
    assert "Explore it" not in links(app)


def test_what_is_found_is_linked_to_explore_and_release_and_said_in_points_and_records():
    app = opened()
    epsilon = found(0.01, 0.95).epsilon
    for label in ("Explore it", f"**Use ε = {format_setting(epsilon)} on Release**"):
        assert links(app)[label] == {
            "epsilon": [format_setting(epsilon)],
            "delta": ["1e-9"],
            "algorithm": [TITLE],
        }
    set_fields(app, ask_tolerance=0.05, ask_share=0.99)
    best = found(0.05, 0.99)
    assert heading(app) == f"★ Promised at ε = {format_setting(best.epsilon)} with {TITLE}"
    asked = "within  \n**226 of 4,526 people**  \npromised in 99% of"
    assert asked in visible_text(app), "as it was asked"
    kept = float(
        caption_text(app).split(f"at ε = {format_setting(best.epsilon)}, ")[1].split("%")[0]
    )
    assert max(99, 100 * best.chance - 0.1) <= kept <= 100 * best.chance
    run = Run(
        ALGORITHMS["gaussian_maxent"](), problem(), rows(), Budget(best.epsilon, 1e-9), seed=0
    )
    assert (
        f"**guesses right at most {format_times_in_100(run.promise.max_guess_probability())}**"
        in visible_text(app)
    )
    beyond_text = "A weak promise: Release proposes ε = 3 for all releases together."
    assert beyond_text not in caption_text(app)
    assert found(0.003, 0.95).epsilon > DEFAULT_TOTAL_BUDGET.epsilon == 3
    assert beyond_text in caption_text(set_fields(app, ask_tolerance=0.003, ask_share=0.95))


def test_what_no_slider_can_do_is_said_so():
    asked = {"ask_tolerance": 0.001, "ask_share": 0.999, "delta": 1e-12}
    app = set_fields(open_page("compare", sample="titanic"), **asked)
    nearest = r"Not within 0.1 points at any ε here; ★ within [\d.]+ points? at ε = [\d.]+ with "
    assert re.fullmatch(re.escape(TITLE).join([nearest, ""]), heading(app)), "by the runs"
    assert "Explore it" in links(app)
    assert re.search(
        r"promised in only \d\d?\.?\d*% of releases, even at ε = 10", visible_text(app)
    )


def links(app):
    return {link.proto.label: parse_qs(link.proto.query_string) for link in app.get("page_link")}


def test_no_column_of_an_upload_is_in_an_address(hostile):
    frame, schema = hostile
    app = open_page("app")
    session(app).table = Table("mine.csv", frame, schema, "typed", uploaded=True)
    set_fields(switch_page(app, "compare"), ask_tolerance=0.1, ask_share=0.5, delta=1e-5)
    assert set(links(app)["Explore it"]) == {"epsilon", "delta", "algorithm"}


def rows():
    mine = sample_table("berkeley")
    return mine.encoded_rows(mine.domain.names)


def test_runs_find_for_every_algorithm_what_runs_keep():
    app = set_fields(opened(), compared=["pmw", "gaussian_maxent"])
    run_until_settled(app.button(key="ask-by-runs").click().run())
    table = dataframe(app, "smallest ε")
    assert list(table["algorithm"]) == [TITLE, "PMW"], "the smallest ε first"
    epsilon = float(table["smallest ε"].iloc[0])
    assert epsilon <= found(0.01, 0.95).epsilon
    runs = [
        Run(ALGORITHMS["gaussian_maxent"](), problem(), rows(), Budget(epsilon, 1e-9), seed=s)
        for s in range(20)
    ]
    assert sum(final_errors(run.finish()).max_error <= 0.01 for run in runs) >= 19


GOAL = AccuracyGoal(columns=ALL_ANSWERS, tolerance=0.01, share=0.95)
RUNS = [
    ("aim", 0.1, 0.25, 0.9),
    ("aim", 1.0, 0.028, 0.03),
    ("aim", 3.0, 0.021, 0.021),
    ("mwem", 1.0, 0.029, 0.05),
]


def summary(lines):
    """Errors of runs as they are summarised: the middle one and the highest."""
    columns = pd.Index(["algorithm", "epsilon", "error", "high"])
    return pd.DataFrame(lines, columns=columns).assign(runs=3)


@parametrize(
    "lines, is_provisional, promised, expected",
    [
        (RUNS, False, None, "Not within 1 point at any ε here; ★ within 3 points at ε = 1 with AIM"),
        (RUNS[:1], True, None, "So far not within 1 point at any ε here; "
         "★ within 100 points at ε = 0.1 with AIM"),
        ([*RUNS, ("mwem", 3.0, 0.009, 0.01)], False, None, "★ Measured at ε = 3 with MWEM"),
        ([*RUNS, ("mwem", 3.0, 0.009, 0.01)], True, None, "★ Measured so far at ε = 3 with MWEM"),
        (RUNS, False, 2.0, "★ Promised at ε = 2 with MWEM"),
        ([], True, None, "Not promised at any ε; trials are running"),
        ([], False, None, "Not promised at any ε; 24 trials can tell in about 6 min"),
    ],
)  # fmt: skip
def test_a_table_gets_an_answer_from_what_is_promised_or_from_the_runs_that_ended(
    lines, is_provisional, promised, expected
):
    promise = PromisedEpsilon(
        algorithm_name="mwem", epsilon=promised, chance=0.5, sigma=0.1, error_by_epsilon={}
    )
    forecast = DurationForecast(runs=24, seconds=350.0, memory=1e9, waiting_seconds=0.0)
    recommendation = recommend(GOAL, promise, summary(lines))
    text = verdict_text(GOAL, recommendation, is_provisional=is_provisional, forecast=forecast)
    assert text == expected


def test_what_is_needed_of_one_table_is_promised_and_measured_of_that_table():
    asked = read_queries(["prefixes:b", "marginals:2"], D324)[0]
    slices = tables_by_columns(asked)
    assert {names: part.stop - part.start for names, part in slices.items()} == {
        ("a", "b"): 6, ("a", "c"): 12, ("b", "c"): 8,
    }  # fmt: skip
    answers = np.zeros(asked.m)
    answers[slices["a", "c"]] = 0.2
    for columns, expected in (((), 0.2), (("a", "c"), 0.2), (("a", "b"), 0.0), (("c", "d"), None)):
        goal = AccuracyGoal(columns=columns, tolerance=0.01, share=0.95)
        assert goal.largest_error(answers, np.zeros(asked.m), asked) == expected
    whole = found(0.01, 0.95)
    table = best_promise(public_noise_levels(problem(), 1e-9), 4, 0.01, 0.95)
    assert table.epsilon <= whole.epsilon
    for epsilon, error in table.error_by_epsilon.items():
        assert error < whole.error_by_epsilon[epsilon], "fewer answers, so a smaller largest error"
