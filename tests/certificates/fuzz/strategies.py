"""What a hostile or unlucky person brings: tables of five formats, schemas, matrices and arguments, as strategies.

Hostile ledgers have generators of their own, beside this file. A `Case` is a folder of files and one command line.
Everything is good to begin with, and then a little of it is not.
"""

import io
import json
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from dpcore.algorithms import solving
from dpcore.algorithms.evolution_parts import PRESETS
from dpcore.problems import PointRelease, QueryRelease, RiskMinimisation

PLANTED = "PLANTED7f3a91"  # stands in a column that no schema names: nothing may ever say it
ENDINGS = ("csv", "tsv", "txt", "xlsx", "parquet")
SCHEMA = {
    "a": {"kind": "integer", "low": 0, "high": 3},
    "b": {"kind": "categorical", "values": ["u", "v"]},
    "c": {"kind": "numeric", "low": -1, "high": 1, "bins": 3},
}
NUMBERS = (
    *("1", "0", "-1", "0.5", "1e-6", "1e9", "1e-12", "nan", "inf", "-inf", "x", "", " ", "1_0", "٣", "1,5", "9" * 5000),
    *("1e-100", "1e-300", "1e-320", "5e-324", "1e100", "1e308", "1e400", "0.9999999999999999", "-0.0", "1e-16", "2"),
)
CELLS = (
    *(
        "",
        "NA",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1e-320",
        "007",
        " 1 ",
        "0x1",
        "TRUE",
        "=1+1",
        "2026-11-22",
        "é",
        "\u202e",
    ),
    *("\x1b[31m", '"', "'", "\\", "a,b", "a;b", "a\tb", "\U0001f600", "y" * 300, "9" * 4400, "-0.0", "1,5", "\ufeff"),
)
JSONS = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    -1e15,
    10**400,
    "",
    "x" * 5000,
    [],
    {},
    [[]],
    [1, 0],
    ["u", "u"],
    "\ud800",
)
PATHS = (
    "out.json",
    "no/such/out.json",
    ".",
    "",
    "z" * 5000,
    "a\0b",
    "\udcff.json",
    "t.csv",
    "s.json",
    "/dev/null",
    "f",
)


PLACES = st.integers(0, 2**20)


@dataclass
class Case:
    """Files by name, and the arguments of `python -m dpcore`; beside them f and f.csv are pipes, d.csv a folder."""

    arguments: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    mixed: bool = False  # bytes of the table were changed, so that its columns may have grown together


def packed(frame: pd.DataFrame, ending: str) -> bytes:
    """The table as a file."""
    out = io.BytesIO()
    if ending == "xlsx":
        frame.to_excel(out, index=False)
    elif ending == "parquet":
        frame.to_parquet(out)
    else:
        text = frame.to_csv(index=False, sep="," if ending == "csv" else "\t")
        out.write(text.encode("utf-8", "replace"))
    return out.getvalue()


def _excel_safe(value):
    """Excel files hold no control characters, and pandas refuses to write them."""
    return "".join(c for c in value if c >= " ") if isinstance(value, str) else value


@st.composite
def damaged(draw, content: bytes) -> bytes:
    """With bytes changed, cut off, doubled, put in, or something else altogether; now and then whole."""
    how = draw(st.sampled_from(["whole", "changed", "changed", "cut", "doubled", "put in", "other"]))
    place = draw(PLACES) % max(len(content), 1)  # the length of an Excel file depends on the second it is written in
    if how == "changed" and content:
        out = bytearray(content)
        for _ in range(draw(st.integers(1, 8))):
            out[draw(PLACES) % len(out)] = draw(st.integers(0, 255))
        return bytes(out)
    if how == "cut":
        return content[:place]
    if how == "doubled":
        return content[:place] + content[place // 2 : place] + content[place:]
    if how == "put in":
        piece = st.binary(max_size=40) | st.sampled_from(
            [b"\r" * 5000, b"\0", b'"', b"," * 5000, b"z" * 140_000, b"\n"]
        )
        return content[:place] + draw(piece) + content[place:]
    return draw(st.binary(max_size=300)) if how == "other" else content


@st.composite
def tables(draw, numbers: bool, bad: bool) -> tuple[str, bytes]:
    """The ending and the bytes of a table with columns a, b, c and one that nobody asked for; if `bad`, not quite."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    n = draw(st.sampled_from([30, 12, 3, 2, 1, 0] if bad else [30, 12, 3, 2]))
    frame = pd.DataFrame(
        {
            "a": rng.uniform(0, 1, n).round(3) if numbers else rng.integers(0, 4, n),
            "b": rng.uniform(0, 1, n).round(3) if numbers else rng.choice(["u", "v"], n),
            "c": rng.uniform(0, 1, n).round(3),
        }
    )
    if not numbers:
        frame["extra"] = [f"{PLANTED}-{i}" for i in range(n)]
    for _ in range(draw(st.sampled_from([0, 1, 2])) if bad else 0):
        name = draw(st.sampled_from(["a", "b", "c"]))
        if n and name in frame:
            frame[name] = frame[name].astype(object)
            frame.loc[draw(st.integers(0, n - 1)), name] = draw(st.sampled_from(CELLS) | st.text(max_size=8))
    if bad and draw(st.integers(0, 9)) == 0:
        frame = frame.drop(columns=draw(st.sampled_from(["a", "b", "c"])))
    ending = draw(st.sampled_from(ENDINGS))
    if ending == "xlsx":
        frame = frame.map(_excel_safe)
    elif ending == "parquet":
        frame = frame.assign(**{c: frame[c].map(str) for c in frame if frame[c].dtype == object})
        frame = frame.map(lambda v: v.encode("utf-8", "replace").decode() if isinstance(v, str) else v)
    content = packed(frame, ending)
    return ending, draw(damaged(content)) if bad and draw(st.booleans()) else content


@st.composite
def schemas(draw, bad: bool) -> bytes:
    """The schema of such a table, with a key or two of another kind."""
    columns = {name: dict(spec) for name, spec in SCHEMA.items()}
    for _ in range(draw(st.sampled_from([0, 1, 2])) if bad else 0):
        spec = columns[draw(st.sampled_from(sorted(columns)))]
        keys = ("kind", "values", "low", "high", "bins", "edges", "size", "ordered", "missing", "out_of_range", "q")
        spec[draw(st.sampled_from(keys))] = draw(st.sampled_from(JSONS))
    whole = {"columns": columns}
    if bad and draw(st.integers(0, 4)) == 0:
        whole = draw(
            st.sampled_from([{"a": 4, "b": 2}, {"a": 0}, {"a": 10**7}, [], 1, "x", {"columns": []}, {"x": whole}])
        )
    content = json.dumps(whole).encode()
    return draw(damaged(content)) if bad and draw(st.integers(0, 3)) == 0 else content


@st.composite
def matrices(draw, bad: bool) -> bytes:
    """A matrix of queries over the 24 cells, or nearly one."""
    shape = (2, 24) if not bad else draw(st.sampled_from([(2, 24), (2, 24), (2, 5), (24,), (0, 24), (1, 2, 3)]))
    kind = float if not bad else draw(st.sampled_from([float, float, np.int8, complex, np.float32, "U3", "M8[s]"]))
    out = io.BytesIO()
    np.save(out, np.ones(shape).astype(kind))
    content = out.getvalue()
    if bad and draw(st.integers(0, 3)) == 0:
        content = content.replace(
            b"(2, 24)", draw(st.sampled_from([b"(3e9,)", b"(3000000000, 1)", b"(-1, 24)", b"(True,)"]))
        )
    return draw(damaged(content)) if bad and draw(st.booleans()) else content


GOOD_QUERIES = (
    *("marginals:2", "marginals:1", 'marginals:[["a","b"]]', "ranges:a", "prefixes:a,c", "matrix:m.npy", "marginals:3"),
    *("conjunctions:2:5", "halfspaces:a,c:4", "question:a > 1", "question:b = u and c between 0 and 1"),
)
BAD_QUERIES = (
    *("marginals:9", "marginals:", "ranges:zz", "matrix:f", "matrix:.", "conjunctions:2:999999999", "question:a = "),
    *("question:" + "(" * 60, "question:a = '\x1b'", "z" * 3000, "", "marginals:[" + "[" * 3000, "halfspaces:b:4"),
    *(
        'marginals:[["' + "q" * 3000,
        'marginals:["a"]',
        "matrix:/dev/zero",
        "matrix:t.csv",
        "ranges:" + '"',
        "prefixes:b",
    ),
)
GOOD_TASKS = (
    *("quantile:a:0.5", "absolute:c", "mean:a,c", "logistic:b:a,c", "hinge:b:c", "huber:c:a", "absolute:a:c", "mean:c"),
    *("huber:a:c:0.1", "quantile:a:0.999999", "quantile:c:1e-9", "huber:a:c:10", "quantile:a:0.5:b,c"),
)
BAD_TASKS = (
    *(
        "huber:a:c:1e-320",
        "huber:a:c:1e-100",
        "huber:a:c:1e300",
        "huber:a:c:nan",
        "quantile:a:1e-320",
        "huber:a:c:1e-9",
    ),
    *("mean:b", "logistic:a:c", "quantile:zz:0.5", "", ":", "mean:" + "q" * 3000, "quantile:a:5e-324", 'mean:"'),
    *("huber:a:c:1e-12", "huber:a:c:1e15", "absolute:b", "quantile:a:1e-16", "quantile:a:" + "9" * 5000),
)
OPTIONS = {  # good values, and bad ones beyond NUMBERS
    "--set": (
        ["rounds=3", "mu=0.1", "alpha=0.5", "step=0.1", "clip=1", "sampler=auto", "rounds=auto"],
        [
            "rounds=0",
            "rounds=x",
            "mu=1e-300",
            "alpha=nan",
            "=",
            "step=1e-9",
            "clip=1e9",
            "q" * 3000,
            "mu=1e9",
            "mu=1e-12",
        ],
    ),
    "--columns": (["a,b", "a,b,c", "c,a"], ["a", "zz", "", '"', "a,a", "c", "z" * 3000]),
    "--person": (["extra"], ["b", "zz", ""]),
    "--json": (["o.json", "/dev/null"], PATHS),
    "--synthetic": (["o.csv"], PATHS),
    "--start": ([], ["f", ".", "s.json", "no.csv"]),
    "--seed": (["0", "7", str(2**63 - 1)], []),
    "--repeat": (["1", "2"], []),
    "--rows": (["1", "5"], []),
    "--most-rows": (["1", "3"], ["100000000"]),
    "--radius": (["1", "0.01", "100"], ["1e-12", "1e15", "1e-9", "1e-6", "1e9"]),
    "--every": (["1"], []),
    "--runs": (["20", "60"], []),
    "--delta": (["1e-6", "0", "1e-9"], []),
}
GOOD_BUDGETS = (["1", "0.1", "10", "1e-6", "1e9", "1e-3", "1e4"], ["1e-6", "0", "1e-9", "0.5", "1e-100", "1e-30"])
USUAL_BUDGETS = (["1", "0.5", "8"], ["1e-6", "1e-9"])
BOXES = (
    *(("0", "1e100"), ("0", "1e-320"), ("-1e15", "1e15"), ("x", "1"), ("1", "0"), ("0,0,0", "1,1,1"), ("0", "1e-12")),
    *(
        ("0", "1e-9"),
        ("1", "1.0000000001"),
        ("1e15", "1e16"),
        ("-1e300", "1e300"),
        ("0", "1e12"),
        ("nan", "1"),
        ("0", ""),
    ),
)
PARTS = ("nothing", "table", "schema", "asked", "budget", "edge budget", "options", "source", "place", "everything")


@st.composite
def budget(draw, bad: bool, edge: bool) -> list[str]:
    """ε and δ: usual ones, odd ones that are served, or anything."""
    given_ = GOOD_BUDGETS if edge or bad else USUAL_BUDGETS
    epsilon, delta = (
        draw(st.sampled_from(NUMBERS) if bad and draw(st.booleans()) else st.sampled_from(g)) for g in given_
    )
    return [f"--epsilon={epsilon}", f"--delta={delta}"]


@st.composite
def extras(draw, bad: bool, *names: str) -> list[str]:
    """None, one or two further options of those named; if `bad`, one or two with any text for a value."""
    out = []
    for _ in range(draw(st.sampled_from([1, 2] if bad else [0, 0, 1, 2]))):
        name = draw(st.sampled_from(names))
        good, wrong = OPTIONS[name]
        if bad or good:
            out.append(f"{name}={draw(st.sampled_from([*wrong, *NUMBERS] if bad else good))}")
    return out


@st.composite
def cases(draw) -> Case:
    """A command line and its files, one part of them bad: most faults hide behind the ones that are found before."""
    command = draw(
        st.sampled_from(["run"] * 3 + ["learn"] * 3 + ["evolve"] * 2 + ["score", "sweep", "schema", "audit", "release"])
    )
    part = draw(st.sampled_from(PARTS))

    def bad(name: str) -> bool:
        return part in (name, "everything")

    ending, table = draw(tables(command == "evolve", bad("table")))
    name = f"t.{ending}"
    files = {name: table, "s.json": draw(schemas(bad("schema"))), "m.npy": draw(matrices(bad("asked")))}
    sources = (
        "f",
        ".",
        "no.csv",
        "/dev/zero",
        "/dev/urandom",
        "z" * 5000 + ".csv",
        "f.csv",
        "d.csv",
        "f.xlsx",
        "f.parquet",
    )
    source = draw(st.sampled_from(sources)) if bad("source") and draw(st.booleans()) else name
    schema = (
        draw(st.sampled_from(["f", ".", "/dev/zero", "m.npy", "no.json", "d.csv"]))
        if source == name and bad("source")
        else "s.json"
    )
    asked = [f"--schema={schema}", f"--queries={draw(st.sampled_from(BAD_QUERIES if bad('asked') else GOOD_QUERIES))}"]
    spend, more = budget(bad("budget"), bad("edge budget")), bad("options")
    arguments = [command, source]
    if command in ("run", "release"):
        arguments += [*asked, f"--algorithm={draw(_algorithm(QueryRelease))}", *draw(spend)]
        options = ("--set", "--columns", "--person", "--rows", "--most-rows", "--start")
        if command == "run":
            arguments += draw(extras(more, *options, "--seed", "--repeat", "--json", "--synthetic"))
        else:
            total = draw(st.sampled_from(NUMBERS)) if bad("budget") else "1e9"
            out, ledger = (draw(st.sampled_from(PATHS)) if bad("place") else kept for kept in ("o", "l.sqlite"))
            arguments += [f"--total-epsilon={total}", "--total-delta=0.01", f"--out={out}", f"--ledger={ledger}"]
            arguments += draw(extras(more, *options))
    elif command == "learn":
        arguments += [
            asked[0],
            f"--task={draw(st.sampled_from(BAD_TASKS if bad('asked') else GOOD_TASKS))}",
            *draw(spend),
        ]
        arguments += [f"--algorithm={draw(_algorithm(RiskMinimisation))}"]
        arguments += draw(extras(more, "--set", "--radius", "--radius", "--seed", "--json", "--person", "--most-rows"))
    elif command == "evolve":
        box = draw(st.sampled_from(BOXES)) if bad("asked") else ("0", "1")
        where = [f"--low={box[0]}", f"--high={box[1]}"]
        if bad("place") or draw(st.booleans()):
            where = [f"--ball={draw(st.sampled_from([*NUMBERS, '1e15', '1e12'])) if bad('place') else '2'}"]
        arguments += [*where, f"--algorithm={draw(_algorithm(PointRelease))}", *draw(spend)]
        arguments += draw(extras(more, "--set", "--seed", "--every", "--json", "--rows"))
        arguments += [f"--preset={draw(st.sampled_from(sorted(PRESETS)))}"] * draw(st.sampled_from([0, 0, 1]))
    elif command == "score":
        arguments += [name, *asked, *draw(extras(more, "--columns", "--json"))]
    elif command == "sweep":
        epsilon = draw(st.sampled_from(NUMBERS)) if bad("budget") else "1"
        arguments += [
            *asked,
            "--algorithms=gaussian_maxent,mwem",
            f"--epsilons={epsilon}",
            "--repeat=1",
            "--set=mwem.rounds=2",
        ]
        arguments += draw(extras(more, "--delta", "--columns", "--json"))
    elif command == "schema":
        arguments += draw(st.sampled_from([[], ["--peek"]]))
    else:
        arguments = [
            "audit",
            "--algorithm=gaussian_maxent",
            *draw(spend),
            "--runs=20",
            *draw(extras(more, "--seed", "--set", "--runs")),
        ]
    return Case(arguments, files, bad("table"))


def _algorithm(problem: type) -> st.SearchStrategy[str]:
    """One of its algorithms, seldom a slow one, never the one that says of itself that it takes minutes."""
    names = [name for name in solving(problem) if name != "alternating_sampler"]
    return st.sampled_from([name for name in names if name != "dp_sgd"] * 5 + ["dp_sgd"] * ("dp_sgd" in names))
