"""The front door of Compare: the smallest ε for all that is asked, from public numbers or from
runs.
"""

import re
from urllib.parse import parse_qs

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run
from dpcore.accuracy.meaning_of_epsilon import format_times_in_100
from dpcore.accuracy.noise_levels import probability_all_within
from dpcore.accuracy.predicted_error import predicted_noise_stddev
from pages._ui.compare.epsilon_search import best_forecast, public_noise_levels
from pages._ui.components import EPSILON_OPTIONS, format_setting
from pages._ui.session import Table, sample_table
from tests.pages.headless import (
    algorithm_title,
    caption_text,
    dataframe,
    heading,
    markdown_text,
    open_page,
    run_until_settled,
    session,
    set_fields,
    switch_page,
    visible_text,
)
from tests.small_problems import approx, final_errors, parametrize

TITLE = algorithm_title("gaussian_maxent")


def opened(**query):
    return open_page("compare", sample="berkeley", **query)


def problem(group=1):
    return QueryRelease(Marginals.all(sample_table("berkeley").domain, 2), 4526, group)


def found(tolerance, share, group=1, delta=1e-9):
    asked = problem(group)
    return best_forecast(public_noise_levels(asked, delta), asked.workload.m, tolerance, share)


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
    assert "no algorithm here says beforehand" in markdown_text(app)
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
    assert heading(app) == f"★ Budget ε = {format_setting(best.epsilon)} is enough with {TITLE}"
    assert "within  \n**226 of 4,526 people**  \nin 99%" in visible_text(app), "as it was asked"
    kept = float(caption_text(app).split("entropy, ")[1].split("%")[0])
    assert max(99, 100 * best.chance - 0.1) <= kept <= 100 * best.chance
    run = Run(
        ALGORITHMS["gaussian_maxent"](), problem(), rows(), Budget(best.epsilon, 1e-9), seed=0
    )
    assert (
        f"**guesses right at most {format_times_in_100(run.promise.max_guess_probability())}**"
        in visible_text(app)
    )


def test_what_no_slider_can_do_is_said_so():
    asked = {"ask_tolerance": 0.001, "ask_share": 0.999, "delta": 1e-12}
    app = set_fields(open_page("compare", sample="titanic"), **asked)
    assert heading(app) == "No ε of the sliders is enough with Gaussian + maximum entropy"
    assert re.search(r"in only \d\d?\.?\d*% of releases, even at ε = 10", visible_text(app))


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
