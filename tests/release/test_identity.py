"""What a ledger knows a data set by: the bytes of its files, or its cells, whatever a schema states
about the file.
"""

from dataclasses import replace
from functools import partial
from itertools import product

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import InputError, source_at
from dpcore.data.fingerprint import table_fingerprint, table_fingerprints
from dpcore.data.readers import load_table
from dpcore.release.data_set import TableIdentity
from dpcore.release.ledger import ledger_store
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from dpcore.schema.text_format import DELIMITER_NAMES, ENCODING_NAMES, TextFormat
from tests.release.ledger.ledger_charges import TOTAL, charge_events
from tests.small_problems import expect_error, parametrize

FORMATS = [
    TextFormat(delimiter=delimiter, encoding=encoding, line_breaks=breaks)
    for delimiter, encoding, breaks in product(
        ("", *DELIMITER_NAMES), ENCODING_NAMES, (False, True)
    )
]
WORDS = ["Köln", "Bonn", "Straße 7", "a;b", "x|y", "a,b", "17", "1.50", "–", "\u00a0z", "ÿ"]


@st.composite
def files(draw):
    """The bytes of a text file whose headings and cells are no plain English, in one of its
    encodings.
    """
    names = draw(
        st.lists(
            st.sampled_from(["Größe", "ort", "größe", "ß", "z"]),
            min_size=1,
            max_size=3,
            unique=True,
        )
    )
    row = st.lists(st.sampled_from(WORDS), min_size=len(names), max_size=len(names))
    rows = draw(st.lists(row, min_size=2, max_size=6))
    apart = draw(st.sampled_from([*DELIMITER_NAMES]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "windows-1252"]))
    return (
        pd.DataFrame(rows, columns=pd.Index(names)).to_csv(index=False, sep=apart).encode(encoding)
    )


def fields(path, format, in_parts):
    """What a charge says of a file that is read as a schema states it; None where it is no table
    so.
    """
    try:
        if in_parts:
            source = source_at(path, format)
            source.fingerprint(b"k")
            return {"frame": source}
        table = load_table(path, format=format)
        return {"frame": table.frame, "sha256": table.sha256}
    except InputError:
        return None


@given(
    files(),
    st.sampled_from(FORMATS),
    st.sampled_from(FORMATS),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_no_statement_about_a_file_makes_another_data_set_of_it(
    tmp_path_factory, content, first, second, a, b, name
):
    here = tmp_path_factory.mktemp("file")
    paths = here / "t.csv", here / "renamed.txt"
    for path in paths:
        path.write_bytes(content)
    one = fields(paths[0], first, a)
    two = fields(paths[1], second, b)
    if one is None or two is None:
        return
    store = LedgerStore(here / "l.sqlite", create=True)
    charge_events(store, dataset="one", total=TOTAL, **one)
    with expect_error("is the data set 'one'"):
        charge_events(store, dataset="two", total=TOTAL, **two)
    if name:
        assert charge_events(store, dataset="one", **two).dataset == "one"
    assert charge_events(store, dataset="one", new_version=True, **two).version == 2
    assert len(store.list_datasets()) == 1
    assert verify_ledger(store.path) == []


EDITS = {
    "line at the end": lambda text: text + "\r\n",
    "mark at the start": lambda text: "\ufeff" + text,
    "ends of lines": lambda text: text.replace("\n", "\r\n"),
    "order of rows": lambda text: "\n".join([text.split("\n")[0], *reversed(text.split("\n")[1:])]),
    "order of columns": lambda text: "\n".join(
        ";".join(reversed(line.split(";"))) for line in text.split("\n")
    ),
    "quotes": lambda text: text.replace("Köln", '"Köln"'),
}


@parametrize("edit", EDITS.values(), ids=EDITS)
@parametrize("formats", [*product(["utf-8", "windows-1252"], repeat=2)], ids="-".join)
def test_other_bytes_of_the_same_cells_are_known_in_any_encoding_that_is_stated(
    tmp_path, edit, formats
):
    text = "größe;ort;zahl\n1;Köln;2\n2;Bonn;3\n7;Straße;4"
    first, second = (TextFormat(encoding=encoding) for encoding in formats)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    (tmp_path / "u.csv").write_bytes(edit(text).encode())
    store = LedgerStore(tmp_path / "l.sqlite", create=True)
    charge_events(store, dataset="one", total=TOTAL, **fields(tmp_path / "t.csv", first, False))
    for in_parts in (False, True):
        with expect_error("is the data set 'one'"):
            charge_events(
                store, dataset="two", total=TOTAL, **fields(tmp_path / "u.csv", second, in_parts)
            )


def test_the_same_cells_in_other_kinds_of_files_are_known(tmp_path):
    frame = pd.DataFrame({"Größe": ["1", "2"], "ort": ["Köln", "Bonn"]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "b.csv", index=False, encoding="windows-1252", sep=";")
    frame.to_parquet(tmp_path / "c.parquet")
    frame.to_excel(tmp_path / "d.xlsx", index=False)
    (tmp_path / "folder").mkdir()
    for i in range(2):
        frame.iloc[[i]].to_parquet(tmp_path / "folder" / f"{i}.parquet")
    paths = [path for path in sorted(tmp_path.iterdir()) if path.name != "l.sqlite"]
    for number, (one, two) in enumerate(product(paths, repeat=2)):
        store = LedgerStore(tmp_path / f"{number}.sqlite", create=True)
        told = [
            {"frame": source_at(p)} if p.is_dir() else fields(p, TextFormat(), False)
            for p in (one, two)
        ]
        charge_events(store, dataset="one", total=TOTAL, **told[0])
        with expect_error("is the data set 'one'"):
            charge_events(store, dataset="two", total=TOTAL, **told[1])


def test_files_of_a_folder_are_known_whatever_they_are_called(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3, 4]})
    for folder, names in (("one", "ab"), ("two", "zy")):
        (tmp_path / folder).mkdir()
        for i, name in enumerate(names):
            frame.iloc[2 * i : 2 * i + 2].to_parquet(tmp_path / folder / f"{name}.parquet")
    one, two = (source_at(tmp_path / folder) for folder in ("one", "two"))
    assert one.sha256 == two.sha256 != ""
    frame.to_parquet(tmp_path / "t.parquet")
    assert source_at(tmp_path / "t.parquet").sha256 == load_table(tmp_path / "t.parquet").sha256


def test_people_whose_cells_differ_are_another_data_set(tmp_path):
    """Nothing is taken for known that is not: no two of these tables agree in any reading."""
    tables = [
        ["Köln", "Bonn"],
        ["Koln", "Bonn"],
        ["K?ln", "Bonn"],
        ["张", "李"],
        ["?", "?"],
        ["李", "王"],
        ["1", "2"],
    ]
    store = LedgerStore(tmp_path / "l.sqlite", create=True)
    for number, cells in enumerate(tables):
        charge_events(store, pd.DataFrame({"a": cells}), dataset=f"t{number}", total=TOTAL)
    assert len(store.list_datasets()) == len(tables)
    assert all(
        len(set(table_fingerprints(pd.DataFrame({"a": cells}), b"k"))) <= 3 for cells in tables
    )
    assert len(set(table_fingerprints(pd.DataFrame({"a": ["x", "y"]}), b"k"))) == 1


def charged_before(store, **said):
    """How a release was charged before the marks of bytes were kept: by the cells as read alone."""

    def of_cells(request, key):
        return TableIdentity(key, (table_fingerprint(request.frame, key),), ())

    with pytest.MonkeyPatch.context() as before:
        before.setattr(ledger_store, "FINGERPRINTS_SETTING", "not_kept")
        before.setattr(ledger_store.TableIdentity, "of", of_cells)
        return charge_events(store, **said)


def every_reading(path, format, in_parts):
    """The readings of a file by every other delimiter, as the command line has them."""
    others = [replace(format, delimiter=delimiter) for delimiter in ("", *DELIMITER_NAMES)]
    read_again = source_at if in_parts else lambda p, format: load_table(p, format=format).frame
    return tuple(partial(read_again, path, format=other) for other in others)


@given(files(), st.sampled_from(FORMATS), st.sampled_from(FORMATS), st.booleans())
def test_a_ledger_from_before_knows_its_files_by_any_statement(
    tmp_path_factory, content, first, second, parts
):
    if "utf-16" in (first.encoding, second.encoding) or first.line_breaks or second.line_breaks:
        return  # none of which was ever released
    here = tmp_path_factory.mktemp("old")
    path = here / "t.csv"
    path.write_bytes(content)
    one = fields(path, first, False)
    two = fields(path, second, parts)
    if one is None or two is None:
        return
    store = LedgerStore(here / "l.sqlite", create=True)
    charged_before(store, dataset="one", total=TOTAL, **one)
    with expect_error("is the data set 'one'"):
        charge_events(
            store, dataset="two", total=TOTAL, readings=every_reading(path, second, parts), **two
        )


def test_one_file_that_an_old_ledger_took_for_two_data_sets_is_charged_to_neither(tmp_path):
    """Whatever is stated that both are found by; what one of them was released by goes on."""
    (tmp_path / "t.csv").write_text("ort\nKöln\nBonn\n", encoding="utf-8")
    one, two = (
        fields(tmp_path / "t.csv", TextFormat(encoding=e), False) for e in ("utf-8", "windows-1252")
    )
    store = LedgerStore(tmp_path / "l.sqlite", create=True)
    charged_before(store, dataset="one", total=TOTAL, **one)
    charged_before(store, dataset="two", total=TOTAL, **two)
    for table in (one, two):
        for name in ("one", "two", "three"):
            with expect_error("several data sets, 'one', 'two'"):
                charge_events(store, dataset=name, total=TOTAL, **table)
