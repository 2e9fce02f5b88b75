"""Values that seem to be the same, and those that only look alike."""

import pandas as pd

from dpcore.schema.inference.merges import suggest_merges
from tests.small_problems import categorical, column_from_entry, encode_cells, parametrize

MERGES = {
    "sexes": (["Male", "M", "m", "Female", "f"], {"Male": ["M", "m"], "Female": ["f"]}),
    "sexes in German": (["männlich", "w", "Frau", "m"], {"männlich": ["m"], "Frau": ["w"]}),
    "yes in many languages": (["Sí", "yes", "No", "nein"], {"yes": ["Sí"], "nein": ["No"]}),
    "case and spaces": (["New York", "new york ", "Paris"], {"new york ": ["New York"]}),
    "accents": (["Orléans", "Orleans", "Nice"], {"Orléans": ["Orleans"]}),
    "beginnings": (["Calif", "California", "Texas"], {"California": ["Calif"]}),
    "two beginnings": (["North", "Northeast", "Northwest"], {}),
    "other letters": (["m", "x", "f"], {}),
    "numbers": (["1", "10", "1.5", "15", "-15"], {}),
    "signs": (["+", "-", "?"], {}),
    "a short beginning": (["A", "AB", "B"], {}),
    "one unknown": (["Male", "M", "F", "unknown", "?"], {"Male": ["M"]}),
    "letters": (["m", "h", "x"], {}),
    "grades": (["B", "B+", "B-", "b"], {"b": ["B"]}),
    "nothing": ([], {}),
}


@parametrize("name", MERGES)
def test_values_that_seem_to_be_the_same_are_suggested(name):
    values, expected = MERGES[name]
    found = suggest_merges(dict.fromkeys(values, 1))
    assert found == expected
    kept = [value for value in values if value not in sum(found.values(), [])]
    if kept:
        column = column_from_entry(**categorical(*kept, same=found))
        codes = encode_cells(column, pd.Series(values, dtype=object))
        assert len(set(codes)) == len(kept)
    assert suggest_merges(dict.fromkeys(reversed(values), 1)) == found, "the order says nothing"


def test_the_most_frequent_spelling_names_the_value():
    assert suggest_merges({"M": 9, "Male": 1, "F": 2}) == {"M": ["Male"]}
