"""Tables as people have them: how a file is written, the statement, and what it then says.

The lines are those of a CSV file and of a sheet. `guess` is what is guessed of the CSV file, `doubts`
are the kinds of doubts about it, `codes` the values of the columns that are proposed.
"""

from dataclasses import dataclass, field
from typing import Any

PEOPLE = [["45", "M"], ["72", "F"], ["67", "F"], ["65", "M"], ["59", "M"], ["45", "F"]]
AGES = {"age": ["45", "72", "67", "65", "59", "45"], "sex": ["M", "F", "F", "M", "M", "F"]}
WITHOUT_NAMES = {"c1": AGES["age"], "c2": AGES["sex"]}


@dataclass(frozen=True)
class FileCase:
    """A file as a person has it, and what a right reading of it is."""

    lines: list[list[str]]
    guess: dict[str, Any]
    doubts: set[str]
    columns: dict[str, list[str]] = field(default_factory=lambda: AGES)
    sheet_guess: dict[str, Any] | None = None

    @property
    def guess_of_sheet(self):
        if self.sheet_guess is not None:
            return self.sheet_guess
        return {key: value for key, value in self.guess.items() if key != "delimiter"}


FILE_CASES = {
    "plain": FileCase([["age", "sex"], *PEOPLE], {}, set()),
    "no header": FileCase(
        PEOPLE,
        {"header": "none", "width": 2, "delimiter": ","},
        {"header"},
        WITHOUT_NAMES,
    ),
    "title above": FileCase(
        [["Table 3: invented persons"], [], ["age", "sex"], *PEOPLE],
        {"header": 3, "delimiter": ","},
        {"title"},
    ),
    "two lines of a title": FileCase(
        [["Table 3: invented persons"], ["in 2020"], ["age", "sex"], *PEOPLE],
        {"header": 3, "delimiter": ","},
        {"title"},
    ),
    "total below": FileCase(
        [["age", "sex"], *PEOPLE, [], ["Total", "6"], ["Source: a register"]],
        {"skip_end": 3},
        {"skip_end"},
    ),
    "row numbers": FileCase(
        [["", "age", "sex"], *([str(place), *row] for place, row in enumerate(PEOPLE, 1))],
        {},
        {"row_numbers"},
    ),
    "empty columns": FileCase(
        [["age", "sex", "", ""], *([*row, "", ""] for row in PEOPLE)],
        {},
        {"empty_columns"},
    ),
    "spaces around names": FileCase([[" age ", " sex"], *PEOPLE], {}, set()),
    "two lines of names": FileCase(
        [
            ["Persons", "", "Money", ""],
            ["age", "sex", "pay", "tax"],
            *([*row, str(10 * place), "3"] for place, row in enumerate(PEOPLE)),
        ],
        {"header": 2, "header_lines": 2, "delimiter": ","},
        {"two_line_header"},
        {
            "Persons / age": AGES["age"],
            "Persons / sex": AGES["sex"],
            "Money / pay": ["0", "10", "20", "30", "40", "50"],
            "Money / tax": ["3"] * 6,
        },
    ),
    "one group of names under a title": FileCase(
        [
            ["Income in the register"],
            ["", "", "2019", "", "all"],
            ["age", "sex", "men", "women", ""],
            *([*row, str(place), "3", "9"] for place, row in enumerate(PEOPLE)),
        ],
        {"header": 3, "header_lines": 2, "delimiter": ","},
        {"two_line_header"},
        {
            **AGES,
            "2019 / men": [*"012345"],
            "2019 / women": ["3"] * 6,
            "all": ["9"] * 6,
        },
    ),
    "names that are repeated below": FileCase(
        [["age", "sex"], *PEOPLE, ["age", "sex"], *PEOPLE],
        {},
        {"parts"},
        {name: [*cells, name, *cells] for name, cells in AGES.items()},
    ),
    "other names above numbers": FileCase(
        [["x", "y"], *(["1", "2"] for _ in range(5)), ["u", "v"], ["3", "4"]],
        {},
        {"parts"},
        {"x": [*"11111u3"], "y": [*"22222v4"]},
    ),
    "texts alone, and a value of line 1 below": FileCase(
        [["town", "Lyon"], *([f"t{place}", "Paris"] for place in "123456789"), ["t0", "Lyon"]],
        {},
        {"header"},
        {"town": [f"t{place}" for place in "1234567890"], "Lyon": ["Paris"] * 9 + ["Lyon"]},
    ),
    "texts alone with names": FileCase(
        [["name", "town"], *(["a", "Paris"] for _ in range(9))],
        {},
        set(),
        {"name": ["a"] * 9, "town": ["Paris"] * 9},
    ),
    "middles of groups as names": FileCase(
        [["land", "142.24", "144.78", "147.32"], *(["N", "1", "2", place] for place in "3456")],
        {},
        set(),
        {"land": ["N"] * 4, "142.24": ["1"] * 4, "144.78": ["2"] * 4, "147.32": [*"3456"]},
    ),
    "years as names": FileCase(
        [["land", "2019", "2020", "2021"], *(["N", "1", "2", place] for place in "3456")],
        {},
        set(),
        {"land": ["N"] * 4, "2019": ["1"] * 4, "2020": ["2"] * 4, "2021": [*"3456"]},
    ),
}
ROWS_OF_TEXT = "".join(f"{age}{{0}}{sex}\n" for age, sex in PEOPLE)
TEXT_CASES = {
    "sep line": (
        "sep=;\nage;sex\n" + ROWS_OF_TEXT.format(";"),
        {"delimiter": ";", "header": 2},
        AGES,
    ),
    "runs of spaces": (
        "age  sex\n" + ROWS_OF_TEXT.format("   "),
        {"spaces": "between"},
        AGES,
    ),
    "space before a quote": (
        '"name", "city"\n' + '"A", "Springfield, IL"\n' * 3,
        {"spaces": "after"},
        {"name": ["A"] * 3, "city": ["Springfield, IL"] * 3},
    ),
    "another table below": (
        "age,sex\n" + ROWS_OF_TEXT.format(",") + "\npay,tax\n7,x\n",
        {},
        {"age": [*AGES["age"], "pay", "7"], "sex": [*AGES["sex"], "tax", "x"]},
    ),
    "title without its empty cells": (
        "Persons in the register\nage;sex\n" + ROWS_OF_TEXT.format(";"),
        {"delimiter": ";", "header": 2},
        AGES,
    ),
}
DOUBTED_LINES = {  # a part of the doubt about each file
    "names that are repeated below": "line 8 repeats the names",
    "other names above numbers": "line 7 looks like names",
    "two lines of names": "lines 1 to 2 are read as the names, joined as in 'Persons / age'",
    "one group of names under a title": "lines 2 to 3 are read as the names, joined as in",
    "texts alone, and a value of line 1 below": "is line 1 the names?",
}
ENCODING_CASES = [
    ("cp1251", "город;возраст\nМосква;88\nКазань;51\n"),
    ("cp932", "名前,年齢\n東京,33\n大阪,22\n"),
    ("cp1253", "πόλη,χ\nΑθήνα,2\nΘεσσαλονίκη,3\n"),
    ("windows-1252", "name;x\nMüller;3\nJosé;4\nÅse;3\n"),
    ("windows-1252", "ville;x\nOrléans;1\nBesançon;2\nNîmes;3\n"),
    ("windows-1252", "by;x\nKøbenhavn;3\nÅrhus;1\nNæstved;2\n"),
    ("windows-1252", "x\nnaïve – café’s\n5 °C 3 €\n"),
    ("gb18030", "城市,年龄\n北京,33\n上海,22\n"),
    ("koi8-r", "город;возраст\nМосква;88\nКазань;51\n"),
    ("cp1250", "miasto;płeć\nŁódź;5\nKraków;3\nGdańsk;1\n"),
    ("cp1250", "jméno;město\nJiří;Plzeň\nTomáš;Třebíč\n"),
    ("cp1250", "név;város\nGyőr;1\nHódmezővásárhely;3\n"),
    ("cp1250", "ime;mesto\nŽiga;Škofja Loka\nČrt;Koper\n"),
    ("iso8859-2", "miasto;płeć\nŁódź;5\nKraków;3\nGdańsk;1\n"),
    ("cp1254", "şehir;n\nİstanbul;3\nIğdır;2\nÇankırı;4\n"),
    ("cp1257", "pilsēta;n\nRīga;1\nLiepāja;1\nJēkabpils;1\n"),
    ("cp1250", "miasto\nŁódź\nWrocław\nŚwidnica\nToruń\nMünchen\n"),
    ("cp850", "ort;x\nKöln;3\nMünchen;3\n"),
]
