"""The Guarantee page, headless: what it says is what the library says, for every algorithm and at the ends."""

import base64
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.privacy.accounting import guarantee
from dpcore.privacy.accounting.budget import Accounting, Budget, Gaussian
from dpcore.privacy.accounting.conversions import gdp_epsilon, gdp_mu
from dpcore.privacy.accounting.lifetime import Lifetime
from dpcore.publishing.ledger_store import Store
from dpcore.theory import accountants
from pages._ui.charts import privacy as promise
from pages._ui.guarantee.planned import DELTAS
from pages._ui.guarantee.promise import share
from tests.helpers import QUERIES
from tests.pages.test_pages import figures, open_page, said, settled

PAGE = "pages/guarantee.py"
pytestmark = pytest.mark.usefixtures("tab")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def visited():
    """One visit that goes from algorithm to algorithm, as a person does."""
    return page()


def page(**query):
    app = open_page(PAGE, sample="berkeley", **query)
    assert not app.exception
    return app


def table_with(app, column):
    return next(frame.value for frame in app.dataframe if column in frame.value)


def picture(app) -> str:
    """The icon array's SVG."""
    found = [re.search(r'base64,([^"]*)" alt="([^"]*)"', h.proto.body) for h in app.get("html")]
    (match,) = [m for m in found if m]
    return base64.b64decode(match[1]).decode(), match[2]


def test_the_sentence_and_the_picture_follow_epsilon():
    app = page()
    assert "**73.1 of 100**" in said(app)
    assert "**2.72 times**" in said(app)
    svg, words = picture(app)
    assert (svg.count('fill="#0072B2"'), svg.count('fill="#D55E00"'), svg.count('fill="none"')) == (50, 23, 27)
    assert "at most 73.1 are right" in words
    app.select_slider(key="epsilon").set_value(3.0).run()
    assert "**95.3 of 100**" in said(app)
    assert picture(app)[0].count('fill="none"') == 5


def test_the_plan_says_more_than_the_promise():
    app = page()
    exact = guarantee.gaussian_guess(0.5, gdp_mu(1.0, 1e-9))
    promised = float(guarantee.best_guess(0.5, 1.0, 1e-9))
    assert f"allows less: at most **{100 * exact:.1f} of 100**. Both are true. {100 * promised:.1f} is for" in said(app)


def test_why_bounds_fail_more_often_than_delta_is_said_with_its_price():
    told = " ".join(c.value for c in page().caption)
    moved = guarantee.evidence_bound(1.0, 1e-9, 1e-7)
    assert "Why 1e-07 and not δ = 1e-09?" in told
    assert f"fail 100 times as often, odds change by a factor of at most {math.exp(moved):.4g}; e^ε is 2.718" in told


def test_posteriors_are_bayes_rule_on_the_bounds():
    app = page()
    app.select_slider(key="prior").set_value(0.001).run()
    t = guarantee.evidence_bound(1.0, 1e-9, 1e-7)
    low, high = (float(guarantee.posterior(0.001, x)) for x in (-t, t))
    assert f"one release, any algorithm: {share(low)} to {share(high)}" in said(app)
    drawn = table_with(app, "before")
    here = drawn[drawn["before"] == 0.001].iloc[0]
    assert here["one release, any algorithm at most"] == pytest.approx(high)
    assert (drawn["one release, any algorithm at least"] <= drawn["before"]).all()


def test_several_releases_are_composed_by_what_is_known_of_them():
    app = page()
    app.number_input(key="releases").set_value(10).run()
    assert not app.exception
    totals = table_with(app, "what it knows").set_index("accounting")["ε"]
    assert totals["sum of ε"] == 10
    assert totals["optimal for any algorithm"] <= 10
    assert totals["exact Gaussian (GDP)"] < totals["zero-concentrated DP"] < 4
    assert totals["exact Gaussian (GDP)"] == pytest.approx(totals["privacy loss distributions"], rel=1e-3)
    drawn = table_with(app, "false alarms")
    once, often = drawn["Gaussian + maximum entropy"], drawn["10 × Gaussian + maximum entropy"]
    assert (often <= once + 1e-9).all()
    assert len(figures(app)) == 4


@pytest.mark.parametrize("name", QUERIES)
def test_every_algorithm_has_its_curves(visited, name):
    app = visited
    app.selectbox(key="algorithm").set_value(ALGORITHMS[name].about.title).run()
    assert not app.exception
    assert not app.error
    assert len(figures(app)) == 4
    costs = next(f.value for f in app.dataframe if "ε, Rényi DP" in f.value)
    at = costs[np.isclose(costs["δ"], 1e-9, rtol=1e-6, atol=0)].iloc[0]
    assert min(at.drop("δ")) <= 1.0, "the plan costs what was asked for, by one accountant at least"
    for figure in figures(app):
        assert all(len(trace["x"]) for trace in figure["data"])


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-12), (10.0, 1e-2)])
def test_the_ends_of_the_sliders_hold(epsilon, delta):
    app = page()
    app.select_slider(key="epsilon").set_value(epsilon)
    app.select_slider(key="delta").set_value(delta)
    app.select_slider(key="prior").set_value(0.99)
    app.number_input(key="releases").set_value(100).run()
    assert not app.exception
    assert not app.error
    assert len(figures(app)) == 4


def test_without_delta_the_promise_holds_without_exception():
    app = page()
    app.select_slider(key="delta").set_value(0.0).run()
    assert "choose delta > 0" in app.error[0].value.replace("\\", "")
    assert len(figures(app)) == 2, "what ε means needs no plan"
    app.selectbox(key="algorithm").set_value(ALGORITHMS["dpfw"].about.title)
    app.number_input(key="releases").set_value(3).run()
    assert not app.exception
    assert "divides them by no more, without exception" in said(app)
    totals = table_with(app, "what it knows").set_index("accounting")["ε"]
    np.testing.assert_allclose(totals, 3.0, rtol=1e-6)
    assert "may fail" not in " ".join(c.value for c in app.caption)


def test_a_table_without_a_schema_still_learns_what_epsilon_means():
    app = open_page("pages/data.py")
    settled(app.file_uploader(key="upload").set_value(("t.csv", b"a,b\n1,x\n2,y\n", "text/csv")).run())
    app.switch_page(str(ROOT / PAGE))
    app.run()
    assert not app.exception
    assert "schema of this table is not complete" in app.info[0].value
    assert "**73.1 of 100**" in said(app)


def test_a_schema_read_off_the_records_is_not_called_public():
    app = page()
    assert not app.warning
    table = app.session_state["session"].table
    table.set_schema({**table.schema, "peeked": True})
    app.run()
    assert "the plan is not public" in app.warning[0].value
    assert said(app).count("private peek]") == 6, "the table, and five sections that the plan goes into"
    assert "allows less: at most" in said(app)
    app.query_params["view"] = "stakeholder"
    app.run()
    assert said(app).count("private peek]") == 1, "the table's own"
    assert "allows less" not in said(app), "nothing of the plan"
    assert "**73.1 of 100**" in said(app)


@pytest.mark.parametrize(
    ("chance", "text"),
    [(0.5, "50%"), (0.001, "0.1%"), (1e-9, "under 0.001%"), (0.9996, "99.960%"), (1 - 1e-9, "over 99.999%")],
)
def test_chances_are_never_rounded_to_certainty(chance, text):
    assert share(chance) == text


def test_the_picture_scales_and_says_itself_in_words():
    html = promise.icon_array(50, 60, "ten more")
    assert html.startswith("<img")
    assert 'alt="ten more"' in html
    assert "max-width" in html


def test_log_odds_are_a_straight_scale():
    chances = np.array([0.01, 0.5, 0.99])
    np.testing.assert_allclose(promise.log_odds(chances), [-math.log(99), 0, math.log(99)])


def test_a_ledger_s_total_moves_beliefs_as_its_promise_allows(tmp_path, monkeypatch):
    ledger, total = tmp_path / "ledger.sqlite", Budget(3, 1e-6)
    monkeypatch.setenv("DPCORE_LEDGER", str(ledger))
    events = ((Gaussian(0.1), 2),)
    hostile = "a $x^2$ <b>"
    Store(ledger, create=True).reserve(pd.DataFrame({"a": [1]}), events, Budget(1, 1e-6), dataset=hostile, total=total)
    app = page()
    t = guarantee.evidence_bound(*accountants.pairs({"": accountants.kept(LIFE, DELTAS)}, DELTAS), 1e-4)
    assert f"all that may ever be released: {share(posterior(-t))} to {share(posterior(t))}" in said(app)
    assert f"all that may ever be released: {share(0.1)}" not in said(app)
    drawn = next(f.value for f in app.dataframe if "charged so far (1) at most" in f.value)
    assert (drawn["charged so far (1) at most"] <= drawn["all that may ever be released at most"] + 1e-12).all()
    costs = next(f.value for f in app.dataframe if "ε, all that may ever be" in f.value)
    at = costs[np.isclose(costs["δ"], 1e-6, rtol=1e-6, atol=0)].iloc[0]
    assert at["ε, exact Gaussian (GDP)"] == pytest.approx(gdp_epsilon(0.1 * math.sqrt(2), 1e-6))
    assert at["ε, all that may ever be"] == pytest.approx(3)
    assert len(Store(ledger).show()[0].releases) == 1
    ledger.write_bytes(b"no ledger")
    app.run()
    assert not app.exception
    assert "ledger" in app.error[0].value


LIFE = Lifetime(Budget(3, 1e-6), Accounting.GDP, 0.0)


def posterior(evidence: float) -> float:
    return float(guarantee.posterior(0.1, evidence))


def test_the_plan_s_proof_is_on_the_page_with_every_derivation():
    app = page()
    told = " ".join(str(text.value) for text in app.text)
    assert "Marginals: a record stands in exactly one cell of each table" in told
    assert "N(0, (Δ₂/(nμ))²) for Gaussian(μ)" in told
    assert any("Why does this plan keep its promise" in m.value for m in [*app.subheader, *app.header, *app.markdown])
    assert any("In all" in m.value and "ε" in m.value for m in app.markdown)
