"""The kinds of files that the Data page offers: packed texts too, those of extras if installed."""

import gzip
import io

import pandas as pd
import pytest

from dpcore.data.readers import MAX_UPLOADED_CELLS, load_table
from dpcore.data.statistics_files import statistics_file
from pages._ui.data import server_paths
from tests.pages.headless import error_text, everything, table
from tests.pages.test_data import CSV, opened
from tests.small_problems import expect_error, parametrize


def test_without_the_extra_the_page_says_so_and_takes_a_packed_text(monkeypatch):
    monkeypatch.setattr(statistics_file, "find_spec", lambda name: None)
    app = opened(gzip.compress(CSV), "people.csv.gz")
    assert table(app).frame.equals(load_table(io.BytesIO(CSV), "people.csv").frame)
    assert "privacy-utility-explorer[stats]" in everything(app)
    assert "One click reads the file again." in everything(app), "as of a text that is not packed"


def test_a_servers_folder_offers_packed_texts_and_files_of_statistical_packages(tmp_path):
    names = ["a.csv.gz", "b.TSV.GZ", "c.txt.gz", "d.sav", "e.dta", "f.xpt"]
    for name in [*names, "g.gz", "h.zip", "i.csv.zip"]:
        (tmp_path / name).write_bytes(b"")
    assert server_paths.list_table_names(tmp_path) == names


@parametrize("stated", [{}, {"encoding": "utf-8", "delimiter": ",", "header": 1, "skip_end": 0}])
def test_a_packed_text_is_bounded_as_it_is_unpacked(stated):
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 300_000, 9)
    assert len(bomb) < 10_000
    with expect_error("t.csv.gz: unpacks to more than 400,000 bytes"):
        load_table(io.BytesIO(bomb), "t.csv.gz", 50_000, stated=stated)
    assert load_table(io.BytesIO(bomb), "t.csv.gz", MAX_UPLOADED_CELLS).frame.shape == (300_000, 2)


def test_the_labels_of_an_spss_file_are_the_values_on_the_page(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"sex": [1.0, 2.0, 9.0] * 10, "age": [17.0, 30.0, 99.0] * 10}),
        str(path),
        variable_value_labels={"sex": {1: "Male", 2: "Female", 9: "Refused"}},
        missing_ranges={"sex": [9], "age": [99]},
    )
    app = opened(path.read_bytes(), "t.sav")
    entries = table(app).schema["columns"]
    assert entries["sex"]["values"] == ["Male", "Female"]
    assert [entry["missing_codes"] for entry in entries.values()] == [["Refused"], [99]]
    assert not error_text(app)
