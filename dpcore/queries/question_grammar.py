"""The grammar of typed questions, and its parser.

    question   = all, joined by `or`;  all = parts, joined by `and`;  part = [not] (comparison | "("
    question ")") comparison = column = value | column != value | column < value | column <= value |
    column > value | column >= value
               | column [not] between value and value | column [not] in (value, value, …) | column
               is [not] missing

Keywords may be in capitals. Names and values may stand in double quotes or backticks, a quote
inside doubled; they have to where they hold spaces, quotes or commas, or are keywords. An unquoted
name is the longest column name that fits. A value is a category, a number, or the label of a bin.
Categories compare with < in ordered columns only. A missing value fulfils no comparison, != and
`not in` included, while `not` in front of a comparison turns every cell over.
"""

import math
import re
from dataclasses import dataclass, field

from ..core.errors import InputError
from ..core.types import value_object
from ..schema.cell_text import canonical_text_of_value
from ..schema.domain import Domain

MAX_PARENTHESES_DEPTH = 50  # parentheses
MAX_COLUMNS_IN_MESSAGE = 5  # columns in a message
KEYWORDS = ("and", "or", "not", "between", "in", "is")
NUMBER_PATTERN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
QUOTED_PATTERN = re.compile(r'"(?:[^"]|"")*"|`(?:[^`]|``)*`')
UNQUOTED_PATTERN = re.compile(r'[^\s(),"`]+')
ORDER_SIGNS = ("<=", ">=", "<", ">")


@dataclass(eq=False)
class ComparisonLeaf:
    """One comparison of a column in a question.

    `kind` is one of ORDER_SIGNS (with one number), "between" (two), "in" (numbers, cells) or
    "missing". The upper one of two numbers is left out if it is `upper_excluded`.
    """

    axis: int
    kind: str = "in"
    negated: bool = False
    numbers: list[float] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    text: str = ""
    upper_excluded: bool = False


@value_object
class LogicalNode:
    """A combination of comparisons in a question.

    `kind` is "and" or "or" of all `parts`, or "not" of the only one.
    """

    kind: str
    parts: "list[LogicalNode | ComparisonLeaf]"


class QuestionParser:
    """A parser that reads a question from left to right."""

    def __init__(self, text: str, domain: Domain) -> None:
        self.text = text
        self.domain = domain
        self.position = 0
        self.depth = 0
        self.leaves: list[ComparisonLeaf] = []

    def parse(self) -> tuple[LogicalNode | ComparisonLeaf, list[ComparisonLeaf]]:
        """Return the tree of the whole question and its comparisons.

        Raises InputError for text after its end.
        """
        tree = self._parse_joined("or")
        if self.position < len(self.text):
            raise self._syntax_error("`and`, `or` or the end")
        return tree, self.leaves

    def _parse_joined(self, connective: str) -> LogicalNode | ComparisonLeaf:
        parts = []
        while not parts or self._accept(connective):
            parts.append(self._parse_joined("and") if connective == "or" else self._parse_part())
        return parts[0] if len(parts) == 1 else LogicalNode(connective, parts)

    def _parse_part(self) -> LogicalNode | ComparisonLeaf:
        negated = False
        while not self._match_column_name() and self._accept("not"):
            negated = not negated
        if self._accept("("):
            self.depth += 1
            if self.depth > MAX_PARENTHESES_DEPTH:
                raise self._syntax_error(
                    f"no more than {MAX_PARENTHESES_DEPTH} parentheses inside each other"
                )
            part = self._parse_joined("or")
            self._expect(")")
            self.depth -= 1
        else:
            part = self._parse_comparison()
        return LogicalNode("not", [part]) if negated else part

    def _parse_comparison(self) -> ComparisonLeaf:
        axis, start = self._parse_column()
        leaf = ComparisonLeaf(axis, negated=self._accept("not"))
        if self._accept("between"):
            leaf.kind = "between"
            values_start = self.position
            self._parse_value(leaf, ordered=True)
            if not self._accept("and"):
                raise self._syntax_error("`and` with the upper bound")
            self._parse_value(leaf, ordered=True)
            if leaf.numbers[0] > leaf.numbers[1]:
                raise self._syntax_error("the lower bound before the upper one", values_start)
        elif self._accept("in"):
            self._expect("(")
            self._parse_value(leaf, ordered=False)
            while self._accept(","):
                self._parse_value(leaf, ordered=False)
            self._expect(")")
        elif leaf.negated:
            raise self._syntax_error("`between` or `in` after `not`")
        elif self._accept("is"):
            leaf.kind = "missing"
            leaf.negated = self._accept("not")
            if not self._accept("missing"):
                raise self._syntax_error("`missing` or `not missing`")
            if self.domain.columns[axis].missing != "category":
                raise self._syntax_error("a column that has missing values by its schema", start)
        elif sign := next((sign for sign in ORDER_SIGNS if self._accept(sign)), ""):
            leaf.kind = sign
            self._parse_value(leaf, ordered=True)
        else:
            leaf.negated = self._accept("!=")
            if not (leaf.negated or self._accept("==") or self._accept("=")):
                raise self._syntax_error("=, !=, <, <=, >, >=, `between`, `in` or `is missing`")
            self._parse_value(leaf, ordered=False)
        leaf.text = self.text[start : self.position]
        self.leaves.append(leaf)
        return leaf

    def _parse_column(self) -> tuple[int, int]:
        """Return the number of the column named at this place, and where its name starts."""
        name = self._match_column_name()
        start = self.position
        if name:
            self.position += len(name)
        else:
            name = self._parse_quoted()
        if name not in self.domain.names:
            names = self.domain.names
            names_text = ", ".join(names[:MAX_COLUMNS_IN_MESSAGE])
            if len(names) > MAX_COLUMNS_IN_MESSAGE:
                names_text += ", …"
            raise self._syntax_error(f"a column name ({names_text})", start)
        return self.domain.names.index(name), start

    def _match_column_name(self) -> str | None:
        """Return the longest column name that the text continues with, without quotes."""
        self._skip_space()
        matching_names = [
            name
            for name in self.domain.names
            if self.text.startswith(name, self.position)
            and UNQUOTED_PATTERN.match(name[0])
            and not any(c.isspace() or c in '"`' for c in name)
            and name.lower() not in KEYWORDS
            and not (
                _is_word_character(name[-1:])
                and _is_word_character(self.text[self.position + len(name) :][:1])
            )
        ]
        return max(matching_names, key=len, default=None)

    def _parse_value(self, leaf: ComparisonLeaf, *, ordered: bool) -> None:
        """Read one value at this place, as a number (for an order) or as a cell."""
        self._skip_space()
        column = self.domain.columns[leaf.axis]
        start = self.position
        token = self._parse_quoted()
        if token is None:
            match = UNQUOTED_PATTERN.match(self.text, self.position)
            if match:
                self.position = match.end()
                token = match[0]
        if token is None or (token.lower() in KEYWORDS and self.text[start] not in '"`'):
            raise self._syntax_error("a value", start)
        if column.is_date:
            self._parse_day(leaf, token, start, ordered=ordered)
            return
        if column.values:
            self._parse_category(leaf, token, start, ordered=ordered)
            return
        number = float(token) if NUMBER_PATTERN.fullmatch(token) else math.nan
        if not ordered and column.edges and token in column.code_by_label and math.isnan(number):
            leaf.cells.append(column.code_by_label[token])
        elif not math.isfinite(number):
            raise self._syntax_error(f"a number to compare column {column.name!r} with", start)
        elif ordered:
            leaf.numbers.append(number)
        elif column.kind == "numeric":
            raise self._syntax_error(
                f"`between`, or the label of a bin such as {column.labels[0]!r}, not one number",
                start,
            )
        elif not (number.is_integer() and column.bounds[0] <= number <= column.bounds[1]):
            raise self._syntax_error(f"a whole number in {column.allowed_text}", start)
        else:
            leaf.numbers.append(number)

    def _parse_category(
        self, leaf: ComparisonLeaf, token: str, start: int, *, ordered: bool
    ) -> None:
        """Take one of a column's values, by its place where they are compared by order."""
        column = self.domain.columns[leaf.axis]
        if ordered and not column.ordered:
            raise self._syntax_error(
                f"=, != or `in`, as column {column.name!r} has no order", start
            )
        number = float(token) if NUMBER_PATTERN.fullmatch(token) else math.nan
        cell = column.code_by_label.get(
            token, column.code_by_label.get(canonical_text_of_value(number))
        )
        if cell is None:
            raise self._syntax_error(
                f"one of the values {column.allowed_text} of column {column.name!r}", start
            )
        (leaf.numbers if ordered else leaf.cells).append(cell)

    def _parse_day(self, leaf: ComparisonLeaf, token: str, start: int, *, ordered: bool) -> None:
        """Take a day, month or year: its start or what follows its end, or the label of a bin."""
        column = self.domain.columns[leaf.axis]
        span = column.span_of_period(token)
        if not ordered and token in column.code_by_label:
            leaf.cells.append(column.code_by_label[token])
        elif span is None:
            raise self._syntax_error(
                f"a day, month or year to compare column {column.name!r} with, such as "
                f"{column.number_text(column.bounds[0])}",
                start,
            )
        elif ordered:
            first, after_last = span
            needs_end = leaf.kind in ("<=", ">") or len(leaf.numbers) == 1
            leaf.numbers.append(after_last if needs_end else first)
            leaf.kind = {"<=": "<", ">": ">="}.get(leaf.kind, leaf.kind)
            leaf.upper_excluded = True
        elif column.is_real_valued:
            raise self._syntax_error(
                f"`between`, or the label of a bin such as {column.labels[0]!r}", start
            )
        else:
            leaf.numbers += range(int(span[0]), int(span[1]))

    def _parse_quoted(self) -> str | None:
        """Return the text between quotes at this place."""
        match = QUOTED_PATTERN.match(self.text, self.position)
        if not match:
            return None
        self.position = match.end()
        quote_mark = match[0][0]
        return match[0][1:-1].replace(quote_mark * 2, quote_mark)

    def _accept(self, word: str) -> bool:
        """Return whether a keyword or sign stands at this place, and pass it if so."""
        self._skip_space()
        end = self.position + len(word)
        matches = self.text[self.position : end].lower() == word and not (
            _is_word_character(word) and _is_word_character(self.text[end : end + 1])
        )
        self.position = end if matches else self.position
        return matches

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._syntax_error(f"`{sign}`")

    def _skip_space(self) -> None:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1

    def _syntax_error(self, expected: str, position: int | None = None) -> InputError:
        position = self.position if position is None else position
        actual = (
            repr(self.text[position : position + 20]) if position < len(self.text) else "the end"
        )
        return InputError(
            f"question, character {position + 1}: expected {expected}, found {actual}"
        )


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"
