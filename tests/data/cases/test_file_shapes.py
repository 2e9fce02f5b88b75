"""The shape of a file: guessed while exploring, with doubts; and read as it is stated."""

import gzip
import io
from unittest import mock

import hypothesis.strategies as st
import openpyxl
import pandas as pd
from hypothesis import given, settings

from dpcore import InputError
from dpcore.data import text_file
from dpcore.data.input_files import join_header_lines
from dpcore.data.readers import load_table
from dpcore.data.table_shape import empty_unnamed_columns, row_number_columns
from dpcore.release.request import check_text_format
from dpcore.schema.schema_json import text_format_from_json
from dpcore.schema.text_format import MULTIBYTE_ENCODINGS, TextFormat, keeps_lines_apart
from tests.data.cases.file_cases import DOUBTED_LINES, ENCODING_CASES, FILE_CASES, TEXT_CASES
from tests.small_problems import expect_error, parametrize


def as_csv(lines):
    width = max(map(len, lines))
    padded = [[*line, *[""] * (width - len(line))] for line in lines]
    return pd.DataFrame(padded).to_csv(index=False, header=False).encode()


def as_text(lines):
    return "".join(",".join(line) + "\n" for line in lines).encode()


def as_sheet(lines, before=()):
    book = openpyxl.Workbook()
    for title, other_lines in before:
        sheet = book.active if book.active.title == "Sheet" else book.create_sheet()
        sheet.title = title
        for line in other_lines:
            sheet.append(line)
    sheet = book.create_sheet("data") if before else book.active
    for number, line in enumerate(lines, 1):
        for place, cell in enumerate(line, 1):
            if cell:
                sheet.cell(number, place, int(cell) if cell.isdigit() else cell)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def proposed(table):
    """The texts of the columns that are proposed."""
    unused = {*empty_unnamed_columns(table.frame), *row_number_columns(table.frame)}
    return {
        name: [str(cell) for cell in cells]
        for name, cells in table.frame.items()
        if name not in unused
    }


@parametrize("case", FILE_CASES.values(), ids=FILE_CASES)
@parametrize("kind", ["csv", "ragged csv", "csv.gz", "xlsx"])
def test_a_file_is_guessed_with_doubts_and_read_again_as_it_is_stated(case, kind):
    if kind == "xlsx":
        content = as_sheet(case.lines)
    else:
        content = as_text(case.lines) if kind == "ragged csv" else as_csv(case.lines)
    content = gzip.compress(content) if kind == "csv.gz" else content
    name = f"t.{kind.removeprefix('ragged ')}"
    table = load_table(io.BytesIO(content), name)
    expected_guess = case.guess_of_sheet if kind == "xlsx" else case.guess
    assert table.format.to_json() == expected_guess
    is_cut_sheet = kind == "xlsx" and case is FILE_CASES["empty columns"]
    assert {doubt.kind for doubt in table.doubts} == (set() if is_cut_sheet else case.doubts)
    assert proposed(table) == case.columns
    stated = load_table(io.BytesIO(content), name, format=table.format)
    assert stated.frame.equals(table.frame), "a release reads by the statement alone"
    check_text_format(table.format)
    for doubt in table.doubts:
        text_format_from_json(
            {**table.format.to_json(), **doubt.statement}
            if "width" not in table.format.to_json()
            else doubt.statement
        )


@parametrize("name", DOUBTED_LINES)
def test_a_doubt_names_the_line(name):
    table = load_table(io.BytesIO(as_csv(FILE_CASES[name].lines)), "t.csv")
    assert DOUBTED_LINES[name] in table.doubts[0].text


def test_a_table_far_below_is_doubted_and_words_beside_numbers_are_not():
    rows = [[str(number), "1"] for number in range(1000)]
    for line, doubts in ((["u", "v"], 1), (["unknown", "unknown"], 0), (["n/a", "7"], 0)):
        content = as_text([["x", "y"], *rows, line, *rows])
        assert len(load_table(io.BytesIO(content), "t.csv").doubts) == doubts


@parametrize(
    "lines, names",
    [
        (
            [["", "2019", "", "2020", ""], ["id", "m", "w", "m", "w"]],
            "id|2019 / m|2019 / w|2020 / m|2020 / w",
        ),
        ([["land", "a", "", "all", ""], ["", "m", "w", "", "note"]], "land|a / m|a / w|all|note"),
        (
            [["A", "", "", "B"], ["x", "", "y", ""], ["1", "2", "3", "4"]],
            "A / x / 1|A / x / 2|A / y / 3|B / 4",
        ),
        ([["A"], ["1", "2", ""]], "A / 1|A / 2|"),
        ([[" e\u0301 ", "b"]], "é|b"),
    ],
)
def test_names_of_groups_stand_before_those_of_their_columns(lines, names):
    assert "|".join(join_header_lines(lines)) == names


@parametrize("content, guess, columns", TEXT_CASES.values(), ids=TEXT_CASES)
def test_a_text_is_guessed_by_its_separators(content, guess, columns):
    table = load_table(io.BytesIO(content.encode()), "t.csv")
    assert table.format.to_json() == guess
    assert table.doubts
    assert {name: cells.str.strip().tolist() for name, cells in table.frame.items()} == columns


@parametrize("encoding, text", ENCODING_CASES)
def test_an_encoding_is_guessed_with_a_line_to_check_it_by(encoding, text):
    table = load_table(io.BytesIO(text.encode(encoding)), "t.csv")
    assert table.format.encoding == encoding
    assert any(repr(line) in table.doubts[0].text for line in text.splitlines())
    other = load_table(io.BytesIO(text.encode(encoding)), "t.csv", stated=table.doubts[0].statement)
    assert other.format.encoding != encoding


def test_the_part_of_a_line_is_shown_that_tells_encodings_apart():
    text = "a,b\n" + "x" * 300 + ",Kraków\n" + "y" * 300 + ",Łódź i Gdańsk\n"
    doubt = load_table(io.BytesIO(text.encode("cp1250", "replace")), "t.csv").doubts[0]
    assert "Łódź i Gdańsk" in doubt.text
    assert len(doubt.text) < 200


def test_a_stated_setting_is_not_guessed():
    content = as_text(FILE_CASES["no header"].lines)
    table = load_table(io.BytesIO(content), "t.csv", stated={"header": 1})
    assert list(table.frame) == ["45", "M"]
    assert not table.doubts


def test_a_cover_sheet_is_passed_over_and_a_sheet_is_stated():
    lines = FILE_CASES["plain"].lines
    content = as_sheet(lines, [("Read me", [["Survey"], ["See next sheet"]])])
    table = load_table(io.BytesIO(content), "t.xlsx")
    assert table.format.to_json() == {"sheet": "data"}
    assert [doubt.kind for doubt in table.doubts] == ["sheet"]
    first = load_table(io.BytesIO(content), "t.xlsx", format=TextFormat())
    assert list(first.frame) == ["Survey"], "what is not stated is the first sheet"
    with expect_error("there is no sheet 'x'"):
        load_table(io.BytesIO(content), "t.xlsx", format=TextFormat(sheet="x"))


def test_a_table_that_starts_at_c3_is_read():
    lines = [[], [], *(["", "", *line] for line in FILE_CASES["plain"].lines)]
    table = load_table(io.BytesIO(as_sheet(lines)), "t.xlsx")
    assert proposed(table) == FILE_CASES["plain"].columns


def test_an_error_names_the_statement_that_helps():
    content = as_text(FILE_CASES["title above"].lines)
    with expect_error(r'"file": \{"header": 3\}'):
        load_table(io.BytesIO(content), "t.csv", format=TextFormat())
    with expect_error('"header": 1'):
        load_table(io.BytesIO(content), "t.csv", format=TextFormat(header=99))
    for statement in ({"header_lines": 2}, {"header": 1, "header_lines": 2}):
        with expect_error('"header": 2, "header_lines": 2'):
            text_format_from_json(statement)


@parametrize(
    "statement, message",
    [
        ({"header": "none", "delimiter": ","}, '"width": 5'),
        ({"encoding": "utf-7"}, "utf-7 is not released"),
        ({"encoding": "euc_kr"}, "euc_kr is not released"),
        ({"encoding": "utf-16-le"}, "not released"),
    ],
)
def test_what_would_be_read_off_the_rows_is_not_released(statement, message):
    with expect_error(message):
        check_text_format(text_format_from_json(statement))


@parametrize("encoding", [*MULTIBYTE_ENCODINGS, "cp1251", "cp037", "koi8-r"])
@given(before=st.binary(max_size=5), after=st.binary(max_size=4))
@settings(max_examples=60)
def test_no_byte_of_a_line_changes_another_line_in_a_released_encoding(encoding, before, after):
    assert keeps_lines_apart(encoding)
    end = "\n".encode(encoding.removesuffix("-sig"))
    if end in before or encoding == "utf-8-sig" and before.startswith(b"\xef"):
        return

    def text(content):
        return content.decode(encoding, "backslashreplace")

    assert text(before + end + after).endswith("\n" + text(after).removeprefix("\ufeff"))


STATEMENTS = {
    "names in line 3": ({"header": 3}, b"A title\n\na,b\n", b""),
    "names in two lines": ({"header": 2, "header_lines": 2}, b"g,\na,b\n", b""),
    "no names": ({"header": "none", "width": 2, "delimiter": ","}, b"", b""),
    "notes below": ({"skip_end": 2}, b"a,b\n", b"\nTotal,9\n"),
    "notes below, no end": ({"skip_end": 1}, b"a,b\n", b"Total,9"),
    "spaces after": ({"spaces": "after"}, b"a, b\n", b""),
    "spaces between": ({"spaces": "between"}, b"a  b\n", b""),
    "Cyrillic": ({"encoding": "cp1251"}, b"a,b\n", b""),
    "Chinese": ({"encoding": "gbk"}, b"a,b\n", b""),
}
HOSTILE_LINE = st.text("a1,\"; \t|'\x00é\ufeff=-", max_size=12).map(str.encode) | st.binary(
    max_size=8
).map(lambda content: content.replace(b"\n", b"").replace(b"\r", b""))


@parametrize("way", STATEMENTS)
@parametrize("read_size", [1 << 20, 11])
@given(line=HOSTILE_LINE, place=st.integers(0, 3))
@settings(max_examples=60)
def test_nobody_elses_row_changes_when_the_text_of_one_row_does(way, read_size, line, place):
    statement, head, tail = STATEMENTS[way]
    delimiter = b"  " if statement.get("spaces") == "between" else b","
    lines = [delimiter.join([b"x%d" % row, b"y%d" % row]) for row in range(4)]
    others = [[f"x{row}", f"y{row}"] for row in range(4) if row != place]
    lines[place] = line
    content = head + b"\n".join(lines) + b"\n" + tail
    format = text_format_from_json(statement)
    check_text_format(format)
    with mock.patch.object(text_file, "READ_SIZE", read_size):
        try:
            frame = load_table(io.BytesIO(content), "t.csv", format=format).frame
        except InputError as error:
            number = head.count(b"\n") + place + 1
            assert f"line {number} " in str(error)  # noqa: PT017 - most lines are not refused
            return
    rows = frame.to_numpy().tolist()
    kept = [row for row in rows if row in others]
    assert kept == others
    assert len(rows) - len(kept) <= 1


@parametrize("statement", [{"header": 2}, {"skip_end": 1}, {"header": "none", "width": 2}])
@given(
    cells=st.lists(st.sampled_from(["", "7", "Total", "a,b"]), max_size=2),
    place=st.integers(0, 2),
)
@settings(max_examples=15)
def test_nobody_elses_row_of_a_sheet_changes_when_one_row_does(statement, cells, place):
    rows = [[f"x{row}", f"y{row}"] for row in range(3)]
    rows[place] = cells
    head = (
        []
        if statement.get("header") == "none"
        else [["A title"]] * (len(statement) and statement.get("header", 1) - 1) + [["a", "b"]]
    )
    tail = [["Total", "9"]] if "skip_end" in statement else []
    content = as_sheet([*head, *rows, *(tail or [["end", "end"]])])
    frame = load_table(io.BytesIO(content), "t.xlsx", format=text_format_from_json(statement)).frame
    read_rows = frame.to_numpy().tolist()
    for row in range(3):
        if row != place:
            assert read_rows[row] == [f"x{row}", f"y{row}"]
