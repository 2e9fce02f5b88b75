"""A sweep goes on with the points of its own table only: the same headings, cells, people, limit
and questions.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpcore import Marginals, PrivacyUnit, domain_from_json, source_at
from dpcore.data.sources.gathered_counts import GatheredCounts
from dpcore.evaluation.sweeps.sweep import rows_digest, table_digest
from tests.cli.command_files import OPEN, people_table
from tests.small_problems import check_command_refused, parametrize, run_command, write_json

CELLS = ["a", "b", "a\nb", "", "1", "1.0", "1.50", "1.5", " a", None, '"', "a,b"]
NAMES = ["x", "y", "person"]


@st.composite
def tables(draw):
    """A small table of texts, with its columns in any order."""
    names = draw(st.permutations(NAMES))
    rows = draw(
        st.lists(st.lists(st.sampled_from(CELLS), min_size=3, max_size=3), min_size=1, max_size=4)
    )
    return pd.DataFrame(rows, columns=pd.Index(names), dtype=object)


UNITS = [
    PrivacyUnit(),
    PrivacyUnit("person", 1),
    PrivacyUnit("person", 2),
    PrivacyUnit("x", 1),
    PrivacyUnit(None, 2),
]


def used(frame, unit):
    """All that a run can depend on: the columns in use in their order, the rows as a multiset,
    people and limit.
    """
    names = [name for name in frame.columns if name in ("x", "y", unit.person)]
    rows = sorted(
        repr([cell.strip() if cell else cell for cell in row])
        for row in frame[names].to_numpy().tolist()
    )
    return names, rows, unit


@given(tables(), tables(), st.sampled_from(UNITS), st.sampled_from(UNITS))
def test_a_table_has_the_digest_of_another_one_only_where_it_is_used_alike(one, two, first, second):
    same = used(one, first) == used(two, second)
    assert (table_digest(one, ["x", "y"], first) == table_digest(two, ["x", "y"], second)) is same


@given(tables(), st.integers(0, 9), st.sampled_from(UNITS))
def test_neither_the_order_of_rows_nor_a_column_that_nobody_uses_counts(frame, seed, unit):
    other = frame.sample(frac=1, random_state=seed).assign(unused="z")
    assert table_digest(frame, ["x", "y"], unit) == table_digest(other, ["x", "y"], unit)


@given(st.integers(0, 99), st.data())
def test_every_small_change_of_a_table_is_seen(seed, data):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.choice(["a", "b", "c\nd"], 6) for name in NAMES})
    changed = frame.copy()
    place = data.draw(st.tuples(st.integers(0, 5), st.integers(0, 2)))
    changed.iat[place] = data.draw(st.sampled_from(["a", "b", "c\nd", "c", "d", ""]))
    assume(changed.iat[place] != frame.iat[place])
    unit = PrivacyUnit("person", 2)
    assert table_digest(frame, ["x", "y"], unit) != table_digest(changed, ["x", "y"], unit)


OTHERS = {
    "other people": lambda frame: frame.assign(id=frame["id"].to_numpy()[::-1]),
    "headings swapped": lambda frame: frame.rename(columns={"pay": "age", "age": "pay"}),
    "line breaks cut elsewhere": lambda frame: frame.assign(
        age=["7\n19", "8\n18", *frame["age"][2:]]
    ),
    "one cell": lambda frame: frame.assign(job=frame["job"].mask(frame.index == 3, "doctor")),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A table of people with several rows, and a schema of which most is to be measured."""
    monkeypatch.chdir(tmp_path)
    frame = people_table(600).assign(id=np.arange(600) // 3)
    frame = frame.assign(age=["7\n18", "8\n19", *frame["age"][2:]])
    frame.to_parquet("a.parquet")
    write_json("s.json", OPEN)
    return frame


def sweep(table="a.parquet", *more, most=2, queries="marginals:1", person="id"):
    given = f"sweep {table} --schema=s.json --epsilons=2 --repeat=1 --delta=1e-6 --json=o.json"
    who = [f"--person={person}", f"--most-rows={most}"] if person else []
    return [*given.split(), f"--queries={queries}", "--algorithms=gaussian_maxent", *who, *more]


@parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_sweep_of_another_table_is_not_taken_up_again(here, other):
    run_command(sweep())
    before = Path("o.json").read_bytes()
    other(here).to_parquet("b.parquet")
    check_command_refused("belongs to another", sweep("b.parquet", "--resume"))
    assert Path("o.json").read_bytes() == before
    here.sample(frac=1, random_state=0).to_parquet("c.parquet")
    run_command(sweep("c.parquet", "--resume"))
    assert Path("o.json").read_bytes() == before


def test_a_sweep_with_another_person_limit_or_question_is_not_taken_up_again(here):
    here.assign(other=here["id"]).to_parquet("a.parquet")
    run_command(sweep())
    check_command_refused("another task", sweep("a.parquet", "--resume", most=1))
    check_command_refused("another task: person", sweep("a.parquet", "--resume", person="other"))
    check_command_refused("another task", sweep("a.parquet", "--resume", queries="ranges:age"))


def test_the_texts_of_questions_about_what_is_measured_count(here):
    """Before it is measured, where a column's bins begin is not known, and both are the same
    question.
    """
    run_command(sweep(queries="question:age > 50"))
    check_command_refused(
        "another task: asked", sweep("a.parquet", "--resume", queries="question:age > 60")
    )


def test_counts_of_another_file_have_another_digest(tmp_path):
    """Two tables with the same counts of single columns, of which an algorithm may count pairs
    later.
    """
    names = [f"c{i}" for i in range(12)]
    domain = domain_from_json(dict.fromkeys(names, 9))
    rows = np.random.default_rng(0).integers(0, 9, (50, 12))
    moved = rows.copy()
    moved[:, 0] = moved[::-1, 0]
    digests = []
    for number, codes in enumerate((rows, moved)):
        path = tmp_path / f"{number}.parquet"
        pd.DataFrame(codes, columns=pd.Index(names)).to_parquet(path)
        source = source_at(path)
        tally = source.count(domain, Marginals.all(domain, 1).axes)
        digests.append(rows_digest(GatheredCounts(domain, tally.n, tally.tables, source)))
        assert rows_digest(GatheredCounts(domain, tally.n, tally.tables)) == rows_digest(
            GatheredCounts(domain, tally.n, tally.tables)
        )
    assert digests[0] != digests[1]
