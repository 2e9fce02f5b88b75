"""The grammar of typed questions, and its parser.

    question   = all, joined by `or`;  all = parts, joined by `and`;  part = [not] (comparison | "(" question ")")
    comparison = column = value | column != value | column < value | column <= value | column > value | column >= value
               | column [not] between value and value | column [not] in (value, value, …) | column is [not] missing

Keywords may be in capitals. Names and values may stand in double quotes or backticks, a quote inside doubled; they have
to where they hold spaces, quotes or commas, or are keywords. An unquoted name is the longest column name that fits. A
value is a category, a number, or the label of a bin. Categories compare with < in ordered columns only. A missing value
fulfils no comparison, != and `not in` included, while `not` in front of a comparison turns every cell over.
"""

import math
import re
from dataclasses import dataclass, field

from ..core.errors import InputError
from ..core.types import value_object
from ..schema.cell_text import written
from ..schema.domain import Domain

DEEPEST = 50  # parentheses
SHOWN = 5  # columns in a message
KEYWORDS = ("and", "or", "not", "between", "in", "is")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
QUOTED = re.compile(r'"(?:[^"]|"")*"|`(?:[^`]|``)*`')
BARE = re.compile(r'[^\s(),"`]+')
ORDER = ("<=", ">=", "<", ">")


@dataclass(eq=False)
class Leaf:
    """One comparison: `kind` is a sign of ORDER (one number), "between" (two), "in" (numbers, cells) or "missing"."""

    axis: int
    kind: str = "in"
    turned: bool = False
    numbers: list[float] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    text: str = ""


@value_object
class Node:
    """A combination of comparisons: `kind` is "and" or "or" of all `parts`, or "not" of the only one."""

    kind: str
    parts: "list[Node | Leaf]"


class QuestionParser:
    """A parser that reads a question from left to right."""

    def __init__(self, text: str, domain: Domain) -> None:
        self.text, self.domain = text, domain
        self.at = self.depth = 0
        self.leaves: list[Leaf] = []

    def parse(self) -> tuple[Node | Leaf, list[Leaf]]:
        """The tree of the whole question and its comparisons; InputError for text after its end."""
        tree = self._joined("or")
        if self.at < len(self.text):
            raise self._error("`and`, `or` or the end")
        return tree, self.leaves

    def _joined(self, word: str) -> Node | Leaf:
        parts = []
        while not parts or self._next(word):
            parts.append(self._joined("and") if word == "or" else self._part())
        return parts[0] if len(parts) == 1 else Node(word, parts)

    def _part(self) -> Node | Leaf:
        negated = False
        while not self._fits() and self._next("not"):
            negated = not negated
        if self._next("("):
            self.depth += 1
            if self.depth > DEEPEST:
                raise self._error(f"no more than {DEEPEST} parentheses inside each other")
            part = self._joined("or")
            self._expect(")")
            self.depth -= 1
        else:
            part = self._comparison()
        return Node("not", [part]) if negated else part

    def _comparison(self) -> Leaf:
        axis, start = self._column()
        leaf = Leaf(axis, turned=self._next("not"))
        if self._next("between"):
            leaf.kind, values_start = "between", self.at
            self._value(leaf, ordered=True)
            if not self._next("and"):
                raise self._error("`and` with the upper bound")
            self._value(leaf, ordered=True)
            if leaf.numbers[0] > leaf.numbers[1]:
                raise self._error("the lower bound before the upper one", values_start)
        elif self._next("in"):
            self._expect("(")
            self._value(leaf, ordered=False)
            while self._next(","):
                self._value(leaf, ordered=False)
            self._expect(")")
        elif leaf.turned:
            raise self._error("`between` or `in` after `not`")
        elif self._next("is"):
            leaf.kind, leaf.turned = "missing", self._next("not")
            if not self._next("missing"):
                raise self._error("`missing` or `not missing`")
            if self.domain.columns[axis].missing != "category":
                raise self._error("a column that has missing values by its schema", start)
        elif sign := next((sign for sign in ORDER if self._next(sign)), ""):
            leaf.kind = sign
            self._value(leaf, ordered=True)
        else:
            leaf.turned = self._next("!=")
            if not (leaf.turned or self._next("==") or self._next("=")):
                raise self._error("=, !=, <, <=, >, >=, `between`, `in` or `is missing`")
            self._value(leaf, ordered=False)
        leaf.text = self.text[start : self.at]
        self.leaves.append(leaf)
        return leaf

    def _column(self) -> tuple[int, int]:
        """The number of the column named at this place, and the position where its name starts."""
        name, start = self._fits(), self.at
        if name:
            self.at += len(name)
        else:
            name = self._quoted()
        if name not in self.domain.names:
            names = self.domain.names
            names_text = ", ".join(names[:SHOWN]) + ", …" * (len(names) > SHOWN)
            raise self._error(f"a column name ({names_text})", start)
        return self.domain.names.index(name), start

    def _fits(self) -> str | None:
        """The longest column name that the text continues with, without quotes."""
        self._space()
        matching_names = [
            name
            for name in self.domain.names
            if self.text.startswith(name, self.at)
            and BARE.match(name[0])
            and not any(c.isspace() or c in '"`' for c in name)
            and name.lower() not in KEYWORDS
            and not (_wordy(name[-1:]) and _wordy(self.text[self.at + len(name) :][:1]))
        ]
        return max(matching_names, key=len, default=None)

    def _value(self, leaf: Leaf, *, ordered: bool) -> None:
        """One value at this place, as a number (for an order) or as a cell."""
        self._space()
        column, start = self.domain.columns[leaf.axis], self.at
        token = self._quoted()
        if token is None and (match := BARE.match(self.text, self.at)):
            self.at, token = match.end(), match[0]
        if token is None or (token.lower() in KEYWORDS and self.text[start] not in '"`'):
            raise self._error("a value", start)
        number = float(token) if NUMBER.fullmatch(token) else math.nan
        if column.values:
            if ordered and not column.ordered:
                raise self._error(f"=, != or `in`, as column {column.name!r} has no order", start)
            cell = column.codes.get(token, column.codes.get(written(number)))
            if cell is None:
                raise self._error(f"one of the values {column.allowed} of column {column.name!r}", start)
            (leaf.numbers if ordered else leaf.cells).append(cell)
        elif not ordered and column.edges and token in column.codes and math.isnan(number):
            leaf.cells.append(column.codes[token])
        elif not math.isfinite(number):
            raise self._error(f"a number to compare column {column.name!r} with", start)
        elif ordered:
            leaf.numbers.append(number)
        elif column.kind == "numeric":
            raise self._error(f"`between`, or the label of a bin such as {column.labels[0]!r}, not one number", start)
        elif not (number.is_integer() and column.bounds[0] <= number <= column.bounds[1]):
            raise self._error(f"a whole number in {column.allowed}", start)
        else:
            leaf.numbers.append(number)

    def _quoted(self) -> str | None:
        """The text between quotes at this place."""
        if not (match := QUOTED.match(self.text, self.at)):
            return None
        self.at, quote_mark = match.end(), match[0][0]
        return match[0][1:-1].replace(quote_mark * 2, quote_mark)

    def _next(self, word: str) -> bool:
        """Whether a keyword or sign stands at this place, which is then passed."""
        self._space()
        end = self.at + len(word)
        matches = self.text[self.at : end].lower() == word and not (_wordy(word) and _wordy(self.text[end : end + 1]))
        self.at = end if matches else self.at
        return matches

    def _expect(self, sign: str) -> None:
        if not self._next(sign):
            raise self._error(f"`{sign}`")

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _error(self, expected: str, at: int | None = None) -> InputError:
        at = self.at if at is None else at
        actual = repr(self.text[at : at + 20]) if at < len(self.text) else "the end"
        return InputError(f"question, character {at + 1}: expected {expected}, found {actual}")


def _wordy(character: str) -> bool:
    return character.isalnum() or character == "_"
