"""The facts label and what a board will ask: all of it follows from release.json alone."""

import copy
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from dpcore import read_json
from dpcore.data.privacy_unit import PrivacyUnit
from dpcore.release.evidence import facts_label
from dpcore.release.evidence.card import LOOKED_AT_DATA_CAVEAT, PEEKED_CAVEAT, SEVERAL_ROWS_CAVEAT
from dpcore.release.evidence.facts_label import label_svg, strength_words
from dpcore.release.evidence.review import board_page
from tests.cli.test_release import release_in
from tests.small_problems import module_fixture, parametrize

ASSETS = Path(__file__).parents[3] / "assets"
HOSTILE = '<script>alert("1")</script> \u202ename'


@module_fixture
def folder(tmp_path_factory):
    return release_in(tmp_path_factory.mktemp("releases"))


@module_fixture
def facts(folder):
    return read_json(folder / "release.json")


def label_words(facts, number=1):
    """The lines of a label, which is well formed, joined as they are read."""
    root = ElementTree.fromstring(label_svg(facts, number))
    return " ".join(element.text for element in root if element.tag.endswith("text"))


def board_words(facts, number=1):
    return " ".join(unescape(re.sub(r"<[^>]*>", "", board_page(facts, number))).split())


def test_the_files_are_those_of_the_facts_and_the_card_holds_the_label(folder, facts):
    assert (folder / "label.svg").read_text() == label_svg(facts, 1)
    assert (folder / "board.html").read_text() == board_page(facts, 1)
    assert label_svg(facts, 1).strip() in (folder / "card.html").read_text()


def test_a_label_and_a_board_read_the_same_numbers(facts):
    assert "each row as one person Counted: 200 people." in label_words(facts)
    for words in (label_words(facts), board_words(facts)):
        assert "ε = 5 at δ = 1e-6" in words
        assert "ε = 5 of 40 at δ = 1e-6" in words
        assert re.search("guesses right at most [0-9]+ times in 100", words)
        assert SEVERAL_ROWS_CAVEAT in words
        assert "see every row" in words
    assert re.findall(r"\b(\d+)\. [A-Z]", board_words(facts)) == [str(i) for i in range(1, 11)]
    assert "Nobody declared it" in board_words(facts)
    assert "What do we publish? Synthetic rows, and 61 answers" in board_words(facts)
    without_rows = changed(facts, files={"answers.csv": "ab" * 32})
    without_rows["files"].pop("synthetic.csv")
    assert "What do we publish? 61 answers" in board_words(without_rows)


def changed(facts, **parts):
    """The facts with other ones in some of their parts."""
    other = copy.deepcopy(facts)
    for name, values in parts.items():
        if isinstance(values, dict):
            other[name].update(values)
        else:
            other[name] = values
    return other


def test_people_with_several_rows_a_look_and_later_releases_change_the_label(facts):
    unit = PrivacyUnit("who", 3)
    person = changed(
        facts, protects={"unit": unit.protected_text, "rows_per_person": 3, "records": 90}
    )
    assert "each person, with up to 3 rows Counted: 90 rows." in label_words(person)
    assert SEVERAL_ROWS_CAVEAT not in label_words(person)
    once = changed(person, protects={"rows_per_person": 1, "count": "people", "row_limit": 9})
    assert "each person, whose up to 9 rows share one vote Counted: 90 people." in label_words(once)
    looked = changed(facts, reason="to know the range", schema={"peeked": True})
    for words in (label_words(looked), board_words(looked)):
        assert PEEKED_CAVEAT in words
        assert LOOKED_AT_DATA_CAVEAT in words
    assert "Yes, for this reason: to know the range" in board_words(looked)
    later = changed(facts, dataset={"spent": {"epsilon": 40.0, "delta": 1e-6}})
    assert "Release 7, " in label_words(later, 7)
    assert "ε = 40 of 40 at δ = 1e-6 100% of the whole budget" in label_words(later)


@parametrize("epsilon, word", [(0.1, "stronger"), (1.7, "about"), (7.3, "about"), (8, "weaker")])
def test_epsilon_is_said_beside_public_uses(epsilon, word):
    assert strength_words(epsilon).startswith(word)


def test_the_usual_epsilon_is_that_of_the_registry():
    table = pd.read_csv(ASSETS / "deployments.csv", comment="#")
    stated = table.dropna(subset=["epsilon", "unit", "model", "year"])["epsilon"]
    assert len(stated) == facts_label.PUBLIC_USES
    ends = np.quantile(stated, [0.25, 0.75])
    assert np.abs(ends - facts_label.USUAL_EPSILON).max() < 0.051


def test_hostile_names_are_text(facts):
    hostile = changed(facts, dataset={"name": HOSTILE}, reason=HOSTILE)
    assert "<script" not in label_svg(hostile, 1)
    assert "\u202e" not in label_svg(hostile, 1)
    assert '<script>alert("1")</script>' in label_words(hostile)
    assert "<script" not in board_page(hostile, 1)
