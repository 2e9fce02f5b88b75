"""What a hostile or unlucky person brings: tables of five formats, schemas, matrices and arguments,
as strategies.

Hostile ledgers have generators of their own, beside this file. A `Case` is a folder of files and
one command line. Everything is good to begin with, and then a little of it is not.
"""

import io
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from dpcore import PointRelease, QueryRelease, RiskMinimisation
from dpcore.algorithms import algorithms_for_problem
from tests.small_problems import HUGE, categorical, integer, numeric, seeded

PLANTED = "PLANTED7f3a91"  # stands in a column that no schema names: nothing may ever say it
ENDINGS = ("csv", "tsv", "txt", "xlsx", "parquet")
SCHEMA = {
    "a": integer(0, 3),
    "b": categorical("u", "v"),
    "c": numeric(-1, 1, 3),
}
CORPUS = json.loads((Path(__file__).parent / "corpus.json").read_text())
LONG = [one * 5000 for one in "z9(["]
NUMBERS = st.sampled_from([*CORPUS["numbers"], *LONG])
CELLS = st.sampled_from([*CORPUS["cells"], *LONG[:2]])
JSONS = st.sampled_from([*CORPUS["jsons"], HUGE, *LONG])
PLACES = st.integers(0, 2**20)


@dataclass
class Case:
    """Files by name, and the arguments of `python -m dpcore`; beside them f and f.csv are pipes,
    d.csv a folder.
    """

    arguments: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    mixed: bool = (
        False  # bytes of the table were changed, so that its columns may have grown together
    )


def one(draw, options):
    return draw(st.sampled_from(options))


@st.composite
def damaged(draw, content):
    """With bytes changed, cut off, doubled, put in, or something else altogether; now and then
    whole.
    """
    how = one(draw, ["whole", "changed", "changed", "cut", "doubled", "put in", "other"])
    place = draw(PLACES) % max(
        len(content), 1
    )  # the length of an Excel file depends on the second it is written in
    if how == "changed" and content:
        out = bytearray(content)
        for _ in range(draw(st.integers(1, 8))):
            out[draw(PLACES) % len(out)] = draw(st.integers(0, 255))
        return bytes(out)
    if how == "cut":
        return content[:place]
    if how == "doubled":
        return content[:place] + content[place // 2 :]
    if how == "put in":
        known = st.sampled_from([b"\r" * 5000, b"\0", b'"', b"," * 5000, b"z" * 140_000, b"\n"])
        return content[:place] + draw(st.binary(max_size=40) | known) + content[place:]
    return draw(st.binary(max_size=300)) if how == "other" else content


def packed(frame, ending):
    """The table as a file, without what its format cannot hold or pandas refuses to write."""
    out = io.BytesIO()
    if ending == "xlsx":
        frame = frame.map(lambda v: "".join(c for c in v if c >= " ") if isinstance(v, str) else v)
        frame.to_excel(out, index=False)
    elif ending == "parquet":
        texts = [name for name in frame if frame[name].dtype == object]
        frame[texts] = frame[texts].map(lambda v: str(v).encode("utf-8", "replace").decode())
        frame.to_parquet(out)
    else:
        out.write(
            frame.to_csv(index=False, sep="," if ending == "csv" else "\t").encode(
                "utf-8", "replace"
            )
        )
    return out.getvalue()


@st.composite
def tables(draw, numbers, bad):
    """The ending and the bytes of a table with columns a, b, c and one that nobody asked for; if
    `bad`, not quite.
    """
    rng = seeded(draw(st.integers(0, 999)))
    n = one(draw, [30, 12, 3, 2, 1, 0] if bad else [30, 12, 3, 2])
    frame = pd.DataFrame(rng.uniform(0, 1, (n, 3)).round(3), columns=list("abc"))
    if not numbers:
        frame = frame.assign(a=rng.integers(0, 4, n), b=rng.choice(["u", "v"], n))
        frame["extra"] = [f"{PLANTED}-{i}" for i in range(n)]
    for _ in range(one(draw, [0, 1, 2]) if bad and n else 0):
        name = one(draw, "abc")
        frame[name] = frame[name].astype(object)
        frame.loc[draw(st.integers(0, n - 1)), name] = draw(CELLS | st.text(max_size=8))
    if bad and draw(st.integers(0, 9)) == 0:
        frame = frame.drop(columns=one(draw, "abc"))
    ending = one(draw, ENDINGS)
    content = packed(frame, ending)
    return ending, draw(damaged(content)) if bad and draw(st.booleans()) else content


@st.composite
def schemas(draw, bad):
    """The schema of such a table, with a key or two of another kind."""
    columns = {name: dict(spec) for name, spec in SCHEMA.items()}
    keys = [
        "kind",
        "values",
        "low",
        "high",
        "bins",
        "edges",
        "size",
        "ordered",
        "missing",
        "out_of_range",
        "q",
    ]
    for _ in range(one(draw, [0, 1, 2]) if bad else 0):
        columns[one(draw, "abc")][one(draw, keys)] = draw(JSONS)
    whole = {"columns": columns}
    others = [{"a": 4, "b": 2}, {"a": 0}, {"a": 10**7}, [], 1, "x", {"columns": []}, {"x": whole}]
    content = json.dumps(
        one(draw, others) if bad and draw(st.integers(0, 4)) == 0 else whole
    ).encode()
    return draw(damaged(content)) if bad and draw(st.integers(0, 3)) == 0 else content


@st.composite
def matrices(draw, bad):
    """A matrix of queries over the 24 cells, or nearly one."""
    shape = (2, 24)
    kind = float
    out = io.BytesIO()
    if bad:
        shape = one(draw, [shape, shape, (2, 5), (24,), (0, 24), (1, 2, 3)])
        kind = one(draw, [kind, kind, np.int8, complex, "U3", "M8[s]"])
    np.save(out, np.ones(shape).astype(kind))
    content = out.getvalue()
    if bad and draw(st.integers(0, 3)) == 0:
        others = [b"(3e9,)", b"(3000000000, 1)", b"(-1, 24)", b"(True,)"]
        content = content.replace(b"(2, 24)", one(draw, others))
    return draw(damaged(content)) if bad and draw(st.booleans()) else content


def algorithms(problem):
    """Names to draw from, seldom a slow one, never the one that says of itself that it takes
    minutes.
    """
    names = [
        name
        for name in algorithms_for_problem(problem)
        if name not in ("alternating_sampler", "dp_sgd")
    ]
    return names * 5 + ["dp_sgd"] * ("dp_sgd" in algorithms_for_problem(problem))


PARTS = (
    "nothing",
    "table",
    "schema",
    "asked",
    "budget",
    "budget",
    "options",
    "source",
    "place",
    "everything",
)
ASKED = "--schema --queries"
SPEND = "--epsilon --delta"
MORE = "--set --columns --person --rows --most-rows --start"
EVOLVE = "--set --seed --every --json --rows --preset"
SWEPT = "--algorithms=gaussian_maxent,mwem --repeat=1 --set=mwem.rounds=2"
# its weight, how many tables it takes, what its algorithms solve, what it must be given and may be
# given
COMMANDS = [
    (3, "run", 1, QueryRelease, f"{ASKED} {SPEND}", f"{MORE} --seed --repeat --json --synthetic"),
    (
        3,
        "learn",
        1,
        RiskMinimisation,
        f"--schema --task {SPEND}",
        "--set --radius --seed --json --person --most-rows",
    ),
    (1, "evolve", 1, PointRelease, f"--low --high {SPEND}", EVOLVE),
    (1, "evolve", 1, PointRelease, f"--ball {SPEND}", EVOLVE),
    (
        1,
        "release",
        1,
        QueryRelease,
        f"{ASKED} {SPEND} --total-epsilon --total-delta=0.01 --out --ledger",
        MORE,
    ),
    (1, "score", 2, None, ASKED, "--columns --json"),
    (1, "sweep", 1, None, f"{ASKED} --epsilons {SWEPT}", "--delta --columns --json"),
    (1, "schema", 1, None, "", "--peek"),
    (1, "audit", 0, None, f"--algorithm=gaussian_maxent {SPEND} --runs=20", "--seed --set --runs"),
]


@st.composite
def cases(draw):
    """A command line and its files, one part of them bad: most faults hide behind the ones that are
    found before.
    """
    command, sources, problem, needed, further = draw(
        st.sampled_from([rest for weight, *rest in COMMANDS for _ in range(weight)])
    )
    part = one(draw, PARTS)

    def bad(name):
        return part in (name, "everything")

    def value(name):
        known = CORPUS["options"][name]
        if not bad(known["part"]):
            return one(draw, known["good"])
        return draw(
            st.sampled_from([*known["bad"], *(known["good"][0] + long for long in LONG)]) | NUMBERS
        )

    ending, table = draw(tables(command == "evolve", bad("table")))
    files = {
        f"t.{ending}": table,
        "s.json": draw(schemas(bad("schema"))),
        "m.npy": draw(matrices(bad("asked"))),
    }
    source = (
        one(draw, [*CORPUS["sources"], LONG[0] + ".csv"])
        if bad("source") and draw(st.booleans())
        else f"t.{ending}"
    )
    arguments = [command, *[source] * sources]
    if problem:
        arguments.append(f"--algorithm={one(draw, algorithms(problem))}")
    some = one(draw, [1, 2] if bad("options") else [0, 0, 1, 2])
    for name in [*needed.split(), *(one(draw, further.split()) for _ in range(some))]:
        arguments.append(name if "=" in name or name == "--peek" else f"{name}={value(name)}")
    return Case(arguments, files, bad("table"))
