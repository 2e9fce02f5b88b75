"""A test of whether two columns are linked, from what was released alone: post-processing, so it costs nothing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..releases import UnbiasedAnswers

REPEATS, LEVEL = 999, 0.05
BLOCK = 2_000_000  # numbers drawn at once


@dataclass(frozen=True)
class Linked:
    """A test result on two columns: the chance of a `statistic` as large without a link, or why it is unknown."""

    columns: tuple[str, str]
    p_value: float | None
    statistic: float | None
    repeats: int
    words: str

    def to_json(self) -> dict[str, Any]:
        """The fields by name, for JSON."""
        return asdict(self)


def linked(
    known: UnbiasedAnswers, columns: Sequence[str], n: float, *, laplace: bool = False, repeats: int = REPEATS,
    seed: int = 0,
) -> Linked:  # fmt: skip
    """The test of whether two columns are independent in the population of n rows, by noisy tables alone.

    The statistic is X = ‖table − product of its margins‖₂, which by parts is ‖part_ab − part_a part_bᵀ‖₂, with margins
    that are the nearest distributions. Its law under independence comes from `repeats` tables of n rows, drawn from
    independent columns and given fresh noise of the same variances; p = (1 + #{X* ≥ X})/(repeats + 1). The columns
    drawn from have the released margins, shrunk until they are as long (‖part‖²) as these are without their noise:
    margins with noise on noise would be too uneven, and the test would find too little. With `laplace`
    fresh noise is Laplace noise. Raises InputError for columns that are not two of the domain's.
    """
    names, domain = tuple(columns), known.domain
    if len(names) != 2 or names[0] == names[1]:
        raise InputError("a link is between two different columns; name two")
    axes = domain.axes(names)
    constant = next((name for name, axis in zip(names, axes, strict=True) if domain.shape[axis] < 2), None)
    pair = (min(axes), max(axes))
    if constant is not None or pair not in known.places:
        why = f"nothing was measured about {' × '.join(names)} together"
        why = why if constant is None else f"{constant!r} has one value only"
        return Linked(names, None, None, 0, f"Whether they are linked cannot be said: {why}.")
    sets = ((pair[0],), (pair[1],), pair)
    shape = tuple(domain.shape[axis] for axis in pair)
    parts = [known.parts[known.places[S]] for S in sets]
    variances = [known.variance[S] for S in sets]
    X = float(_statistic(parts[0][None], parts[1][None], parts[2].reshape(1, *shape))[0])
    margins = [_shrunk(part, v) for part, v in zip(parts[:2], variances[:2], strict=True)]
    p, rng, above, rows = np.outer(*margins).ravel(), np.random.default_rng(seed), 0, max(round(n), 1)
    for start in range(0, repeats, step := max(BLOCK // p.size, 1)):
        count = min(step, repeats - start)
        T = rng.multinomial(rows, p, size=count).reshape(count, *shape) / rows
        drawn = [T.sum(axis=2), T.sum(axis=1), T]
        fresh = [_centred(x + _noise(x.shape, v, laplace, rng)) for x, v in zip(drawn, variances, strict=True)]
        above += int((_statistic(*fresh) >= X).sum())
    found = (1 + above) / (repeats + 1)
    return Linked(names, found, X, repeats, _words(names, found))


def _statistic(a: np.ndarray, b: np.ndarray, both: np.ndarray) -> np.ndarray:
    """The statistic X of many tables at once, (r,), from parts (r, n_a), (r, n_b) and (r, n_a, n_b)."""
    p, q = (_nearest(part) - 1 / part.shape[1] for part in (a, b))
    return np.sqrt(((both - p[:, :, None] * q[:, None, :]) ** 2).sum(axis=(1, 2)))


def _nearest(parts: np.ndarray) -> np.ndarray:
    """The distributions (r, k) nearest to margins 1/k + part. Source: Held, Wolfe, Crowder 1974."""
    p = 1 / parts.shape[1] + parts
    falling = -np.sort(-p, axis=1)
    over = (np.cumsum(falling, axis=1) - 1) / np.arange(1, p.shape[1] + 1)
    last = (falling > over).sum(axis=1) - 1
    return np.maximum(p - over[np.arange(len(p)), last][:, None], 0)


def _centred(tables: np.ndarray) -> np.ndarray:
    """Many tables (r, …), each minus its mean along each axis, as `known.centred`."""
    for axis in range(1, tables.ndim):
        tables = tables - tables.mean(axis=axis, keepdims=True)
    return tables


def _noise(shape: tuple[int, ...], variance: float, laplace: bool, rng: np.random.Generator) -> np.ndarray:
    scale = np.sqrt(variance)
    return rng.laplace(scale=scale / np.sqrt(2), size=shape) if laplace else rng.normal(scale=scale, size=shape)


def _shrunk(part: np.ndarray, variance: float) -> np.ndarray:
    """A margin shrunk to its length without noise: the distribution nearest to 1/k + c part, by bisection."""
    k = len(part)
    length = float(part @ part) - (k - 1) * variance
    low, high = 0.0, float(length > 0)
    for _ in range(40):
        c = (low + high) / 2
        p = _nearest(c * part[None])[0]
        low, high = (c, high) if p @ p - 1 / k < length else (low, c)
    p = _nearest(high * part[None])[0]
    return p / p.sum()


def _words(names: tuple[str, ...], p: float) -> str:
    often = f"{1000 * p:.0f} of 1,000" if p < 0.1 else f"{100 * p:.0f} of 100"
    seen = "shows a link" if p < LEVEL else "shows no link"
    return f"The release {seen} between {names[0]} and {names[1]}: chance alone does as much in {often} cases."
