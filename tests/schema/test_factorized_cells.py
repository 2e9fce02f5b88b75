"""Columns whose texts are factorized once: they read as the columns do, and no row again."""

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.core.arrays.arrow import ArrowExtensionArray

from dpcore.schema.cell_text import factorize_frame, factorize_texts
from dpcore.schema.column import Column
from dpcore.schema.inference.default_columns import choose_paired_columns
from dpcore.schema.inference.proposal import propose_schema
from tests.benchmarks.first_verdict import fill_in, make, read

CELLS = st.lists(
    st.sampled_from(["a", "b ", " b", "b", "1", "1.0", "NA", "", "ß", None]), min_size=1
)


@settings(max_examples=200)
@given(CELLS, st.data())
def test_factorized_cells_say_what_the_cells_say_in_the_same_order(cells, data):
    texts = pd.Series(cells, dtype="str")
    factorized = factorize_frame(pd.DataFrame({"x": texts}), min_rows=0)["x"]
    kept = data.draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells)))
    for part in (slice(None), kept):
        codes, distinct = factorize_texts(factorized[part])
        expected_codes, expected = factorize_texts(texts[part].astype(object))
        assert (codes.tolist(), distinct) == (expected_codes.tolist(), expected)


def test_categories_of_numbers_are_texts_of_numbers():
    cells = pd.Series(pd.Categorical([2, None, 1, 2], categories=[1, 2, 3], ordered=True))
    codes, texts = factorize_texts(cells)
    assert (codes.tolist(), texts) == ([0, -1, 1, 0], ["2", "1"])
    column = Column(name="x", kind="integer", low=1, high=2, missing="category")
    assert column.encode(cells).tolist() == [1, 2, 0, 1]


def test_categories_that_come_late_come_in_their_order():
    texts = pd.Series(["a"] * 40_000 + ["b"] * 40_000 + ["c"], dtype="str")
    factorized = factorize_frame(pd.DataFrame({"x": texts}), min_rows=0)["x"]
    assert factorize_texts(factorized)[1] == ["a", "b", "c"]
    assert factorize_texts(factorized[::-1])[1] == ["c", "b", "a"]
    assert factorize_texts(factorized[50_000:])[1] == ["b", "c"]


def test_columns_of_one_name_and_columns_of_numbers_stay_as_they_are():
    frame = pd.DataFrame([["a", 1, "b"], ["c", 2, "b"]], index=[5, 7], columns=["x", "y", "x"])
    assert factorize_frame(frame) is frame, "few rows are read as they are"
    factorized = factorize_frame(frame, min_rows=0)
    assert list(factorized.columns) == ["x", "y", "x"]
    assert factorized.index.tolist() == [5, 7]
    assert factorized["y"].tolist() == [1, 2]
    assert factorized.iloc[:, 2].tolist() == ["b", "b"]


def test_from_the_file_to_the_encoded_rows_each_column_is_factorized_once(tmp_path, monkeypatch):
    factorize = ArrowExtensionArray.factorize
    lengths = []

    def count_rows(array, use_na_sentinel=True):
        lengths.append(len(array))
        return factorize(array, use_na_sentinel)

    monkeypatch.setattr(ArrowExtensionArray, "factorize", count_rows)
    rows = 3000
    make(tmp_path / "table.csv", rows)
    table = read(tmp_path / "table.csv")
    fill_in(table)
    encoded = table.encoded_rows(choose_paired_columns(table.domain))
    # the texts of a column's shapes are fewer than its rows
    assert sum(length == rows for length in lengths) == len(table.names) == 35
    plain = table.unit.encode(
        table.domain.project(choose_paired_columns(table.domain)), table.frame
    )
    assert (encoded.values == plain.values).all()
    assert (encoded.weights == plain.weights).all()
    of_texts = propose_schema(table.frame)
    assert of_texts == propose_schema(table.factorized_frame)
