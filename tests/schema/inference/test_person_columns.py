"""Which columns seem to belong to the person: those in which nearly all of a person's rows agree."""

import numpy as np
import pandas as pd

from dpcore.schema.column import Column
from dpcore.schema.inference.person_columns import guess_person_columns
from tests.small_problems import parametrize, seeded

PEOPLE = 200
VISITS = 3


def column_of_visits(kind):
    """Raw cells of people with three visits each, and the column of the person."""
    rng = seeded(0)
    people = np.repeat(np.arange(PEOPLE), VISITS)
    facts = rng.integers(0, 2, PEOPLE)[people]
    visits = np.tile(np.arange(VISITS), PEOPLE)
    cells = {
        "the sex": np.where(facts, "w", "m"),
        "a sex that one row in 100 has wrong": np.where((visits == 0) & (people < 6), "x", facts),
        "a sex that half of the rows lack": np.where(rng.random(len(people)) < 0.5, "", facts),
        "an age in numbers": facts + 40.0,
        "a sex in several spellings": np.where(facts, "w", np.where(visits == 1, "Male", "m")),
        "a ward": rng.integers(0, 3, len(people)),
        "a sex that every tenth row has wrong": np.where(rng.random(len(people)) < 0.1, "x", facts),
        "a rare event of a visit": np.where(rng.random(len(people)) < 0.02, "yes", "no"),
        "what all rows say": np.full(len(people), "here"),
        "nothing": np.full(len(people), ""),
    }
    order = rng.permutation(len(people))
    return pd.Series(cells[kind][order]), pd.Series(people[order])


GUESSES = {
    "the sex": True,
    "a sex that one row in 100 has wrong": True,
    "a sex that half of the rows lack": True,
    "an age in numbers": True,
    "a sex in several spellings": False,
    "a ward": False,
    "a sex that every tenth row has wrong": False,
    "a rare event of a visit": False,
    "what all rows say": False,
    "nothing": False,
}


@parametrize("kind", GUESSES)
def test_a_column_belongs_to_the_person_where_the_rows_of_one_agree(kind):
    cells, person_cells = column_of_visits(kind)
    assert guess_person_columns({"x": cells}, person_cells) == (("x",) if GUESSES[kind] else ())


def test_spellings_of_one_value_agree_where_the_schema_says_so():
    cells, person_cells = column_of_visits("a sex in several spellings")
    column = Column(name="x", kind="categorical", values=("w", "m"), same=(("m", ("Male",)),))
    assert guess_person_columns({"x": cells}, person_cells, [column]) == ("x",)


def test_rows_of_nobody_and_people_with_one_row_say_nothing():
    cells, _ = column_of_visits("the sex")
    ones = pd.Series(np.arange(len(cells)))
    nobody = pd.Series(np.full(len(cells), ""))
    for person_cells in (ones, nobody):
        assert guess_person_columns({"x": cells}, person_cells) == ()
