"""The audit's game on tables of people: all rows of one person differ, and how many these are."""

import numpy as np

from dpcore import Budget
from dpcore.algorithms import GaussianMaxEnt
from dpcore.evaluation.audit import distinguishing_game as audited
from dpcore.evaluation.audit.transcript_test import audit_transcripts
from tests.small_problems import approx, check_command_refused, run_command

BUDGET = Budget(2.0, 0.01)


def test_the_tables_are_those_of_one_row_each_whatever_rows_the_people_have():
    domain = audited.two_question_problem(10).domain
    counts = [np.array([2 + x, 2 - x, 6]) for x in (0, 1)]
    for table, people in zip(audited._tables_of_people(domain, counts, 3), counts, strict=True):
        assert (table.n, table.votes_per_unit) == (10, 6)
        assert table.values.tolist() == audited.GAME_VALUES.tolist()
        assert (table.weights / 6).tolist() == people.tolist()


def test_what_transcripts_show_of_people_is_what_they_show_of_rows():
    rows, people = (
        audit_transcripts(GaussianMaxEnt(), BUDGET, transcripts=1000, shared_rows=most)
        for most in (None, 3)
    )
    assert (people.promised, people.achievable) == approx((rows.promised, rows.achievable))
    assert people.kept


def test_the_command_plays_on_people_and_catches_the_planted_bug():
    asked = "audit --algorithm=dpfw --runs=1500 --epsilon=2 --delta=0 --shared-rows=3"
    assert "people, bug: half-sensitivity" in run_command(asked, "--bug=half-sensitivity", code=1)
    check_command_refused(
        "measures one row of each person", "audit --algorithm=schema --shared-rows=2"
    )
