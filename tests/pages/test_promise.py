"""One promise, one number: every page, card, file and command says what `Promise` says of the same
plan.
"""

import json
import re
from html import unescape

from dpcore import domain_to_json, samples
from dpcore.accuracy.meaning_of_epsilon import Promise, format_times_in_100, guess_tile_texts
from tests.cli.command_files import run_arguments
from tests.cli.test_release import order
from tests.pages.headless import follower_values, heading, markdown_text, open_page, visible_text
from tests.small_problems import module_fixture, run_command

TIMES = r"([\d.]+ times in 100)"


@module_fixture
def facts(tmp_path_factory):
    """The files of a release of Explore's first plan, and what `run` writes about it."""
    place = tmp_path_factory.mktemp("release")
    sample = samples.berkeley()
    sample.frame.to_csv(place / "t.csv", index=False)
    (place / "s.json").write_text(json.dumps(domain_to_json(sample.domain)))
    asked = {
        "table": str(place / "t.csv"),
        "schema": place / "s.json",
        "epsilon": 1,
        "delta": "1e-9",
    }
    run_command(order(place / "out", ledger=place / "l.sqlite", total=(1, "1e-9"), **asked))
    run_command(
        run_arguments(
            queries="marginals:2", algorithm="gaussian_maxent", json=place / "run.json", **asked
        )
    )
    return {
        p.name: unescape(p.read_text())
        for p in (*(place / "out").glob("*.[hj][ts][mo]*"), place / "run.json")
    }


def test_pages_card_review_and_files_say_one_guess_rate_and_one_factor(facts):
    release = json.loads(facts["release.json"])
    run = json.loads(facts["run.json"])
    promise = Promise.of_release(release)
    right = format_times_in_100(promise.max_guess_probability())
    risen = promise.suspicion_percent
    assert release["promise"]["means"] == run["promise"] == promise.to_json()
    pages = [open_page(page, sample="berkeley") for page in ("explore", "release", "guarantee")]
    start = follower_values(open_page("app", epsilon="1"))
    guarantee = pages[-1]
    among = [heading(guarantee), *map(visible_text, pages[:-1])]
    sentence = " ".join(guess_tile_texts(promise.max_guess_probability()))
    for words in (
        start["sentences"][0][start["at"]],
        *among,
        facts["card.html"],
        facts["review.html"],
    ):
        assert set(re.findall(rf"guesses right at most {TIMES}", words)) == {right}, words
        assert sentence in " ".join(re.sub(r"<[^>]+>|[*]", " ", words).split())
    for name in ("card.html", "review.html"):
        assert re.findall(r"rises to ([\d.]+%) at most", facts[name]) == [risen]
    assert f"to at most {risen} in all but" in markdown_text(guarantee)
