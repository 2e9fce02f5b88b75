"""Tables with many columns whose law is known: random networks, and a census of twenty columns."""

import numpy as np

from dpcore.data import samples
from dpcore.data.domain import Domain, Rows
from dpcore.data.schema import domain_from_json

ADDED = (4, 12, 3, 2, 8, 5, 2, 16, 3, 6, 2, 10, 4)  # values of the columns that stand beside the census


def network(columns: int, values: int, n: int, seed: int = 0) -> tuple[Domain, Rows]:
    """n records of a random network: each column leans on one or two of the three before it."""
    rng = np.random.default_rng(seed)
    codes = np.empty((n, columns), dtype=int)
    for i in range(columns):
        parents = rng.choice(np.arange(max(0, i - 3), i), size=min(i, int(rng.integers(1, 3))), replace=False)
        state = np.zeros(n, dtype=int)
        for parent in parents:
            state = state * values + codes[:, parent]
        laws = rng.dirichlet(np.full(values, 0.3), values ** len(parents))
        codes[:, i] = _drawn(laws[state], rng)
    domain = domain_from_json({f"c{i}": values for i in range(columns)})
    return domain, domain.group(codes)


def redundant(n: int, seed: int = 0) -> tuple[Domain, Rows]:
    """n records of twenty columns of a random network, and six more that say nearly the same of the first."""
    rng = np.random.default_rng(seed)
    _, rows = network(20, 8, n, seed)
    codes = np.repeat(rows.values, rows.weights.astype(int), axis=0)
    copies = [np.where(rng.random(len(codes)) < 0.02, rng.integers(8, size=len(codes)), codes[:, 0]) for _ in range(6)]
    domain = domain_from_json({f"c{i}": 8 for i in range(26)})
    return domain, domain.group(np.column_stack([codes, *copies]))


def wide_census(n: int, seed: int = 0) -> tuple[Domain, Rows]:
    """n people of the invented census with thirteen columns more, each leaning on three of those before it.

    The logits of a column are affine in the ranks of its parents' values, so that laws change smoothly along them.
    """
    rng = np.random.default_rng(seed)
    sample = samples.census(n, seed)
    rows = sample.domain.encode(sample.frame)
    codes = np.repeat(rows.values, rows.weights.astype(int), axis=0)
    sizes = {column.name: size for column, size in zip(sample.domain.columns, sample.domain.shape, strict=True)}
    for i, values in enumerate(ADDED):
        parents = rng.choice(codes.shape[1], size=3, replace=False)
        ranks = codes[:, parents] / (np.array(list(sizes.values()))[parents] - 1) - 0.5
        logits = rng.normal(0, 0.7, values) + ranks @ rng.normal(0, 2.0, (3, values))
        laws = np.exp(logits - logits.max(axis=1, keepdims=True))
        codes = np.column_stack([codes, _drawn(laws / laws.sum(axis=1, keepdims=True), rng)])
        sizes[f"added {i}"] = values
    domain = domain_from_json(sizes)
    return domain, domain.group(codes)


def _drawn(laws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A value for every row by its own law, (rows, values)."""
    return (rng.random(len(laws))[:, None] > np.cumsum(laws, axis=1)[:, :-1]).sum(axis=1)
