"""Files and arguments for the tests of the command line: good tables, their schemas, and broken
ones.
"""

import json
import os

import numpy as np
import pandas as pd

from tests.small_problems import categorical, integer, numeric, private, seeded, write_json

SCHEMA = {
    "columns": {
        "age": integer(20, 24),
        "sex": categorical("f", "m"),
        "pay": numeric(0, 1, 3),
        "edu": categorical("x", "y", missing="category"),
    }
}


def write_files(folder):
    """t.csv holds texts and numbers, c.csv codes; the others are broken in the way their name says."""
    rng = seeded(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 25, 200),
            "sex": rng.choice(["f", "m"], 200),
            "extra": "?",
            "pay": rng.random(200).round(3),
            "edu": rng.choice(["x", "y", ""], 200),
        }
    )
    files = {
        "t.csv": frame.to_csv(index=False),
        "s.json": json.dumps(SCHEMA),
        "cut.json": '{"columns": ',
    }
    codes = pd.DataFrame(rng.integers(0, [3, 2], (100, 2)), columns=["a", "b"])
    files |= {"c.csv": codes.to_csv(index=False), "c.json": '{"a": 3, "b": 2}'}
    files |= {
        "empty.csv": "",
        "header.csv": "a,b\n",
        "one.csv": "a,b\n1,1\n",
        "nan.csv": "a,b\n1,1\n2,nan\nNA,0\n",
    }
    files |= {
        "array.json": "[1, 2]",
        "empty.npy": "",
        "text.npy": "PK\3\4",
    }
    wide = {f"x{i}": 1000 for i in range(7)}
    files |= {
        "wide.json": json.dumps(wide),
        "wide.csv": "\n".join([",".join(wide), *[",".join("0" * 7)] * 3]),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    os.mkfifo(folder / "pipe.csv")
    (folder / "lone.json").write_text('{"columns": {"\\ud800": {"kind": "integer", "size": 2}}}')
    write_json(folder / "columns.json", {f"x{i}": 2 for i in range(5001)})
    write_json(folder / "cells.json", {f"x{i}": 10**6 for i in range(700)})
    lies = folder / "lies.npy"
    np.save(lies, np.ones((2, 6)))
    lies.write_bytes(lies.read_bytes().replace(b"(2, 6), }       ", b"(3000000000,), }"))
    np.save(folder / "m.npy", seeded(0).choice([-1.0, 1.0], (4, 6)))
    np.save(folder / "wrong.npy", np.ones((2, 5)))
    np.save(folder / "large.npy", np.full((1, 6), 1.5))
    np.save(folder / "complex.npy", np.full((1, 6), 1j))
    np.savez(folder / "m.npz", np.ones((1, 6)))


OPEN = {  # of which most is to be measured
    "columns": {
        "job": private("categorical"),
        "sex": categorical("f", "m"),
        "pay": private("numeric", bins="private"),
        "age": private("integer", bins=8),
    }
}


def people_table(n=3000):
    """A table for the schema OPEN, all texts."""
    rng = seeded(0)
    columns = {"job": rng.choice(["clerk", "nurse"], n), "sex": rng.choice(["f", "m"], n)}
    columns |= {"pay": np.exp(rng.normal(8, 1, n)).round(2), "age": rng.integers(18, 80, n)}
    return pd.DataFrame(columns).astype(str)


BASE = {
    "--schema": "c.json",
    "--queries": "marginals:2",
    "--algorithm": "dpfw",
    "--epsilon": "1",
    "--delta": "1e-6",
}


def run_arguments(table="c.csv", extra=(), **changes):
    """A good run of two coded columns, changed: schema="x" replaces, schema=None leaves out."""
    settings = BASE | {f"--{name}": value for name, value in changes.items()}
    return [
        "run",
        table,
        *[f"{name}={value}" for name, value in settings.items() if value is not None],
        *extra,
    ]
