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
        {"header": 2, "delimiter": ","},
        {"two_line_header"},
        {**AGES, "pay": ["0", "10", "20", "30", "40", "50"], "tax": ["3"] * 6},
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
    "title without its empty cells": (
        "Persons in the register\nage;sex\n" + ROWS_OF_TEXT.format(";"),
        {"delimiter": ";", "header": 2},
        AGES,
    ),
}
ENCODING_CASES = {
    "cp1251": "город;возраст\nМосква;88\nКазань;51\n",
    "cp932": "名前,年齢\n東京,33\n大阪,22\n",
    "cp1253": "πόλη,χ\nΑθήνα,2\nΘεσσαλονίκη,3\n",
    "windows-1252": "name;x\nMüller;3\nJosé;4\nÅse;3\n",
    "gb18030": "城市,年龄\n北京,33\n上海,22\n",
    "koi8-r": "город;возраст\nМосква;88\nКазань;51\n",
}
