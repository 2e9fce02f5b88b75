"""A few bars for the first values of a column: how often each occurs, in their natural order."""

import numpy as np
import pandas as pd

from dpcore.data.cell import distinct
from dpcore.data.readings import number_of
from dpcore.data.recognising import natural

ROWS, BARS = 2000, 12  # rows whose values are counted, and how many bars there are at the most


def first_values(frame: pd.DataFrame) -> list[list[int]]:
    """The bars of every column: a private peek."""
    return [_bars(pd.Series(frame.iloc[:ROWS, at])) for at in range(frame.shape[1])]


def _bars(cells: pd.Series) -> list[int]:
    """How often the most frequent values occur, or where there are many numbers, how many lie in equal bins."""
    codes, texts = distinct(cells)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    numbers = np.array([number_of(text) for text in texts])
    there = np.isfinite(numbers)
    if len(texts) > BARS and there.mean() > 0.5:
        spread = np.repeat(numbers[there], counts[there])
        ends = np.quantile(spread, (0.01, 0.99))
        return np.histogram(np.clip(spread, *ends), BARS, ends)[0].tolist()
    most = sorted(np.argsort(-counts, kind="stable")[:BARS], key=lambda at: natural(texts[at]))
    return counts[most].tolist()
