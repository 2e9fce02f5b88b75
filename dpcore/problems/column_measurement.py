"""The problem "columns": what the unknown columns of a table hold, to be measured."""

from ..core.types import Texts, value_object
from ..schema.partial_schema import UnknownColumn
from .kinds import BoundedContribution


@value_object
class ColumnMeasurement(BoundedContribution):
    """The problem of measuring the unknown columns of a table of n rows, n public.

    `columns` are those whose kind is known, `names_of_unknown_kind` those of which only the name
    is; a problem has one or the other. Neighbours replace up to `group` rows of one person.

    >>> ColumnMeasurement((UnknownColumn("age", "integer"),), n=1000).column_count
    1
    """

    columns: tuple[UnknownColumn, ...]
    n: int
    group: int = 1
    names_of_unknown_kind: Texts = ()

    @property
    def column_count(self) -> int:
        """The number of columns to be measured."""
        return len(self.columns) or len(self.names_of_unknown_kind)

    @property
    def categorical_names(self) -> list[str]:
        """The names of the columns that are known to hold categories."""
        return [column.name for column in self.columns if column.is_categorical]

    @property
    def may_have_categories(self) -> bool:
        """Whether a column holds categories, or may turn out to."""
        return bool(self.categorical_names or self.names_of_unknown_kind)
