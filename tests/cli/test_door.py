"""Through the command line: what one row says changes what a release says of that row, and one file
has one budget.
"""

from pathlib import Path

import pandas as pd

from dpcore import read_json
from tests.cli.test_release import order
from tests.small_problems import (
    binned,
    categorical,
    check_command_refused,
    numeric,
    parametrize,
    run_command,
    write_json,
)

EXACTLY = "--epsilon=200 --delta=1e-6"  # so much that the released counts are those of the table


def schema(file="s.json", **columns):
    write_json(file, {"columns": columns})


def shares(table, *more):
    """What a run with hardly any noise answers."""
    order = (
        f"run {table} --schema=s.json --queries=marginals:1 --algorithm=gaussian_maxent {EXACTLY}"
    )
    run_command(f"{order} --json=run.json --synthetic=rows.csv --rows=2000", *more)
    return pd.read_csv("rows.csv", dtype=str).to_dict("list")


AMOUNT = binned("numeric", 0, 1000, 10**6, 10**7, out_of_range="clip", missing="category")


@parametrize("stream", [[], ["--stream"]])
@parametrize("instead", ["1,500,000", "NA", "2.5"])
def test_one_amount_does_not_change_how_all_others_are_read(stream, instead):
    schema(a=AMOUNT | {"read": "amount, decimal point"})
    found = []
    for last in ("5,000", instead):
        Path("t.tsv").write_text("a\tb\n" + "5,000\t1\n" * 1999 + f"{last}\t1\n")
        found.append(shares("t.tsv", *stream)["a"])
    low = [sum(float(amount) < 1000 for amount in amounts) / 2000 for amounts in found]
    assert abs(low[0] - low[1]) < 0.02


@parametrize("stream", [[], ["--stream"]])
@parametrize("end", ["\n", "\r", "\r\n"])
def test_one_stray_byte_does_not_change_everybodys_letters(stream, end):
    schema(city=categorical("Zürich", "(other)", out_of_range="other", missing="other"))
    for stray in (b"x", b"\xff"):
        lines = ["city,free", *["Zürich,x"] * 1999]
        Path("t.csv").write_bytes(
            end.join(lines).encode() + end.encode() + "Zürich,".encode() + stray + end.encode()
        )
        assert shares("t.csv", *stream)["city"].count("Zürich") > 1950


def release(table, out, *more, schema="s.json"):
    return order(
        out, *more, table=table, schema=schema, queries="marginals:1", epsilon=1, total=None
    )


def test_one_file_is_one_data_set_whatever_its_schema_and_its_format(capsys):
    schema(a=numeric(0, 100, 4, missing="category") | {"read": "amount, decimal comma"})
    schema(
        "open.json",
        a={"kind": "numeric", "bounds": "private", "bins": 4, "read": "amount, decimal comma"},
    )
    schema("texts.json", b=categorical("x", "y"))
    frame = pd.DataFrame({"a": [f"{i % 90},5" for i in range(400)], "b": ["x", "y"] * 200})
    frame.to_csv("t.csv", index=False, sep=";")
    frame.to_csv("copy.tsv", index=False, sep="\t")
    frame[["b", "a"]].iloc[::-1].to_parquet("copy.parquet")
    fixed = ["--total-epsilon=2", "--total-delta=1e-5", "--dataset=t"]
    run_command(release("t.csv", "one", *fixed))
    run_command(release("copy.tsv", "two", *fixed, schema="open.json"))
    capsys.readouterr()
    for at, (table, more) in enumerate(
        {"t.csv": [], "copy.tsv": ["--stream"], "copy.parquet": ["--stream"]}.items()
    ):
        run_command(
            release(table, f"three{at}", "--epsilon=2", *more, *fixed, schema="texts.json"), code=3
        )
        assert "data set 't': this needs" in capsys.readouterr().err
        check_command_refused(
            "this table is the data set 't'",
            release(table, f"four{at}", *more, *fixed, "--dataset=fresh", schema="texts.json"),
        )


def test_a_release_states_how_its_file_is_written():
    text = "a\né\ne\n"
    fixed = ["--total-epsilon=2.5", "--total-delta=1e-5"]

    def written(content, **file):
        Path("t.csv").write_bytes(content)
        write_json("s.json", {"columns": {"a": categorical("é", "e")}, "file": file})
        return release("t.csv", "one", *fixed)

    check_command_refused("it is UTF-16: save it as UTF-8", written(text.encode("utf-16")))
    check_command_refused(
        "one stray byte moves all that follow", written(text.encode("utf-16"), encoding="utf-16")
    )
    words = "one open quote changes all rows that follow; save it as Parquet or Excel"
    check_command_refused(words, written(b"a\ne\ne\n", line_breaks=True))
    run_command(written(text.encode("cp1252"), encoding="windows-1252"))
    assert read_json("one/release.json")["schema"]["file"] == {"encoding": "windows-1252"}
