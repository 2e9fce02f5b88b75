"""What a file of a statistical package states about a column, beside its cells.

Such a statement is public like the column's name: it is read from the file's own dictionary, never
from the rows.
"""

from ...core.types import Texts, value_object


@value_object
class StatedColumn:
    """The long label of a column, its values in order, and the codes that count as missing.

    `values` are those that the file names, empty for a column of numbers or free text. `ordered`
    says that the file calls them ordinal. `missing_codes` are what its cells say where the file
    declares a value missing.
    """

    label: str = ""
    values: Texts = ()
    ordered: bool = False
    missing_codes: tuple[int | float | str, ...] = ()


NOTHING_STATED = StatedColumn()
