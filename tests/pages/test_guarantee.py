"""The Guarantee page, headless: what it says is what the library says, for every algorithm and at
the ends.
"""

import base64
import math
import re

import numpy as np
import pandas as pd

from dpcore import Budget
from dpcore.accuracy import accountant_comparison
from dpcore.accuracy.meaning_of_epsilon import Promise, format_percent, format_times_in_100
from dpcore.privacy.accounting import (
    Gaussian,
    GdpAccountant,
    LifetimeBudget,
    gdp_epsilon,
    gdp_mu,
    guarantee,
)
from dpcore.release.ledger.ledger_store import LedgerStore
from pages._ui.guarantee.planned_release import CURVE_DELTAS
from tests.pages.headless import (
    algorithm_title,
    caption_text,
    dataframe,
    error_text,
    figures,
    heading,
    markdown_text,
    open_page,
    run_until_settled,
    set_fields,
    switch_page,
    table,
    typed_schema,
    upload,
)
from tests.release.ledger.ledger_charges import charge_events
from tests.small_problems import approx, module_fixture, parametrize


@module_fixture
def visited():
    """One visit that goes from algorithm to algorithm, as a person does."""
    return page()


def page(**query):
    return open_page("guarantee", sample="berkeley", **query)


def picture(app):
    """The drawing of two worlds and 100 guesses: its SVG, and the words for whoever cannot see it."""
    found = [re.search(r'base64,([^"]*)" alt="([^"]*)"', h.proto.body) for h in app.get("html")]
    (match,) = [m for m in found if m]
    return base64.b64decode(match[1]).decode(), match[2]


def marked(app):
    """The words in the corner of the figure of suspicions."""
    return " ".join(note["text"] for note in figures(app)[0]["layout"]["annotations"])


def number_of(app):
    """The one number of the page."""
    return float(re.search(r"guesses right at most ([\d.]+) times in 100", heading(app))[1])


def test_the_number_and_the_picture_follow_epsilon_and_the_releases():
    app = page()
    assert (
        number_of(app)
        == np.ceil(100 * guarantee.gaussian_guess_probability(0.5, gdp_mu(1.0, 1e-9)))
        == 54
    )
    svg, words = picture(app)
    assert [svg.count(f"{HEAD_OF[look]}") for look in ("luck", "release", "wrong")] == [50, 4, 46]
    assert "At most 54 right: 50 by luck (grey), 4 by the release" in words
    assert "10 releases: 62, after 100: 82" in caption_text(app)
    promised = float(guarantee.best_guess_probability(0.5, 1.0, 1e-9))
    assert f"alone allow any algorithm {format_times_in_100(promised)}" in app.subheader[0].help
    assert "to at most 23.4% in all but 1 in 10 million" in markdown_text(app)
    set_fields(app, epsilon=0.01)
    assert f"At most {number_of(app):g} right" in picture(app)[1]
    set_fields(app, epsilon=1.0, releases=4)
    usual = re.search(r"to at most ([\d.]+)% in 19 of 20 cases", markdown_text(app))[1]
    assert f"19 of 20 cases: {usual}%" in marked(app)
    mu = 2 * gdp_mu(1.0, 1e-9)
    assert 0 <= float(usual) / 100 - guarantee.posterior(0.1, mu**2 / 2 + 1.96 * mu) < 0.03
    assert Promise(1.0, 1e-9, releases=4).suspicion_percent not in markdown_text(app), (
        "the plan allows less"
    )
    set_fields(app, epsilon=3.0)
    assert number_of(app) == np.ceil(
        100 * guarantee.gaussian_guess_probability(0.5, 2 * gdp_mu(3.0, 1e-9))
    )
    assert heading(app).startswith("After 4 releases: ")
    set_fields(app, epsilon=1.0, releases=10)
    totals = dataframe(app, "what it knows").set_index("accounting")["ε"]
    assert totals["sum of ε"] == 10
    assert totals["exact Gaussian (GDP)"] < totals["zero-concentrated DP"] < 4
    drawn = dataframe(opened(app, "Mistakes"), "false alarms")
    once = drawn["Gaussian + maximum entropy"]
    often = drawn["10 × Gaussian + maximum entropy"]
    assert (often <= once + 1e-9).all()


HEAD_OF = {
    "luck": '<g fill="#7A7A7A" stroke="#7A7A7A"',
    "release": '<g fill="#B0568C" stroke="#B0568C"',
    "wrong": '<g fill="none"',
}


def test_posteriors_are_bayes_rule_on_the_bounds_and_the_proof_has_every_derivation():
    app = page()
    set_fields(app, prior=0.001)
    t = guarantee.log_odds_bound(1.0, 1e-9, 1e-7)
    high = float(guarantee.posterior(0.001, t))
    assert f"all but 1 in 10 million: {format_percent(high)}" in marked(app)
    opened(app, "Proof")
    told = " ".join(str(text.value) for text in app.text)
    assert "Marginals: a row is in exactly one count of each table" in told
    assert "The noise is N(0, (bΔ₂/(nμ))²)" in told
    assert any("In all" in m.value and "ε" in m.value for m in app.markdown)


def opened(app, part):
    """The page with another tab for experts open."""
    app.session_state["expert"] = part
    return app.run()


@parametrize("name", ["gaussian_maxent", "dpfw", "mwem", "dualquery", "dqrs", "aim", "pmw"])
def test_every_kind_of_plan_has_its_curves(visited, name):
    app = visited
    app.selectbox(key="algorithm").set_value(algorithm_title(name))
    opened(app, "Cost")
    assert len(figures(app)) == 2
    costs = dataframe(app, "ε, Rényi DP")
    at = costs[np.isclose(costs["δ"], 1e-9, rtol=1e-6, atol=0)].iloc[0]
    assert min(at.drop("δ")) <= 1.0
    for figure in figures(app):
        assert all(len(trace["x"]) for trace in figure["data"])


@parametrize("epsilon, delta", [(0.01, 1e-12), (10.0, 1e-2)])
def test_the_ends_of_the_sliders_hold(epsilon, delta):
    app = set_fields(page(), epsilon=epsilon, delta=delta, prior=0.99, releases=100)
    for part, drawn in (("Suspicions", 1), ("Mistakes", 1), ("Cost", 2), ("Proof", 0)):
        opened(app, part)
        assert not app.error
        assert len(figures(app)) == drawn


def test_without_delta_the_promise_holds_without_exception():
    app = page()
    set_fields(app, delta=0.0)
    assert "choose delta > 0" in error_text(app)
    assert number_of(app) == 74
    set_fields(app, algorithm=algorithm_title("dpfw"), releases=3)
    np.testing.assert_allclose(
        dataframe(app, "what it knows").set_index("accounting")["ε"], 3.0, rtol=1e-6
    )
    assert re.search(r"to at most [\d.]+% in every case", markdown_text(app))


def test_a_table_without_a_schema_still_learns_what_epsilon_means():
    app = open_page("data")
    switch_page(upload(app, b"a,b\n1,x\n2,y\n"), "guarantee")
    assert "Not every column of this table is decided" in app.info[0].value
    assert number_of(app) == 74


def test_a_plan_on_a_schema_read_off_the_rows_uses_real_data_and_a_stakeholder_does_not_see_it():
    app = page()
    assert not app.warning
    typed_schema(app, table(app).schema | {"peeked": True})
    assert "uses real data" in app.warning[0].value
    assert number_of(app) <= 54
    app.query_params["view"] = "stakeholder"
    app.run()
    assert number_of(app) == 74, "nothing of the plan"


def test_a_ledger_s_total_moves_beliefs_as_its_promise_allows(tmp_path, monkeypatch):
    ledger = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("DPCORE_LEDGER", str(ledger))
    events = ((Gaussian(0.1), 2),)
    table = pd.DataFrame({"a": [1]})
    charge_events(
        LedgerStore(ledger, create=True),
        table,
        events,
        dataset="a $x^2$ <b>",
        total=Budget(3, 1e-6),
    )
    app = opened(page(), "All releases")
    t = guarantee.log_odds_bound(
        *accountant_comparison.epsilon_delta_pairs(
            {"": accountant_comparison.lifetime_epsilon_curve(LIFE, CURVE_DELTAS)}, CURVE_DELTAS
        ),
        1e-4,
    )
    assert f"all that may ever be released: {format_percent(posterior(t))}" in marked(app)
    drawn = dataframe(app, "used so far (1) at most")
    assert (
        drawn["used so far (1) at most"] <= drawn["all that may ever be released at most"] + 1e-12
    ).all()
    costs = dataframe(app, "ε, all that may ever be")
    at = costs[np.isclose(costs["δ"], 1e-6, rtol=1e-6, atol=0)].iloc[0]
    assert at["ε, exact Gaussian (GDP)"] == approx(gdp_epsilon(0.1 * math.sqrt(2), 1e-6))
    assert at["ε, all that may ever be"] == approx(3)
    ledger.write_bytes(b"no ledger")
    assert "ledger" in error_text(run_until_settled(app.run()))


LIFE = LifetimeBudget(Budget(3, 1e-6), GdpAccountant, 0.0)


def posterior(evidence):
    return float(guarantee.posterior(0.1, evidence))
