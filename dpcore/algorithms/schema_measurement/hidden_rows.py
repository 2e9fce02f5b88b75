"""What measuring columns will hide, known before it: from the number of rows and the budget alone.

No row is read for it, so it can be said to anyone, before the budget is used.
"""

from ...core.types import value_object
from ...privacy.accounting import Plan
from ...problems import ColumnMeasurement
from ...schema.partial_schema import UnknownColumn
from .predicted_errors import min_visible_rows

# share of all rows that a value may need to be seen; where it needs more, nearly all is hidden
MAX_NEEDED_SHARE = 0.1
NEARLY_ALL_HIDDEN_ADVICE = "Better state the values or ranges yourself, or use more budget"


@value_object
class HiddenRows:
    """The numbers of rows that values, and numbers of one size, need to be seen.

    They are of `n` rows; 0 where no column of the kind is measured.

    >>> HiddenRows(n=5000, value_rows=2144.0).text
    'values under 2,144 of 5,000 rows will be hidden'
    """

    n: int
    value_rows: float = 0.0
    number_rows: float = 0.0

    @property
    def hides_nearly_all(self) -> bool:
        """Whether what is measured of a column may well be next to nothing."""
        return max(self.value_rows, self.number_rows) > MAX_NEEDED_SHARE * self.n

    @property
    def text(self) -> str:
        """What will be hidden, in words."""
        needed_rows = {"values": self.value_rows, "ranges of numbers": self.number_rows}
        hidden_nouns = [noun for noun, rows in needed_rows.items() if rows >= self.n]
        parts = [
            f"{noun} under {rows:,.0f} of {self.n:,} rows will be hidden"
            for noun, rows in needed_rows.items()
            if 0 < rows < self.n
        ]
        if hidden_nouns:
            nouns = " and ".join(hidden_nouns)
            parts.append(f"all {nouns} may be hidden: {self.n:,} rows are too few")
        return ", and ".join(parts)


def predict_hidden_rows(problem: ColumnMeasurement, plan: Plan) -> HiddenRows:
    """Return what measuring the columns of a problem by its plan will hide."""
    columns = problem.columns
    if problem.names_of_unknown_kind:
        columns = (UnknownColumn("", "categorical"), UnknownColumn("", "numeric"))
    value_rows = 0.0
    number_rows = 0.0
    for column in columns:
        if not column.is_categorical:
            number_rows = min_visible_rows(column, problem, plan)
        elif plan["categories"] is not None:
            value_rows = min_visible_rows(column, problem, plan)
    return HiddenRows(problem.n, value_rows, number_rows)
