"""A table in a database is counted there, into the very counts of the same table in memory."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pytest

from dpcore import Marginals, gather, read_json
from dpcore.data.sources import database_source
from dpcore.data.sources.database_source import DatabaseSource, connect_database
from tests.small_problems import (
    binned,
    categorical,
    check_command_refused,
    describe_rows,
    domain_of,
    expect_error,
    integer,
    module_fixture,
    parametrize,
    run_command,
    seeded,
    write_json,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # the drivers' own

CLIP = {"out_of_range": "clip", "missing": "category"}
EDGES = [0, 0.1, 0.30000000000000004, 1 / 3, 1.1, 3]
SCHEMA = {
    "sex": categorical("f", "m", "it's", "NA", missing="category"),
    "old": integer(0, 9, **CLIP),
    "pay": {"kind": "numeric", "edges": EDGES, **CLIP},
    "thin": categorical("0.1", "0.7", "0.5", "2", missing="category"),
    "code": categorical(
        "1", "007", "9007199254740993", "(other)", missing="other", out_of_range="other"
    ),
    "rate": categorical("0.1", "2", "-0.5", missing="category"),
    "yes": categorical("True", "False", missing="category"),
    "full": integer(0, 3, unreadable="missing", **CLIP),
}
TYPES = (
    "sex text, old bigint, pay double precision, thin real, code bigint, rate double "
    "precision, yes boolean"
)
TYPES += ', "full" double precision'


def table(n=400):
    rng = seeded(0)

    def drawn(values):
        return [values[i] for i in rng.integers(0, len(values), n)]

    below = [float(np.nextafter(e, -1)) for e in EDGES]
    return pd.DataFrame(
        {
            "sex": drawn(["f", " m", "m\u00a0", "it's", "NA", "", None, "?"]),
            "old": pd.array(drawn([0, 3, 9, 10, -4, None, 2**60]), dtype="Int64"),
            "pay": drawn([*EDGES, *below, 7.5, -1.0, None, float("nan")]),
            "thin": np.array(drawn([0.1, 0.7, 0.5, 2.0, np.nan]), dtype=np.float32),
            "code": pd.array(drawn([1, 7, 2**53 + 1, 2**53, None]), dtype="Int64"),
            "rate": drawn([0.1, 2.0, -0.5, None]),
            "yes": pd.array(drawn([True, False, None]), dtype="boolean"),
            "full": drawn([0.0, 1.0, 2.5, 99.0, 1e300, float("inf"), None]),
        }
    )


def given(frame):
    """The rows of a table as plain values."""
    return frame.astype(object).where(frame.notna(), None).to_numpy().tolist()


@module_fixture
def duck(tmp_path_factory):
    path = tmp_path_factory.mktemp("duck") / "d.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE people ({TYPES})")
        made.executemany(f"INSERT INTO people VALUES ({', '.join('?' * 8)})", given(table()))
    return f"duckdb://{path}"


@module_fixture
def postgres():
    """A server of its own, on a free port of this machine, stopped at the end."""
    found = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))
    place = os.pathsep.join([*reversed(found), os.environ.get("PATH", "")])
    initdb, control = (shutil.which(name, path=place) for name in ("initdb", "pg_ctl"))
    if not initdb or not control:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    who = {}
    if os.geteuid() == 0:  # which the server refuses
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        who = {"user": "postgres"}
    home = Path(tempfile.mkdtemp(prefix="pg-"))  # not below a folder that only root may enter
    if who:
        shutil.chown(home, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = str(home / "data")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {home} -c fsync=off"

    def run(*command):
        return subprocess.run(
            [*command, "-D", data], cwd=home, stdout=subprocess.DEVNULL, **who
        ).returncode

    if run(initdb, "-A", "trust", "-U", "me", "-E", "UTF8") or run(
        control, "start", "-w", "-l", str(home / "log"), "-o", options
    ):
        pytest.skip("PostgreSQL does not start here")
    address = f"postgresql://me@127.0.0.1:{port}/postgres"
    try:
        with psycopg.connect(address) as own:
            own.execute(f"CREATE TABLE people ({TYPES})")
            own.cursor().executemany(
                f"INSERT INTO people VALUES ({', '.join(['%s'] * 8)})", given(table())
            )
        yield address
    finally:
        run(control, "stop", "-m", "fast")
        shutil.rmtree(home)


@pytest.fixture(params=["duck", "postgres"])
def source(request):
    with closing(connect_database(f"{request.getfixturevalue(request.param)}#people")) as source:
        yield source


def test_codes_are_those_in_memory_bit_for_bit(source):
    for name, spec in SCHEMA.items():
        domain = domain_of({name: spec})
        assert describe_rows(gather(source, domain, [])) == describe_rows(domain.encode(table())), (
            name
        )
    domain = domain_of(SCHEMA)
    rows = domain.encode(table())
    pairs = Marginals.all(domain, 2)
    found = source.count(domain, pairs.axes)
    assert found.n == rows.n
    assert all(
        (found.tables[a] == rows.count(a, s)).all()
        for a, s in zip(pairs.axes, pairs.shapes, strict=True)
    )


@parametrize(
    "name, spec, message",
    [
        ("old", integer(0, 9, missing="category"), r"column 'old': '-4' is outside 0..9"),
        ("old", integer(0, 9, out_of_range="clip"), "a value is missing"),
        ("sex", categorical("f", "m", missing="category"), "not one of the allowed"),
        ("full", binned("numeric", 0, 1, missing="category"), "is not a finite number"),
        (
            "thin",
            binned("numeric", 0, 0.7, 1),
            "holds float32 in the database, from which its numbers are not made",
        ),
        ("sex", integer(0, 9), "from which its numbers are not made"),
        ("sex", categorical("f", read="any case"), "reading it as 'any case' needs a file"),
        ("nobody", integer(0, 9), "has no column 'nobody'"),
    ],
)
def test_what_is_refused_in_memory_is_refused_there(source, name, spec, message):
    domain = domain_of({name: spec})
    with expect_error(message) as caught:
        gather(source, domain, [])
    assert str(caught.value).startswith(("duckdb table people", "postgres table people"))
    with expect_error():  # also in memory, but for texts that are numbers there
        domain.encode(table())


COLLATION = (
    "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
)
WORDS = {  # what comes first, and a type
    "duck": ("SELECT 1", "VARCHAR COLLATE NOCASE"),
    "postgres": (COLLATION, "VARCHAR COLLATE any_case"),
    "enumeration": ("CREATE TYPE listed AS ENUM ('A', 'a', ' a', 'NA', 'na')", "listed"),
}


@parametrize("words", WORDS)
def test_no_collation_nor_enumeration_makes_two_texts_one(request, tmp_path, words):
    duck, (first, kind) = words == "duck", WORDS[words]
    address = f"duckdb://{tmp_path}/c.duckdb" if duck else request.getfixturevalue("postgres")
    with (duckdb if duck else psycopg).connect(address.removeprefix("duckdb://")) as own:
        own.execute(first)
        own.execute(f"CREATE TABLE {words} (word {kind})")
        own.execute(f"INSERT INTO {words} VALUES ('a'), ('A'), (' a'), ('NA'), ('na'), (NULL)")
    domain = domain_of(
        {"word": categorical("a", "(other)", missing="category", out_of_range="other")}
    )
    frame = pd.DataFrame({"word": ["a", "A", " a", "NA", "na", None]})
    with closing(connect_database(f"{address}#{words}")) as source:
        assert describe_rows(gather(source, domain, [])) == describe_rows(domain.encode(frame))


def test_no_setting_of_a_server_makes_a_value_a_command(postgres):
    words = ["a\\b", "\\'", "it's"]
    with psycopg.connect(postgres) as own:
        own.execute("CREATE TABLE slashes (word TEXT)")
        own.cursor().executemany("INSERT INTO slashes VALUES (%s)", [[word] for word in words])
    domain = domain_of({"word": categorical(*words)})
    with closing(
        connect_database(f"{postgres}?options=-c%20standard_conforming_strings%3Doff#slashes")
    ) as source:
        assert gather(source, domain, []).weights.tolist() == [1, 1, 1]


def test_many_columns_are_checked(postgres):
    names = [f"c{i}" for i in range(170)]
    with psycopg.connect(postgres) as own:
        own.execute(
            f"CREATE TABLE many ({', '.join(f'{name} double precision' for name in names)})"
        )
        own.execute(
            f"INSERT INTO many VALUES ({', '.join('1' for _ in names)}), "
            f"({', '.join('2' for _ in names)})"
        )
    domain = domain_of({name: integer(0, 3) for name in names})
    with closing(connect_database(f"{postgres}#many")) as source:
        assert source.count(domain, [(169,)]).tables[169,].tolist() == [0, 1, 1, 0]
        with expect_error("column 'c169': '2' is outside"):
            source.count(
                domain_of({name: integer(0, 3 - (name == "c169") * 2) for name in names}), []
            )


def test_a_table_that_changes_while_it_is_counted_is_refused(duck, monkeypatch):
    source = connect_database(f"{duck}#people")
    real = DatabaseSource._check_and_count_rows
    monkeypatch.setattr(
        DatabaseSource, "_check_and_count_rows", lambda self, *a: real(self, *a) + 1
    )
    with expect_error("changed while it was counted"):
        gather(source, domain_of({"yes": SCHEMA["yes"]}), [])


def test_no_query_asks_for_rows(duck, monkeypatch):
    asked = []
    real = DatabaseSource._run_query
    monkeypatch.setattr(
        DatabaseSource, "_run_query", lambda self, q: (asked.append(real(self, q)), asked[-1])[1]
    )
    domain = domain_of({name: SCHEMA[name] for name in ("sex", "old", "yes")})
    connect_database(f"{duck}#people").count(domain, [(0,), (1, 2)])
    assert len(asked) == 2
    assert asked[0].num_rows == 1
    assert asked[1].column_names == ["cell", "times"]
    assert asked[1].num_rows <= domain.size


@parametrize(
    "text, message",
    [
        ("duckdb:///nowhere/x.duckdb#t", "duckdb: the table 't' cannot be opened"),
        ("duckdb://x", "is named ENGINE"),
        ("postgres://me:hunter2@127.0.0.1:9/x#t", "postgres: the table 't' cannot be opened"),
    ],
)
def test_an_address_that_does_not_answer_is_one_line_without_its_password(text, message):
    with expect_error(message) as caught:
        connect_database(text)
    assert "hunter2" not in str(caught.value)


def test_no_file_outside_the_database_is_read(tmp_path):
    secret = tmp_path / "secret.csv"
    path = tmp_path / "d.duckdb"
    secret.write_text("a\n1\n2\n")
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS a")
        made.execute("CREATE VIEW v AS SELECT * FROM t")
        made.execute(f"CREATE VIEW outside AS SELECT * FROM read_csv('{secret}')")
    domain = domain_of({"a": integer(0, 3)})
    assert [
        connect_database(f"duckdb://{path}#{name}").count(domain, [(0,)]).n
        for name in ("t", "main.t", "v")
    ] == [1] * 3
    for name in (str(secret), secret.name, "secret", "duckdb_settings", "outside"):
        with expect_error():
            connect_database(f"duckdb://{path}#{name}").count(domain, [(0,)])
    os.mkfifo(tmp_path / "pipe")
    for other in (
        tmp_path / "pipe",
        "/dev/zero",
        ":memory:",
        "md:far",
        f"{path}?enable_external_access=true",
    ):
        with expect_error(r"cannot be opened \((there is no such file|a pipe|a device)"):
            connect_database(f"duckdb://{other}#t")


def test_engines_that_were_not_tested_are_refused():
    backend = type("Backend", (), {"name": "sqlite"})()
    with expect_error("sqlite is no database whose codes were tested"):
        DatabaseSource(backend, None)


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ibis", None)
    with expect_error(r"pip install 'privacy-utility-explorer\[sql\]'"):
        connect_database("duckdb://x#t")


def test_a_run_on_a_database_is_served_and_a_release_refused(duck, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_json(
        tmp_path / "s.json", {"columns": {name: SCHEMA[name] for name in ("sex", "pay", "yes")}}
    )
    command = ["--schema=s.json", "--queries=marginals:2", "--algorithm=mwem", "--epsilon=1"]
    run_command("run", f"{duck}#people", *command, "--json=out.json")
    assert read_json(tmp_path / "out.json")["n"] == 400
    own = [
        "--delta=1e-6",
        "--ledger=l.sqlite",
        "--total-epsilon=2",
        "--total-delta=1e-6",
        "--out=out",
    ]
    check_command_refused(
        "rows do not leave a database", ["release", f"{duck}#people", *command, *own]
    )


def test_spaces_are_those_that_python_strips():
    assert len(database_source.SPACE_CHARACTERS) > 20
    assert f"x{database_source.SPACE_CHARACTERS}".strip() == "x"
