"""The sample tables, free to show: two from published counts, one with a known population.

>>> samples.titanic().frame.shape
(2201, 4)
"""

from pathlib import Path

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.types import Array, Json, frozen
from ..schema.domain import Domain
from ..schema.schema_json import domain_from_json
from .readers import read_json


@frozen
class Sample:
    """A table with its schema, its origin, and its data-generating P (k,) where that is known."""

    frame: pd.DataFrame
    domain: Domain
    source: str
    population: Array | None = None


def berkeley() -> Sample:
    """Return the 4,526 applicants to UC Berkeley's six largest graduate departments in 1973.

    They applied in autumn.

    Source: Bickel, Hammel, O'Connell, "Sex bias in graduate admissions", Science 187 (1975);
    Freedman, Pisani, Purves.
    """
    return _sample_from_counts("berkeley")


def titanic() -> Sample:
    """Return the 2,201 people on board the Titanic, by class, sex, age and survival.

    Source: British Board of Trade inquiry report 1912, as tabulated by Dawson, J. Statistics
    Education 3 (1995).
    """
    return _sample_from_counts("titanic")


def coins() -> Sample:
    """Return 2,000 invented rows: two coins, and whether they show the same side.

    No pair of columns reveals whether they do.
    """
    return _sample_from_counts("coins")


def _sample_from_counts(name: str) -> Sample:
    """Return a table with one row a person, from counts by outcome.

    Categories are in order of first appearance.
    """
    document = read_json(Path(__file__).with_name("counts.json"))[name]
    rows = [row for *row, times in document["counts"] for _ in range(times)]
    columns = document["columns"]
    frame = pd.DataFrame(rows, columns=pd.Index(columns))
    schema = {
        name: {"kind": "categorical", "values": frame[name].drop_duplicates().tolist()}
        for name in columns
    }
    return Sample(frame, domain_from_json({"columns": schema}), document["source"])


def census(n: int = 20_000, seed: int = 0) -> Sample:
    """Return an invented census of n people, drawn from a Bayesian network with known P.

    The network is small, over 16,800 cells: age, sex → education, marital → occupation → hours →
    income; within a bin, numbers are uniform.
    """
    if not 2 <= n <= 10_000_000:
        raise InputError(f"n={n} is outside 2..10000000")
    document = read_json(Path(__file__).with_name("census.json"))
    domain = domain_from_json({"columns": document["columns"]})
    P = _network_distribution(domain, document["logits"])
    rng = np.random.default_rng(seed)
    cells = np.repeat(np.arange(domain.size), rng.multinomial(n, P))
    codes = domain.codes_of_cells(rng.permutation(cells))
    source = f"Invented: {n:,} people drawn from known probabilities."
    return Sample(domain.decode(codes, rng), domain, source, P)


def _network_distribution(domain: Domain, logits: Json) -> Array:
    """Return the distribution P (k,) of a Bayesian network.

    It is the product of each column's shares, given the columns before it. A column's logits are
    the sum of its own and, for each column that it depends on, of one row a value of that column.
    """
    P = np.ones(domain.shape)
    for axis, (name, terms) in enumerate(logits.items()):
        weights = np.ones(())
        for parent, values in terms.items():
            shape = [
                size if c in (parent, name) else 1
                for c, size in zip(domain.names, domain.shape, strict=True)
            ]
            weights = weights * np.exp(np.reshape(values, shape))
        P = P * weights / weights.sum(axis=axis, keepdims=True)
    return P.ravel() / P.sum()
