"""The front door of Compare: the smallest ε for one question, from public numbers or from runs."""

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.algorithms import ALGORITHMS
from dpcore.evaluation.run import Run
from dpcore.experiments.foretold import public_noise
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.theory.noise import all_within
from dpcore.workloads import Marginals
from pages._ui.compare.ask import forecasts
from pages._ui.shell.controls import EPSILONS, number
from pages._ui.shell.state import sample_table
from pages._ui.shell.table import Table
from tests.pages.test_pages import said, settled

pytestmark = pytest.mark.usefixtures("tab")
ROOT = Path(__file__).parents[2]
TITLE = ALGORITHMS["gaussian_maxent"].about.title
ASKED = ("Gender", "Admission")


def opened(**query):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=90)
    for name, value in {"sample": "berkeley", **query}.items():
        app.query_params[name] = value
    app = app.switch_page(str(ROOT / "pages/compare.py")).run()
    app.multiselect(key="ask-berkeley").set_value(list(ASKED))
    return app.run()


def problem(group=1):
    domain = sample_table("berkeley").domain.project(ASKED)
    return QueryRelease(Marginals(domain, [domain.names]), 4526, group)


def sigma(epsilon, delta=1e-9):
    return public_noise(ALGORITHMS["gaussian_maxent"](), problem(), Budget(epsilon, delta))


@pytest.mark.parametrize("share", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("tolerance", [0.001, 0.01, 0.1])
def test_the_forecast_is_the_smallest_epsilon_of_the_sliders(tolerance, share):
    (found,) = forecasts(problem(), 1e-9, tolerance, share)
    chances = {e: all_within(tolerance, sigma(e), 4) for e in EPSILONS}
    enough = [e for e, chance in chances.items() if chance >= share]
    assert found.epsilon == (enough[0] if enough else None)
    assert found.chance == chances[found.epsilon or EPSILONS[-1]]
    assert found.sigma == sigma(found.epsilon or EPSILONS[-1])


def test_rows_of_one_person_need_more():
    alone, three = (forecasts(problem(group), 1e-9, 0.02, 0.95)[0].epsilon for group in (1, 3))
    assert three > alone


def test_without_delta_nothing_is_known_beforehand():
    assert forecasts(problem(), 0.0, 0.01, 0.95) == []
    app = opened(delta="0")
    assert "no algorithm here says beforehand" in said(app)
    assert "See it on Explore" not in links(app)


@pytest.mark.parametrize(("tolerance", "share"), [(0.01, 0.95), (0.05, 0.99)])
def test_the_sentence_says_it_in_points_and_records(tolerance, share):
    app = opened()
    app.select_slider(key="ask-tolerance").set_value(tolerance)
    app.select_slider(key="ask-share").set_value(share).run()
    (found,) = forecasts(problem(), 1e-9, tolerance, share)
    assert app.subheader[0].value == f"For Gender × Admission alone, ε = {number(found.epsilon)} is enough"
    words = next(m for m in app.markdown if m.value.startswith("All 4 "))
    kept = float(words.help.split("entropy, ")[1].split("%")[0])
    words = words.value
    assert words.startswith("All 4 shares are within")
    assert f"≈ {4526 * tolerance:,.0f} of 4,526 rows" in words
    assert words.endswith(f"in at least {100 * share:g}% of releases."), "as it was asked"
    assert 100 * found.chance - 0.1 <= kept <= 100 * found.chance
    assert kept >= 100 * share


def test_what_no_slider_can_do_is_said_so():
    app = opened()
    app.select_slider(key="ask-tolerance").set_value(0.001)
    app.select_slider(key="ask-share").set_value(0.999)
    app.multiselect(key="ask-berkeley").set_value(["Department", "Gender", "Admission"])
    app.select_slider(key="delta").set_value(1e-12).run()
    found = [h.value for h in app.subheader if h.value.startswith("For ")]
    domain = sample_table("berkeley").domain
    whole = QueryRelease(Marginals(domain, [domain.names]), 4526)
    assert ("no ε" in found[0]) == (forecasts(whole, 1e-12, 0.001, 0.999)[0].epsilon is None)


def links(app):
    return {link.proto.label: parse_qs(link.proto.query_string) for link in app.get("page_link")}


def test_what_is_found_is_linked_to_explore_and_release():
    app = opened()
    epsilon = forecasts(problem(), 1e-9, 0.01, 0.95)[0].epsilon
    for label in ("See it on Explore", f"**Use ε = {number(epsilon)} on Release**"):
        asked = links(app)[label]
        assert asked["epsilon"] == [number(epsilon)]
        assert asked["delta"] == ["1e-9"]
        assert asked["algorithm"] == [TITLE]
        assert asked["questions"] == ["every pair"]
        assert asked["columns-berkeley"] == list(ASKED)


def test_no_column_of_an_upload_is_in_an_address(hostile):
    frame, schema = hostile
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=90).run()
    app.session_state["session"].table = Table("mine.csv", frame, schema, "typed", uploaded=True)
    app = app.switch_page(str(ROOT / "pages/compare.py")).run()
    assert not app.exception
    assert any(" shares are within" in m.value for m in app.markdown)
    asked = links(app)["See it on Explore"]
    assert set(asked) == {"epsilon", "delta", "algorithm"}
    assert any("as the columns" in c.value for c in app.caption)
    bare = [m.value for m in app.markdown if " shares are within" in m.value or "as the columns" in m.value]
    assert bare
    assert not any(re.search(r"(?<!\\)[<$]|(?<!\\)!\[", text) for text in bare), "every such sign is escaped"


def test_runs_find_for_every_algorithm_what_runs_keep():
    app = opened()
    app.multiselect(key="compared").set_value(["pmw", "gaussian_maxent"])
    settled(app.run())
    settled(app.button(key="ask-by-runs").click().run())
    table = next(d.value for d in app.dataframe if "smallest ε" in d.value)
    assert list(table["algorithm"]) == [TITLE, "PMW"], "the smallest ε first"
    epsilon = float(table["smallest ε"].iloc[0])
    assert epsilon <= forecasts(problem(), 1e-9, 0.01, 0.95)[0].epsilon
    mine = sample_table("berkeley")
    rows = mine.rows(tuple(problem().domain.names))
    runs = [Run(ALGORITHMS["gaussian_maxent"](), problem(), rows, Budget(epsilon, 1e-9), seed=s) for s in range(20)]
    assert sum(run.finish().records[-1].empirical.max_error <= 0.01 for run in runs) >= 19


def test_stakeholders_see_the_forecast_and_no_runs():
    app = opened(view="stakeholder")
    assert app.subheader[0].value.startswith("For ")
    assert not any(button.key == "ask-by-runs" for button in app.button)
