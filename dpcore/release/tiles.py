"""The tiles of a verdict, for pages and cards alike: how far off, and as exact as which sample.

Three words say how an error is known: measured against the real table, predicted by simulation,
promised by the noise whatever the table.
"""

from collections.abc import Sequence

from ..core.numbers import format_count
from ..core.types import Json

Tile = tuple[str, str, str]  # what is measured, its value, and what to compare that with
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six")


def measured_error_tile(
    misplaced: float, table_columns: tuple[int, int] | None, n: int, unit_noun: str
) -> Tile:
    """Return the tile of the rows in a wrong cell, or the mean error where no table is asked."""
    value = format_share_of_rows((misplaced,))
    if table_columns is None:
        value = format_count(misplaced, n, unit_noun)
    return _misplaced_name(table_columns, unit_noun), value, f"measured{_of_tables(table_columns)}"


def largest_error_tile(
    name: str, largest: float, share_of_group: float | None, n: int, unit_noun: str, suffix: str
) -> Tile:
    """Return the tile of the largest error that was measured, and its share of the group.

    `suffix` is added to that.
    """
    group_text = (
        "" if share_of_group is None else f", {format_two_digits(share_of_group)} % of the group"
    )
    return name, format_count(largest, n, unit_noun), f"measured{group_text}{suffix}"


def predicted_error_tiles(predicted: Json | None, n: int, unit_noun: str) -> list[Tile]:
    """Return the tiles of `PredictedErrors` in JSON: rows in a wrong cell, and the largest error.

    None of them where nothing is predicted.
    """
    if predicted is None:
        return []
    columns = predicted["table_columns"]
    misplaced = predicted["misplaced"]
    value = format_share_of_rows(misplaced)
    if columns is None:
        value = format_count_range(misplaced, n, unit_noun)
    return [
        (_misplaced_name(columns, unit_noun), value, "predicted"),
        ("Largest error", format_count_range(predicted["largest"], n, unit_noun), "predicted"),
    ]


def all_predicted_tiles(predicted: Json | None, n: int, unit_noun: str) -> list[Tile]:
    """Return the tiles of `predicted_error_tiles`, and that of the sample that is as exact."""
    if predicted is None:
        return []
    return [
        *predicted_error_tiles(predicted, n, unit_noun),
        *sample_size_tile(predicted["as_exact_as_sample"], n, unit_noun, "predicted"),
    ]


def promised_error_tile(promised: float | None, n: int, unit_noun: str) -> list[Tile]:
    """Return the tile of what 19 of 20 releases keep for an answer; none where nothing is known."""
    if promised is None:
        return []
    return [
        (
            "One chosen answer",
            f"within {format_count(promised, n, unit_noun)}",
            "promised in 19 of 20 releases",
        )
    ]


def sample_size_tile(
    sample_share: float | None, n: int, unit_noun: str, known_how: str
) -> list[Tile]:
    """Return the tile on the sample size that would be as exact, to two digits.

    `known_how` is measured or predicted. No tile where the size is not known.
    """
    if sample_share is None:
        return []
    sample = f"{float(f'{sample_share * n:.2g}'):,.0f} of {n:,} {unit_noun}"
    return [("As exact as counting", sample, f"{known_how}, without noise")]


def format_share_of_rows(shares: Sequence[float]) -> str:
    """Return shares of rows in words: `3.4 of 100`, `1.9 to 3.7 of 100`, `2 of 10,000`."""
    base = 100
    while max(shares) * base < 1 and base < 1_000_000:
        base *= 10
    ends = [format_two_digits(share, base) for share in shares]
    return f"{' to '.join(dict.fromkeys(ends))} of {base:,}"


def format_count_range(shares: Sequence[float], n: int, unit_noun: str) -> str:
    """Return a range of shares as numbers of people or rows: `120 to 350 people`."""
    low, high = shares
    high_text = format_count(high, n, unit_noun)
    low_text = format_count(low, n, unit_noun)
    if low_text == high_text:
        return high_text
    return f"{low_text.removesuffix(f' {unit_noun}')} to {high_text}"


def format_two_digits(share: float, base: int = 100) -> str:
    """Return `base` times a share, to two significant digits."""
    return f"{float(f'{base * share:.2g}'):g}"


def _misplaced_name(table_columns: Sequence[int] | None, unit_noun: str) -> str:
    """Return the name of the headline error: rows or people in a wrong cell, or the mean error."""
    if table_columns is None:
        return "Error of an answer, on average"
    return f"{unit_noun.capitalize()} in a wrong cell"


def _of_tables(table_columns: Sequence[int] | None) -> str:
    """Return which tables are meant, by their number of columns: `, by two columns`."""
    if table_columns is None:
        return ""
    words = [
        NUMBER_WORDS[count] if count < len(NUMBER_WORDS) else str(count) for count in table_columns
    ]
    noun = "column" if table_columns[1] == 1 else "columns"
    return f", by {' to '.join(dict.fromkeys(words))} {noun}"
