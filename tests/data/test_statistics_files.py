"""Files of SPSS, Stata and SAS: what they state of their columns is taken as it stands."""

import datetime
import hashlib
import io

import numpy as np
import pandas as pd
import pytest

from dpcore.cli import main
from dpcore.data import readers
from dpcore.data.fingerprint import table_fingerprint
from dpcore.data.readers import load_table, readable_table_endings
from dpcore.data.statistics_files import statistics_file
from dpcore.data.statistics_files.day_numbers import day_format
from dpcore.schema.inference.proposal import propose_schema, reading_notes
from dpcore.schema.schema_json import domain_from_json
from dpcore.schema.text_format import TextFormat
from tests.small_problems import expect_error, parametrize

pyreadstat = pytest.importorskip("pyreadstat")
WRITERS = {
    "sav": pyreadstat.write_sav,
    "zsav": pyreadstat.write_sav,
    "por": pyreadstat.write_por,
    "dta": pyreadstat.write_dta,
    "xpt": pyreadstat.write_xport,
}
DAY = datetime.date(2020, 2, 29)
ROWS = 40


def written(folder, ending, columns, **statements):
    """The path of a file with these columns."""
    path = folder / f"t.{ending}"
    options = {"compress": True} if ending == "zsav" else {}
    WRITERS[ending](pd.DataFrame(columns), str(path), **options, **statements)
    return path


def entries(path, **how):
    """The table in a file, and the columns that are proposed for it."""
    table = load_table(path)
    proposal = propose_schema(table.frame, stated=table.stated_columns, **how)
    return table, proposal.columns


def survey(**changed):
    columns = {
        "sex": [1.0, 2.0, 2.0, 9.0] * (ROWS // 4),
        "view": [3.0, 1.0, 2.0, 8.0] * (ROWS // 4),
        "age": [17.0, 98.0, 30.0, 41.0] * (ROWS // 4),
        "hours": [-1.0, 38.5, -7.0, 12.0] * (ROWS // 4),
        "born": [DAY, datetime.date(1890, 1, 1), None, DAY] * (ROWS // 4),
        "place": ["N", "S", "XX", ""] * (ROWS // 4),
    }
    return columns | changed


SURVEY_STATEMENTS = {
    "column_labels": {"view": "How do you like it?"},
    "variable_value_labels": {
        "sex": {2: "Female", 1: "Male", 9: "Refused"},
        "view": {1: "Bad", 2: "So so", 3: "Good", 8: "Don't know"},
        "age": {98: "Don't know"},
        "place": {"N": "North", "S": "South", "XX": "Nowhere"},
    },
    "missing_ranges": {
        "sex": [9],
        "view": [8],
        "age": [{"lo": 97, "hi": 99}],
        "hours": [{"lo": -1e6, "hi": -1}],
        "place": ["XX"],
    },
    "variable_measure": {"sex": "nominal", "view": "ordinal", "age": "scale"},
    "variable_format": {"born": "DATE11"},
}


@parametrize("ending", ["sav", "zsav"])
def test_what_an_spss_file_states_is_proposed_as_it_stands(tmp_path, ending):
    path = written(tmp_path, ending, survey(), **SURVEY_STATEMENTS)
    table, columns = entries(path)
    missing = {"kind": "categorical", "missing": "category"}
    assert columns["sex"] == {
        **missing,
        "values": ["Male", "Female"],
        "missing_codes": ["Refused"],
    }
    assert columns["view"] == {
        **missing,
        "values": ["Bad", "So so", "Good"],
        "missing_codes": ["Don't know"],
        "ordered": True,
    }
    assert columns["place"] == {
        **missing,
        "values": ["North", "South"],
        "missing_codes": ["Nowhere"],
    }
    assert columns["age"]["missing_codes"] == [97, 98, 99]
    assert table.frame["hours"].isna().tolist()[:4] == [True, False, True, False]
    assert table.frame["born"].tolist()[:3] == ["2020-02-29", "1890-01-01", None]
    assert table.description == "SPSS file"
    proposal = propose_schema(table.frame, peek=True, stated=table.stated_columns)
    domain = domain_from_json(proposal.to_json())
    assert domain.encode(table.frame).n == ROWS, "what is proposed is accepted"
    assert domain.column("view").encode(table.frame["view"]).tolist()[:4] == [2, 0, 1, 3]
    notes = reading_notes(proposal.guesses["view"], table.frame["view"])
    assert notes == (
        "its label is 'How do you like it?'",
        '"Don\'t know" count as missing, as the file states',
    )


def test_a_value_without_a_label_keeps_its_code_and_is_listed_after_the_labels(tmp_path):
    codes = [1, 2, 5, 7.5] * 10
    labels = {"variable_value_labels": {"a": {1: "One", 2: "Two"}}}
    table, columns = entries(
        written(tmp_path, "sav", {"a": codes, "b": codes}, **labels), peek=True
    )
    assert table.frame["a"].tolist()[:4] == ["One", "Two", "5", "7.5"]
    assert columns["a"]["values"] == ["One", "Two", "5", "7.5"]
    assert table.stated_columns["b"].values == ()


@parametrize(
    "labels, measure, has_values",
    [
        ({0: "under 1", 90: "90 and over"}, "unknown", False),
        ({0: "never", 1: "once"}, "unknown", True),
        ({11: "A", 12: "B", 21: "C"}, "unknown", True),
        ({11: "A", 12: "B", 21: "C"}, "scale", False),
        ({1: "bad", 7: "good"}, "ordinal", True),
        ({9: "refused"}, "nominal", False),
        ({1: "  ", 2: "", 3: ""}, "nominal", False),
    ],
)
def test_a_column_is_one_of_categories_by_the_dictionary_alone(
    tmp_path, labels, measure, has_values
):
    statements = {
        "variable_value_labels": {"a": labels},
        "variable_measure": {"a": measure},
        "missing_ranges": {"a": [9]},
    }
    for cells in ([1.0, 7.0, 0.0], [3.25, 41.0, 12.0]):
        table = load_table(written(tmp_path, "sav", {"a": cells}, **statements))
        assert bool(table.stated_columns["a"].values) == has_values


def test_special_missing_values_of_stata_are_missing_and_named_by_their_labels(tmp_path):
    path = written(
        tmp_path,
        "dta",
        {
            "sex": [1, 2, "a", "b"] * 10,
            "pay": [1.5, "c", np.nan, 2.5] * 10,
            "month": [720, 721, 722, np.nan] * 10,
            "time": [1.6e12, 0, np.nan, 1.0] * 10,
            "word": ["a", "b", "", "c"] * 10,
        },
        variable_value_labels={"sex": {1: "Male", 2: "Female", "a": "Refused"}},
        missing_user_values={"sex": ["a", "b"], "pay": ["c"]},
        variable_format={"month": "%tm", "time": "%tc"},
    )
    table, columns = entries(path, peek=True)
    assert table.frame["sex"].tolist()[:3] == ["Male", "Female", "Refused"]
    assert table.frame["sex"].isna().tolist()[:4] == [False, False, False, True]
    assert columns["sex"]["missing_codes"] == ["Refused"]
    assert table.frame["pay"].isna().tolist()[:4] == [False, True, True, False]
    assert table.frame["month"].tolist()[:2] == ["2020-01-01", "2020-02-01"]
    assert table.frame["time"].tolist()[0] == "2010-09-13 12:26:40"
    assert table.frame["word"].tolist()[:2] == ["a", "b"], "a text is no special missing value"
    assert columns["word"]["values"] == ["a", "b", "c"]


@parametrize("ending, names", [("xpt", ["x", "d", "t"]), ("por", ["X", "D", "T"])])
def test_transport_files_are_read(tmp_path, ending, names):
    columns = {"x": [0.5, 2.0, np.nan], "d": [DAY] * 3, "t": ["a", "b", "c"]}
    path = written(tmp_path, ending, columns, variable_format={"d": "DATE9"})
    table = load_table(path)
    assert list(table.frame) == names
    x, d, t = (table.frame[name].tolist() for name in names)
    assert x[:2] == [0.5, 2.0]
    assert d == ["2020-02-29"] * 3
    assert t == ["a", "b", "c"]


@parametrize(
    "program, name, number, text",
    [
        ("SPSS", "DATETIME20", 13_797_302_400 + 3661, "2020-01-02 01:01:01"),
        ("SPSS", "TIME8", 3661, "01:01:01"),
        ("SPSS", "F8.2", 3661, None),
        ("SAS", "MMDDYY10", 21_916, "2020-01-02"),
        ("SAS", "DATETIME22", 0, "1960-01-01 00:00:00"),
        ("SAS", "YYMMDDN8", 21_916.7, "2020-01-02"),
        ("SAS", "BEST12", 1, None),
        ("Stata", "%td", -1, "1959-12-31"),
        ("Stata", "%tdCCYY-NN-DD", 0, "1960-01-01"),
        ("Stata", "%d", 1, "1960-01-02"),
        ("Stata", "%tcHH:MM:SS", 3_661_000, "01:01:01"),
        ("Stata", "%tw", 53, "1961-01-08"),
        ("Stata", "%tq", 3, "1960-10-01"),
        ("Stata", "%th", -1, "1959-07-01"),
        ("Stata", "%ty", 1960, None),
        ("Stata", "%12.0g", 1, None),
    ],
)
def test_numbers_are_days_by_the_format_of_their_column(program, name, number, text):
    format = day_format(program, name)
    if text is None:
        assert format is None
        return
    assert format is not None
    numbers = np.array([number, np.nan, 1e300, -1e300, np.inf])
    assert format.texts(numbers).tolist() == [text, None, None, None, None]


HOSTILE_VALUES = {
    "sex": [np.nan, 1e300, -5.0, 9.0],
    "view": [0.5, 8.0, np.nan],
    "age": [1e15, 97.5, np.nan],
    "hours": [-1e6, np.nan, 1e300],
    "born": [datetime.date(1600, 1, 1), datetime.date(9999, 12, 31), None],
    "place": ["Male", "é" * 200, "9", "NA"],
}


@parametrize("name", HOSTILE_VALUES)
def test_nobody_elses_row_changes_when_the_value_of_one_row_does(tmp_path, name):
    before = load_table(written(tmp_path, "sav", survey(), **SURVEY_STATEMENTS)).frame.astype(str)
    for value in HOSTILE_VALUES[name]:
        cells = survey()[name]
        cells[3] = value
        path = written(tmp_path, "sav", survey(**{name: cells}), **SURVEY_STATEMENTS)
        after = load_table(path).frame.astype(str)
        others = [row for row in range(ROWS) if row != 3]
        assert after.iloc[others].equals(before.iloc[others])


def test_the_same_bytes_are_the_same_data_set_and_parts_read_alike(tmp_path, monkeypatch):
    path = written(tmp_path, "sav", survey(), **SURVEY_STATEMENTS)
    table = load_table(path)
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    packed = load_table(written(tmp_path, "zsav", survey(), **SURVEY_STATEMENTS))
    key = b"k" * 16
    assert table_fingerprint(packed.frame, key) == table_fingerprint(table.frame, key)
    monkeypatch.setattr(statistics_file, "MAX_BATCH_CELLS", 60)
    shares = []
    content = io.BytesIO(path.read_bytes())
    parts = load_table(content, "t.sav", progress=lambda done, total: shares.append((done, total)))
    assert parts.frame.equals(table.frame)
    assert shares == [(10, 40), (20, 40), (30, 40), (40, 40)]


def test_a_file_that_is_too_large_damaged_or_of_another_kind_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path, "sav", survey(), **SURVEY_STATEMENTS)
    content = path.read_bytes()
    with expect_error("t.sav: holds at least 240 values, at most 200"):
        load_table(path, max_cells=200)
    for damaged in (content[:200], content[: len(content) // 2], b"", b"a,b\n1,2\n"):
        with expect_error(r"t\.sav: "):
            load_table(io.BytesIO(damaged), "t.sav")
    with expect_error("this is an SPSS file, not a table; .* let its name end in .sav"):
        load_table(io.BytesIO(content), "t.csv")
    with expect_error("this is an SPSS file"):
        load_table(io.BytesIO(content), "t.dta")
    monkeypatch.setattr(statistics_file, "MAX_TEXT_CHARS", 20)
    with expect_error("its texts have more than 20 characters"):
        load_table(path)


def test_an_encoding_is_stated_where_the_file_names_a_wrong_one(tmp_path):
    path = written(tmp_path, "sav", {"a": ["Zürich", "x"]})
    content = path.read_bytes().replace("ü".encode(), b"\xfc ")
    with expect_error('"file": {"encoding": "windows-1252"}'.replace("{", r"\{")):
        load_table(io.BytesIO(content), "t.sav")
    stated = load_table(io.BytesIO(content), "t.sav", format=TextFormat(encoding="windows-1252"))
    assert stated.frame["a"].tolist() == ["Zü rich", "x"]


def test_without_the_extra_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    assert ".sav" in readable_table_endings()
    monkeypatch.setattr(statistics_file, "find_spec", lambda name: None)
    assert ".sav" not in readable_table_endings()
    assert set(readers.TEXT_ENDINGS) < set(readable_table_endings())
    with expect_error(r"t\.sav: SPSS, .* pip install 'privacy-utility-explorer\[stats\]'"):
        load_table(tmp_path / "t.sav")


def test_the_command_line_proposes_a_schema_that_it_runs(tmp_path, capsys):
    path = str(written(tmp_path, "sav", survey(), **SURVEY_STATEMENTS))
    schema = tmp_path / "schema.json"
    assert main(["schema", "--peek", path]) == 0
    output = capsys.readouterr()
    assert "'view': its label is 'How do you like it?'" in output.err
    schema.write_text(output.out)
    synthetic = tmp_path / "s.csv"
    task = ["--schema", str(schema), "--columns", "sex,view", "--queries", "marginals:2"]
    budget = ["--epsilon", "1", "--delta", "1e-6", "--seed", "0", "--synthetic", str(synthetic)]
    assert main(["run", path, *task, "--algorithm", "gaussian_maxent", *budget]) == 0
    values = set(pd.read_csv(synthetic, keep_default_na=False)["view"])
    assert values <= {"Bad", "So so", "Good", ""}
