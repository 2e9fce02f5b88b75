"""The Audit page, headless: a kept promise, a planted bug that is caught, refusals in words, and
Cancel.
"""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dpcore import ALGORITHMS, Budget
from dpcore.accuracy.meaning_of_epsilon import format_times_in_100
from dpcore.core.job import Job, JobCancelled
from dpcore.evaluation.audit.distinguishing_game import play_distinguishing_game, with_fewest_rounds
from dpcore.evaluation.audit.transcript_test import AuditVerdict, audit_transcripts
from pages._ui.audit import game as audits
from tests import make_assets
from tests.pages.headless import (
    caption_text,
    click_and_wait,
    error_text,
    figure_traces,
    figures,
    markdown_text,
    open_page,
    plotly_numbers,
    set_fields,
    unescape_markdown,
)
from tests.small_problems import QUERIES, approx


def played(bug=False, **sliders):
    """The page after a game."""
    chosen = {f"audit-{key}": value for key, value in sliders.items()}
    return click_and_wait(
        set_fields(open_page("audit"), audit_runs=500, audit_bug=bug, **chosen), "Apply and play"
    )


def test_the_page_opens_on_a_finished_game_with_its_picture():
    app = open_page("audit")
    found = audits.opening_game().game
    right, allowed = audits.guess_rates(found)
    assert (found.budget, format_times_in_100(allowed)) == (Budget(1.0, 1e-9), "54 times in 100")
    assert np.interp(-found.line, -found.thresholds, found.hits + found.false_alarms) == approx(
        1, abs=0.03
    )
    assert (
        f"**Passed: {100 * right:.1f} of 100 guesses right, at most 54 allowed.**"
        in unescape_markdown(app.success[0].value)
    )
    assert f"released {found.runs:,} times at ε = 1." in caption_text(app)
    assert "up to 0.5: only above 54.5 suggests a breach." in caption_text(app)
    (points,) = figure_traces(app)
    assert points["text"] == [f"{100 * right:.1f} of 100 right", "54 allowed"]
    assert plotly_numbers(points["x"]) == approx([round(100 * right, 1), 54]), (
        "as said, the promise rounded up"
    )
    allowed, all_of_them = (zone["x1"] for zone in figures(app)[0]["layout"]["shapes"])
    assert (allowed, all_of_them) == (54, 100)
    assert list(audits.score_histograms(found).iloc[:, 1:].sum()) == approx([0.99, 0.99], abs=2e-3)
    assert app.selectbox(key="audit-algorithm").options == [
        cls.about.title for cls in QUERIES.values()
    ]


def test_a_game_that_is_kept_is_the_one_that_was_played(monkeypatch, tmp_path):
    """With all points of its curves that the page reads."""
    found = play_distinguishing_game(
        with_fewest_rounds(ALGORITHMS["gaussian_maxent"]()), Budget(1.0, 1e-9), runs=100
    )
    evidence = json.loads(audits.OPENING_GAME_FILE.read_text(encoding="utf-8"))[1]
    monkeypatch.setattr(make_assets, "KEPT", 10)
    monkeypatch.setattr(audits, "OPENING_GAME_FILE", tmp_path / "audit.json")
    audits.OPENING_GAME_FILE.write_text(
        json.dumps([make_assets.game_kept(found), evidence]), encoding="utf-8"
    )
    kept = audits.opening_game.__wrapped__().game
    assert len(kept.hits) <= 12
    assert audits.guess_rates(kept) == approx(audits.guess_rates(found), abs=1e-5)
    assert (kept.runs, kept.promised, kept.accounting) == (100, found.promised, found.accounting)


def test_a_kept_promise_is_consistent_and_its_curve_stands_under_the_limit():
    app = played(delta=0.01)
    assert "Passed: " in app.success[0].value
    values = [
        float(value)
        for value in re.findall(r"ε[^*]*\*\*([\d.]+)\*\*", unescape_markdown(markdown_text(app)))
    ]
    assert values[0] == approx(1, abs=1e-3)
    assert 0 <= min(values[1:]) <= max(values[1:]) <= values[0]
    _, _, figure, transcripts = figures(app)
    assert [t["name"] for t in figure["data"]] == [
        "this game",
        "limit by ε and δ",
        "limit by the plan's μ",
        "a coin",
    ]
    assert "can miss a small breach. Guarantee shows the reasoning." in markdown_text(app)
    assert [t["name"][:8] for t in transcripts["data"]] == [
        "measured",
        "promised",
        "shown wi",
        "a coin",
    ]
    share = re.search(
        r"show μ ≥ ([\d.]+) with 99% confidence: (\d+)% of the ([\d.]+) that the plan uses",
        caption_text(app),
    )
    assert float(share[1]) / float(share[3]) == approx(float(share[2]) / 100, abs=0.01)
    assert 0 < float(share[1]) < float(share[3])


def test_the_planted_bug_is_caught():
    app = played(bug=True, epsilon=3.0, delta=0.01)
    assert re.search(
        r"Failed, the promise is broken: [\d.]+ of 100 guesses right, at most \d+ allowed\.\*\* "
        r".* ε is at least [\d.]+. Promised was 3.",
        unescape_markdown(app.error[0].value),
    )
    assert "catches the planted bug" in markdown_text(app)
    assert "the promise allows no more than" in caption_text(app)


def test_what_transcripts_show_is_drawn_below_what_is_promised():
    evidence = audit_transcripts(
        ALGORITHMS["gaussian_maxent"](), Budget(6.0, 0.01), transcripts=2000
    )
    frame = audits.transcript_curves(evidence)
    assert frame.iloc[0]["right"] == 0
    assert frame.iloc[-1]["right"] == 1
    inner = frame[frame["false alarms"].between(0, 1, inclusive="neither")]
    assert (inner["shown"] < inner["promised"]).all()
    assert (np.abs(inner["right"] - inner["promised"]) < 0.12).all(), (
        "the tables use all that is promised"
    )
    assert (inner["right"] > inner["shown"]).mean() > 0.75


def test_a_breach_that_only_transcripts_show_is_one():
    evidence = audit_transcripts(
        ALGORITHMS["gaussian_maxent"](), Budget(3.0, 0.01), transcripts=1500, bug="half-sensitivity"
    )
    found = play_distinguishing_game(ALGORITHMS["gaussian_maxent"](), Budget(3.0, 0.01), runs=20)
    assert not evidence.kept
    assert found.kept
    assert not AuditVerdict(found, evidence).is_consistent
    assert AuditVerdict(found, None).is_consistent


def test_a_promise_that_cannot_be_made_is_refused_in_words_below_which_the_last_game_stays():
    last = figures(app := played(bug=True))
    assert "delta=0" in error_text(
        click_and_wait(set_fields(app, audit_delta=0.0), "Apply and play")
    )
    assert "Below is the last finished game." in caption_text(app)
    assert figures(app) == last


def test_the_curves_begin_and_end_where_they_must():
    frame = audits.game_curves(audits.opening_game().game)
    assert frame["false alarms"].is_monotonic_increasing
    assert frame.iloc[0].tolist()[:3] == [0, 0, 1e-9]
    assert frame.iloc[-1].tolist() == [1, 1, 1, 1]
    inner = frame.iloc[1:-1]
    assert (inner["gaussian"] <= inner["limit"] + 1e-9).all(), (
        "the plan's own curve is within (ε, δ)"
    )
    assert (np.abs(inner["gaussian"] - inner["limit"]) < 1e-3).any(), "and touches it"


def test_the_caption_of_a_breach_quotes_the_point_of_the_breach():
    """Not the knee, which may lie within the limit while a corner breaks it."""
    x = np.array([0.01, 0.3, 0.6])
    hits = np.array([0.2, 0.8, 0.85])
    curve = {
        "thresholds": -x,
        "false_alarms": x,
        "hits": hits,
        "limit": np.array([0.04, 0.83, 0.9]),
    }
    found = replace(audits.opening_game().game, epsilon_low=2.0, **curve)
    frame = audits.game_curves(found)
    told = (
        "At 1.0% false alarms the second table is recognised 20.0% of the time; the promise "
        "allows no more than"
    )
    assert audits.curve_summary(found, frame) == told + " 4.0%."
    kept = replace(found, epsilon_low=0.99)
    assert audits.curve_summary(kept, frame).startswith(
        "At 30.0% false alarms the second table is recognised 80.0%"
    )
    assert audits.curve_summary(kept, frame).endswith("; the promise allows no more than 83.0%.")


def test_a_game_can_be_stopped():
    work = Job(None)
    told = []

    def progress(done, total):
        told.append((done, total))
        work.cancel()
        work.report_progress(done / total, "")

    with pytest.raises(JobCancelled):
        play_distinguishing_game(
            ALGORITHMS["gaussian_maxent"](), Budget(1.0, 0.01), runs=400, progress=progress
        )
    assert told == [(50, 800)]
