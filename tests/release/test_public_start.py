"""A public start is no private table in another dress: it is compared by content, and the release
says what it was.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import Budget, Marginals, domain_from_json, source_at
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.parameters import build_from_texts
from dpcore.data.fingerprint import table_fingerprint
from dpcore.data.readers import load_table
from dpcore.problems import QueryRelease
from dpcore.release.preparation import prepare_release
from dpcore.release.public_start import PUBLIC_FINGERPRINT_KEY, StartTable
from dpcore.release.request import ReleaseRequest
from tests.cli.test_release import facts, order
from tests.small_problems import (
    categorical,
    check_command_refused,
    expect_error,
    integer,
    parametrize,
    run_command,
    seeded,
    write_json,
)

COLUMNS = {
    "sex": categorical("F", "M"),
    "age": integer(0, 79, bins=4),
    "city": categorical("Ulm", "Bonn", "Köln"),
}
DOMAIN = domain_from_json({"columns": COLUMNS})
FOUND = "the public start holds the private table"


def people(n=200, seed=0):
    """A table of people: three columns of the schema, and two that tell them apart."""
    rng = seeded(seed)
    frame = {"sex": rng.choice(["F", "M"], n), "age": rng.integers(0, 80, n)}
    frame |= {
        "city": rng.choice(["Ulm", "Bonn", "Köln"], n),
        "pay": rng.normal(size=n).round(6),
        "id": np.arange(n),
    }
    return pd.DataFrame(frame).astype(str)


def checked(start, private, sha256=("", ""), domain=DOMAIN):
    """What a release of the private table, a source or one in memory, says of a start; nothing is
    charged.
    """
    public = StartTable.of("public.csv", start, domain, sha256[0])
    return prepare_release(
        ReleaseRequest(
            frame=private,
            sha256=sha256[1],
            workload=Marginals.all(domain, 1),
            query_texts=("marginals:1",),
            algorithm=build_from_texts(algorithms_for_problem(QueryRelease)["mwem"], {}),
            budget=Budget(1, 1e-6),
            start=public,
            rows=10,
        )
    )


DRESSES = {
    "as it is": lambda f, _: f,
    "rows in another order": lambda f, rng: f.sample(frac=1, random_state=int(rng.integers(99))),
    "columns in another order": lambda f, _: f[f.columns[::-1]],
    "columns of the schema alone": lambda f, _: f[["sex", "age", "city"]],
    "numbers as numbers": lambda f, _: f.assign(
        age=f["age"].astype(float), pay=f["pay"].astype(float)
    ),
    "every row twice": lambda f, _: pd.concat([f, f]),
    "another number in the same bin": lambda f, _: f.assign(
        age=(f["age"].astype(int) // 20 * 20).astype(str), pay="0"
    ),
    "with other people": lambda f, rng: pd.concat(
        [f, people(150, int(rng.integers(1, 99))).assign(id="x")]
    ),
    "some of its rows": lambda f, _: f.iloc[::3],
    "more columns": lambda f, rng: f.assign(more=rng.integers(0, 9, len(f))),
    "half of it changed": lambda f, _: f.assign(
        pay=f["pay"].where(np.arange(len(f)) % 3 > 0, "0.5")
    ),
}


@given(st.sampled_from(list(DRESSES)), st.integers(0, 99), st.booleans())
def test_the_private_table_is_no_start_in_any_dress(tmp_path_factory, name, seed, in_parts):
    frame = people(seed=seed)
    start = DRESSES[name](frame, seeded(seed))
    if in_parts:
        path = tmp_path_factory.mktemp("start") / "t.parquet"
        frame.to_parquet(path)
        with expect_error(FOUND):
            checked(start, source_at(path))
    else:
        with expect_error(FOUND):
            checked(start, frame)


@given(st.integers(0, 99), st.integers(2, 400), st.integers(2, 400), st.booleans())
def test_a_table_of_other_people_is_a_start(seed, n, m, wide):
    """Also where few cells make most rows alike: chance makes no private table of a public one."""
    one, two = (people(size, seed=2 * seed + i) for i, size in enumerate((n, m)))
    other = two.assign(id=two["id"] + "x")
    if not wide:
        one = one[["sex", "age", "city"]]
        other = other[["sex", "age", "city"]]
    same = n == m and sorted(map(tuple, one.to_numpy())) == sorted(map(tuple, other.to_numpy()))
    shares = [DOMAIN.encode(frame) for frame in (one, other)]
    alike = (
        len(shares[0].values) == len(shares[1].values)
        and (shares[0].values == shares[1].values).all()
    )
    if same or (alike and (shares[0].weights * m == shares[1].weights * n).all()):
        return
    assert checked(other, one).request.start.name == "public.csv"


def test_a_table_of_one_persons_several_rows_is_compared_before_they_are_limited(tmp_path):
    frame = people().assign(id=np.arange(200) // 4)
    frame.to_csv(tmp_path / "t.csv", index=False)
    with expect_error(FOUND):
        checked(frame.sample(frac=1, random_state=1), frame)


def test_counts_of_a_large_table_are_compared_too(tmp_path):
    names = [f"c{i}" for i in range(12)]
    domain = domain_from_json(dict.fromkeys(names, 9))
    frame = pd.DataFrame(seeded(0).integers(0, 9, (300, 12)), columns=pd.Index(names))
    frame.to_parquet(tmp_path / "t.parquet")
    for start in (
        frame,
        frame.sample(frac=1, random_state=0),
        pd.concat([frame, frame]),
        frame[:200],
    ):
        with expect_error(FOUND):
            checked(start, source_at(tmp_path / "t.parquet"), domain=domain)
    other = pd.DataFrame(seeded(1).integers(0, 9, (300, 12)), columns=pd.Index(names))
    checked(other, source_at(tmp_path / "t.parquet"), domain=domain)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The private table, under several names and in several forms, and a public one."""
    monkeypatch.chdir(tmp_path)
    frame = people()
    frame.to_csv("t.csv", index=False)
    Path("copy.csv").write_bytes(Path("t.csv").read_bytes())
    Path("hard.csv").hardlink_to("t.csv")
    Path("soft.csv").symlink_to("t.csv")
    frame.to_parquet("form.parquet")
    frame.to_excel("form.xlsx", index=False)
    frame.to_csv("windows.csv", index=False, encoding="windows-1252", sep=";")
    people(90, seed=7).to_csv("<i>public.csv", index=False)
    write_json("s.json", {"columns": COLUMNS})
    return frame


@parametrize(
    "start",
    ["t.csv", "copy.csv", "hard.csv", "soft.csv", "form.parquet", "form.xlsx", "windows.csv"],
)
def test_the_command_refuses_it_before_anything_is_charged(here, start):
    for how in ("--stream", "--no-stream"):
        check_command_refused(FOUND, order("out", f"--start={start}", how, algorithm="mwem"))
    assert not Path("l.sqlite").exists()
    assert not Path("out").exists()


def test_a_release_names_its_start_and_anybody_can_tell_which_it_was(here):
    run_command(order("out", "--start=<i>public.csv", algorithm="mwem"))
    start = facts()["made_by"]["start"]
    public = load_table("<i>public.csv")
    expected = {"name": "<i>public.csv", "rows": 90, "sha256": public.sha256}
    assert start == expected | {
        "fingerprint": table_fingerprint(public.frame, PUBLIC_FINGERPRINT_KEY)
    }
    card = Path("out/card.html").read_text()
    assert "Started from a public table" in card
    assert start["fingerprint"] in card
    assert "<i>public" not in card
    run_command(order("plain", algorithm="mwem", total=None))
    assert facts("plain")["made_by"]["start"] is None
    assert "Started from a public table" not in Path("plain/card.html").read_text()
