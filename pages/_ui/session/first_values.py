"""A few bars for the first values of a column: how often each occurs, in their natural order."""

from collections import Counter

import numpy as np
import pandas as pd

from dpcore.schema.cell_text import count_texts
from dpcore.schema.column_readings import parse_cell_number
from dpcore.schema.inference.identifiers import natural_sort_key

MAX_PREVIEW_ROWS = 2000  # rows whose values are counted
MAX_BARS = 12  # bars of a column


def count_first_values(frame: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return the value counts of the first rows by column: a private peek.

    They are the bars of every column.
    """
    return {
        str(name): _count_column_values(pd.Series(frame.iloc[:MAX_PREVIEW_ROWS, at]))
        for at, name in enumerate(frame.columns)
    }


def _count_column_values(cells: pd.Series) -> dict[str, int]:
    """Return how often the most frequent values occur.

    Where there are many numbers, return how many lie in equal bins.
    """
    texts, counts = count_texts(cells)
    numbers = np.array([parse_cell_number(text) for text in texts])
    is_number = np.isfinite(numbers)
    if len(texts) > MAX_BARS and is_number.mean() > 0.5:
        repeated_numbers = np.repeat(numbers[is_number], counts[is_number])
        bin_range = np.quantile(repeated_numbers, (0.01, 0.99))
        return {
            f"bin {at}": int(n)
            for at, n in enumerate(
                np.histogram(np.clip(repeated_numbers, *bin_range), MAX_BARS, bin_range)[0]
            )
        }
    most_frequent = sorted(
        np.argsort(-counts, kind="stable")[:MAX_BARS], key=lambda at: natural_sort_key(texts[at])
    )
    counts_by_text: Counter[str] = Counter()
    for at in most_frequent:  # spaces around a text are no part of it: two may be one
        counts_by_text[texts[at]] += int(counts[at])
    return counts_by_text
