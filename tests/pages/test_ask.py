"""The front door of Compare: the smallest ε for one question, from public numbers or from runs."""

import re
from urllib.parse import parse_qs

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run
from dpcore.experiments.foretold import public_noise
from dpcore.theory.noise import all_within
from pages._ui.compare.ask import forecasts
from pages._ui.shell.controls import EPSILONS, number
from pages._ui.shell.state import sample_table
from pages._ui.shell.table import Table
from tests.helpers import approx, final_errors, parametrize
from tests.pages.headless import captions, dataframe, go, heading, open_page, put, said, session, settled, titled

TITLE = titled("gaussian_maxent")
ASKED = ("Gender", "Admission")


def opened(**query):
    return put(open_page("compare", sample="berkeley", **query), ask_berkeley=list(ASKED))


def problem(group=1):
    domain = sample_table("berkeley").domain.project(ASKED)
    return QueryRelease(Marginals(domain, [domain.names]), 4526, group)


def sigma(epsilon, delta=1e-9):
    return public_noise(ALGORITHMS["gaussian_maxent"](), problem(), Budget(epsilon, delta))


@parametrize("tolerance, share", [(0.001, 0.999), (0.01, 0.95), (0.1, 0.5)])
def test_the_forecast_is_the_smallest_epsilon_of_the_sliders(tolerance, share):
    (found,) = forecasts(problem(), 1e-9, tolerance, share)
    chances = {e: all_within(tolerance, sigma(e), 4) for e in EPSILONS}
    enough = [e for e, chance in chances.items() if chance >= share]
    assert found.epsilon == (enough[0] if enough else None)
    assert found.chance == chances[found.epsilon or EPSILONS[-1]]
    assert found.sigma == sigma(found.epsilon or EPSILONS[-1])
    reached = [all_within(found.reached[e], sigma(e), 4) for e in EPSILONS]
    assert reached == approx([share] * len(EPSILONS)), "how far off in so many releases"


def test_rows_of_one_person_need_more():
    alone, three = (forecasts(problem(group), 1e-9, 0.02, 0.95)[0].epsilon for group in (1, 3))
    assert three > alone


def test_without_delta_nothing_is_known_beforehand():
    assert forecasts(problem(), 0.0, 0.01, 0.95) == []
    app = opened(delta="0")
    assert "no algorithm here says beforehand" in said(app)
    assert "See it on Explore" not in links(app)


def test_what_is_found_is_linked_to_explore_and_release_and_said_in_points_and_records():
    app = opened()
    epsilon = forecasts(problem(), 1e-9, 0.01, 0.95)[0].epsilon
    for label in ("See it on Explore", f"**Use ε = {number(epsilon)} on Release**"):
        asked = links(app)[label]
        assert asked["epsilon"] == [number(epsilon)]
        assert asked["delta"] == ["1e-9"]
        assert asked["algorithm"] == [TITLE]
        assert asked["questions"] == ["every pair"]
        assert asked["columns-berkeley"] == list(ASKED)
    put(app, ask_tolerance=0.05, ask_share=0.99)
    (found,) = forecasts(problem(), 1e-9, 0.05, 0.99)
    assert heading(app) == f"★ ε = {number(found.epsilon)} is enough for Gender × Admission alone"
    words = next(m for m in app.markdown if m.value.startswith("All 4 "))
    kept = float(words.help.split("entropy, ")[1].split("%")[0])
    assert words.value.startswith("All 4 shares are within")
    assert "≈ 226 of 4,526 rows" in words.value
    assert "in at least 99% of releases." in words.value, "as it was asked"
    assert max(99, 100 * found.chance - 0.1) <= kept <= 100 * found.chance


def test_what_no_slider_can_do_is_said_so():
    asked = {"ask_titanic": ["Sex", "Survived"], "ask_tolerance": 0.001, "ask_share": 0.999, "delta": 1e-12}
    app = put(open_page("compare", sample="titanic"), **asked)
    assert heading(app) == "No ε of the sliders is enough for Sex × Survived alone"
    assert re.search(r"in only \d\d\.?\d*% of releases, even at ε = 10\.", said(app))


def links(app):
    return {link.proto.label: parse_qs(link.proto.query_string) for link in app.get("page_link")}


def test_no_column_of_an_upload_is_in_an_address(hostile):
    frame, schema = hostile
    app = open_page("app")
    session(app).table = Table("mine.csv", frame, schema, "typed", uploaded=True)
    app = go(app, "compare")
    assert set(links(app)["See it on Explore"]) == {"epsilon", "delta", "algorithm"}
    assert "as the columns" in captions(app)
    bare = [m.value for m in app.markdown if " shares are within" in m.value or "as the columns" in m.value]
    assert bare
    assert not any(re.search(r"(?<!\\)[<$]|(?<!\\)!\[", text) for text in bare), "every such sign is escaped"


def test_runs_find_for_every_algorithm_what_runs_keep():
    app = put(opened(), compared=["pmw", "gaussian_maxent"])
    settled(app.button(key="ask-by-runs").click().run())
    table = dataframe(app, "smallest ε")
    assert list(table["algorithm"]) == [TITLE, "PMW"], "the smallest ε first"
    epsilon = float(table["smallest ε"].iloc[0])
    assert epsilon <= forecasts(problem(), 1e-9, 0.01, 0.95)[0].epsilon
    mine = sample_table("berkeley")
    rows = mine.rows(tuple(problem().domain.names))
    runs = [Run(ALGORITHMS["gaussian_maxent"](), problem(), rows, Budget(epsilon, 1e-9), seed=s) for s in range(20)]
    assert sum(final_errors(run.finish()).max_error <= 0.01 for run in runs) >= 19
