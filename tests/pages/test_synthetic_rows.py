"""Synthetic rows to download on Explore, and to ask for on Release: rows, or people with theirs."""

from io import StringIO
from types import SimpleNamespace
from typing import Any

import pandas as pd

from dpcore import PrivacyUnit
from pages._ui.explore import keep_run
from pages._ui.release.synthetic_texts import synthetic_texts
from tests.models.test_synthetic_people import MODELS, UNIT
from tests.small_problems import parametrize

ONE_ROW_EACH = PrivacyUnit("id", 3, counts_people=True)
ALIKE = "alike only through the person's columns"


@parametrize(
    "unit, label, words",
    [
        (UNIT, "Synthetic people", ALIKE),
        (ONE_ROW_EACH, "Synthetic rows", "ne for each person"),
        (PrivacyUnit("id", 3), "Synthetic rows", "As many"),
    ],
)
def test_pages_say_what_synthetic_rows_are(unit, label, words):
    found, help_text = synthetic_texts(unit)
    assert found == label
    assert words in help_text
    assert words.removeprefix("ne ") in keep_run._download_help(unit)


def test_people_are_downloaded_with_all_their_rows():
    summary = SimpleNamespace(seed=0, problem=SimpleNamespace(n=30))
    result: Any = SimpleNamespace(summary=summary, release=MODELS["tree"])
    people = pd.read_csv(StringIO(keep_run._sample_csv(result, UNIT))).groupby("id")
    assert len(people) == 30
    assert (people.size() == people["rows"].first()).all()
    rows = pd.read_csv(StringIO(keep_run._sample_csv(result, ONE_ROW_EACH)))
    assert list(rows) == ["ward", "sex", "sick", "rows"]
    assert len(rows) == 30
