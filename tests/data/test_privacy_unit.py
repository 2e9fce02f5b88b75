"""Whom a guarantee protects: ledgers, cards and pages say it in words that must never change by
themselves.
"""

import pandas as pd
import pytest

from dpcore import PrivacyUnit, limit_rows

ROWS = PrivacyUnit()
PEOPLE = PrivacyUnit("who", 2)
FRAME = pd.DataFrame({"who": list("aaabbc"), "x": range(6)})


def test_only_people_lose_rows():
    assert ROWS.bound_contributions(FRAME) is FRAME
    assert PrivacyUnit(None, 3).bound_contributions(FRAME) is FRAME
    left = PEOPLE.bound_contributions(FRAME, ["x"])
    pd.testing.assert_frame_equal(left, limit_rows(FRAME, "who", 2, ["x"]))
    assert left["who"].value_counts().to_dict() == {"a": 2, "b": 2, "c": 1}


@pytest.mark.parametrize(
    "unit, noun, words, protected, records",
    [
        (
            ROWS,
            "row",
            "each row as one person; someone with several rows is protected less",
            "one row",
            "rows",
        ),
        (
            PEOPLE,
            "person named by who",
            "one person with at most 2 rows",
            "all rows of one person, named by the column 'who', at most 2, chosen by a public "
            "hash of that "
            "person's rows; rows that name nobody count as one person's",
            "rows after that choice",
        ),
        (
            PrivacyUnit("it's"),
            "person named by it's",
            "one person with at most 1 row",
            'all rows of one person, named by the column "it\'s", at most 1, chosen by a public '
            "hash of that "
            "person's rows; rows that name nobody count as one person's",
            "rows after that choice",
        ),
    ],
)
def test_what_was_once_said_stays_said(unit, noun, words, protected, records):
    assert (unit.ledger_noun, unit.description, unit.protected_text) == (noun, words, protected)
    told = (
        f"tables that differ in {protected}, replaced by any others, and have as many "
        f"{records}; n is public"
    )
    assert unit.neighbours_text == told
