"""The review of a release: every question is answered in one sentence, from facts, and nothing better is claimed."""

import json
from pathlib import Path

import pytest

from dpcore.cli import main
from dpcore.publishing.review import LEVELS, Standing, review, review_page
from tests.cli.files import write_files
from tests.helpers import QUERIES


def release(place: Path, out: str, *more: str) -> dict:
    order = [f"--schema={place / 's.json'}", "--queries=marginals:1", f"--ledger={place / 'l.sqlite'}", "--rows=9"]
    order += [f"--out={place / out}", "--epsilon=.3", "--total-epsilon=2", "--total-delta=1e-6", *more]
    assert main(["release", str(place / "t.csv"), *order]) == 0
    return json.loads((place / out / "release.json").read_text(encoding="utf-8"))


def standing(facts: dict) -> dict[str, Standing]:
    return {a.question: a.standing for a in review(facts)}


@pytest.mark.parametrize("algorithm", QUERIES)
def test_nothing_stays_unanswered(tmp_path, algorithm):
    write_files(tmp_path)
    facts = release(tmp_path, "a", f"--algorithm={algorithm}", "--delta=1e-6")
    answers = review(facts)
    assert {a.level for a in answers} == set(LEVELS)
    assert {a.standing for a in answers} >= {Standing.PROVED, Standing.DECLARED, Standing.OPEN}
    for answer in answers:
        assert answer.question.endswith("?")
        assert len(answer.sentence) > 40
        assert "None" not in answer.sentence
    written = (tmp_path / "a" / "review.html").read_text(encoding="utf-8")
    assert written == review_page(facts)
    assert written.count('<tr><th scope="row">') == len(answers)
    card = (tmp_path / "a" / "card.html").read_text(encoding="utf-8")
    assert ("19 of 20 answers: within" in card) is (facts["utility"]["noise"] is not None)
    told = dict(zip([a.question for a in answers], answers, strict=True))["How useful is it?"]
    known = facts["errors"] or facts["utility"]["good_for"] or facts["utility"]["not_for"]
    assert told.standing is (Standing.MEASURED if known else Standing.OPEN)
    assert facts["utility"]["sentence"] in told.sentence
    assert ("as exact as a sample" in told.sentence) is (facts["utility"]["as_exact_as_sample"] is not None)


def test_a_peek_and_floating_point_are_not_covered_and_hostile_words_stay_text(tmp_path):
    write_files(tmp_path)
    schema = json.loads((tmp_path / "s.json").read_text()) | {"peeked": True}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    reason = "--reason=<script>alert(1)</script>"
    facts = release(tmp_path, "a", "--algorithm=gaussian_maxent", "--delta=1e-6", "--noise=float", reason)
    found = standing(facts)
    for question in ("Where do bounds", "Did anyone look", "Can rounding"):
        assert next(s for q, s in found.items() if q.startswith(question)) is Standing.OPEN
    assert "<script" not in review_page(facts)
    assert "default-src 'none'" in review_page(facts)


def test_without_them_the_same_are_declared(tmp_path):
    write_files(tmp_path)
    found = standing(release(tmp_path, "a", "--algorithm=gaussian_maxent", "--delta=1e-6"))
    for question in ("Where do bounds", "Did anyone look", "Can rounding"):
        assert next(s for q, s in found.items() if q.startswith(question)) is Standing.DECLARED


def test_what_is_proved_is_what_the_verifier_checks(tmp_path):
    write_files(tmp_path)
    facts = release(tmp_path, "a", "--algorithm=dpfw", "--delta=1e-6")
    proved = {a.question: a.sentence for a in review(facts) if a.standing is Standing.PROVED}
    assert len(proved) == 4
    assert "ε = 0.3 at δ = 1e-6" in proved["How large are ε and δ?"]
    assert f"Entry {facts['ledger']['entry']} of ledger {facts['ledger']['id']}" in " ".join(proved.values())
