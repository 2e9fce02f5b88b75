"""The Alternatives page: opens with its picture, says what is proved beside noise, and nothing of it
is kept or shown to stakeholders.
"""

import json
import re

import pytest

from dpcore.evaluation.reconstruction.rule_outcomes import comparison_sentences
from pages._ui.alternatives import attack_job, attack_report, attack_settings, results_view
from pages._ui.alternatives.attack_job import AttackResult
from pages._ui.session import sample_table
from pages._ui.session.current_table import SAMPLES
from tests import make_assets
from tests.pages.headless import (
    all_words,
    button_labels,
    click_and_wait,
    dataframe,
    figures,
    markdown_text,
    open_page,
    plotly_numbers,
    set_fields,
    switch_page,
    unescape_markdown,
    upload,
    visible_text,
)
from tests.small_problems import approx, parametrize


@pytest.fixture(scope="module")
def page():
    return open_page("alternatives", sample="berkeley")


def stored(name):
    return AttackResult.from_json(attack_job.stored_attacks()[name]["result"])


@parametrize("name", SAMPLES)
def test_the_page_opens_with_what_is_stored_for_a_sample(name):
    table = sample_table(name)
    settings = attack_settings.default_settings(table.domain)
    result = attack_job.stored_result(table, settings)
    assert [one.rule for one in result.outcomes] == list(attack_settings.DEFAULT_RULES)
    assert all(one.undecided_share == 0 for one in result.outcomes)


def test_what_is_stored_is_what_the_code_computes():
    again = make_assets.attacked("titanic")
    kept = attack_job.stored_attacks()["titanic"]
    assert json.loads(json.dumps(again["asked"])) == kept["asked"]
    for one, other in zip(again["result"]["outcomes"], kept["result"]["outcomes"], strict=True):
        assert without_seconds(one) == without_seconds(other)
    for one, other in zip(again["result"]["curve"], kept["result"]["curve"], strict=True):
        assert one["max_guess"] == approx(other["max_guess"])
        assert one["costs"]["misplaced"] == approx(other["costs"]["misplaced"], rel=0.01)


def without_seconds(outcome):
    """What an attack came to; its likeliest table, of several, may be another elsewhere."""
    left_out = ("seconds", "guessed_share")
    return json.loads(json.dumps({k: v for k, v in outcome.items() if k not in left_out}))


def test_the_picture_has_a_mark_a_rule_and_the_noise_as_a_curve(page):
    (figure,) = figures(page)
    noise, chosen, rules = figure["data"]
    result = stored("berkeley")
    assert plotly_numbers(rules["x"]) == approx([100 * o.costs.misplaced for o in result.outcomes])
    assert plotly_numbers(rules["y"]) == approx([100 * o.proved_share for o in result.outcomes])
    assert plotly_numbers(noise["y"]) == approx([100 * p.max_guess for p in result.curve])
    assert chosen["name"] == "noise at ε = 1"
    names = [note["text"].replace("<br>", " ") for note in figure["layout"]["annotations"]]
    assert sorted(names) == sorted(attack_settings.DEFAULT_RULES)


def test_the_sentence_under_it_is_computed_for_the_rule_that_is_chosen(page):
    text = visible_text(page)
    assert re.search(
        r"“Rounded to 5” has the error of ε = [\d.]+\. It proves 67 of 100 people of these tables; "
        r"the noise lets a guess be right at most [\d.]+ times in 100\.",
        text,
    )
    exact = comparison_sentences(stored("berkeley").outcomes[0], 100, "people", None)
    app = set_fields(page, shown_rule="exact tables")
    assert exact in visible_text(app)
    set_fields(app, shown_rule="rounded to 5")


def test_every_rule_is_listed_with_what_guesses_are_compared_with(page):
    table = dataframe(page, "rule", "proved %")
    result = stored("berkeley")
    assert table["proved %"].tolist() == approx([100 * one.proved_share for one in result.outcomes])
    columns = {"undecided %", "guessed from single columns %", "in another sample %"}
    assert columns | {"value disclosed %", "ε of equal error"} <= set(table)


def test_another_choice_is_attacked_at_once_and_the_rest_is_said():
    app = open_page("alternatives", sample="titanic")
    app = set_fields(app, disclosure_rules=["exact tables", "rounded to 10"], attacked_people=30)
    captions = unescape_markdown(" ".join(c.value for c in app.caption))
    assert "30 people. Not attacked: the other 2,171." in captions
    assert dataframe(app, "rule", "proved %")["rule"].tolist() == ["exact tables", "rounded to 10"]
    app = set_fields(app, attacked_group="Class", attacked_people=30)
    assert not app.error


def test_an_upload_is_attacked_when_that_is_asked_for_and_never_shown_to_stakeholders():
    app = open_page("data")
    rows = "\n".join(f"{i % 3},{i % 2},{'xy'[i % 5 > 2]}" for i in range(40))
    app = upload(app, f"a,b,c\n{rows}".encode())
    app = switch_page(app, "data")
    if "Fill in from my data (not protected)" in button_labels(app):
        app = click_and_wait(app, "Fill in from my data (not protected)")
    app = switch_page(app, "alternatives")
    assert "Attack these tables" in button_labels(app), all_words(app)
    assert not figures(app)
    app = click_and_wait(app, "Attack these tables")
    assert len(figures(app)) == 1
    assert "uses real data – do not publish" in markdown_text(app)
    app.query_params["view"] = "stakeholder"
    app = switch_page(app, "alternatives")
    assert not figures(app)
    assert "proves" not in visible_text(app)


def test_the_report_is_one_table_of_all_rules_with_what_they_do_not_say(page):
    table = sample_table("berkeley")
    settings = attack_settings.default_settings(table.domain)
    task = attack_job.make_task(table.domain, table.encoded_rows(table.domain.names), settings)
    result = stored("berkeley")
    found = results_view.Alternatives(
        task=task,
        result=result,
        counterparts=dict.fromkeys(attack_settings.DEFAULT_RULES),
        at_slider=result.curve[2],
        unit="people",
    )
    text = attack_report.render_report(table, found)
    assert "uses real data – do not publish" in text
    for outcome in result.outcomes:
        assert f"<bdi>{outcome.rule}</bdi>" in text
        assert f"{round(100 * outcome.proved_share)} of 100 people" in text
    assert all(limit in text for limit in results_view.limit_texts("people"))
    assert "<script" not in text
