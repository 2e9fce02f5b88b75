"""Sample tables that are free to show: two rebuilt from published counts, one generated with a known population."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import InputError
from ..types import Array, Json
from .domain import Domain
from .readers import read_json
from .schema import domain_from_json


@dataclass(frozen=True, eq=False)
class Sample:
    """A table with its schema, its origin, and its data-generating P (k,) where that is known."""

    frame: pd.DataFrame
    domain: Domain
    source: str
    population: Array | None = None


# Department, gender, how many were admitted and rejected.
BERKELEY = """
A Male 512 313
A Female 89 19
B Male 353 207
B Female 17 8
C Male 120 205
C Female 202 391
D Male 138 279
D Female 131 244
E Male 53 138
E Female 94 299
F Male 22 351
F Female 24 317
"""
# Class, sex, age, how many died and survived.
TITANIC = """
1st Male Adult 118 57
1st Male Child 0 5
1st Female Adult 4 140
1st Female Child 0 1
2nd Male Adult 154 14
2nd Male Child 0 11
2nd Female Adult 13 80
2nd Female Child 0 13
3rd Male Adult 387 75
3rd Male Child 35 13
3rd Female Adult 89 76
3rd Female Child 17 14
Crew Male Adult 670 192
Crew Female Adult 3 20
"""


def berkeley() -> Sample:
    """The 4,526 applicants to the six largest graduate departments of UC Berkeley in autumn 1973.

    Source: Bickel, Hammel, O'Connell, "Sex bias in graduate admissions", Science 187 (1975); Freedman, Pisani, Purves.
    """
    source = "Rebuilt from the published counts of the 1973 UC Berkeley admissions (Bickel, Hammel, O'Connell 1975)."
    return _from_counts(["Department", "Gender", "Admission"], _counts(BERKELEY), ("Admitted", "Rejected"), source)


def titanic() -> Sample:
    """The 2,201 people on board the Titanic, by class, sex, age and survival.

    Source: British Board of Trade inquiry report 1912, as tabulated by Dawson, J. Statistics Education 3 (1995).
    """
    source = "Rebuilt from the published counts of the British Board of Trade inquiry of 1912 (Dawson 1995)."
    return _from_counts(["Class", "Sex", "Age", "Survived"], _counts(TITANIC), ("No", "Yes"), source)


def coins() -> Sample:
    """Invented rows (2,000): two coins, and whether they show the same side, which no pair of columns reveals."""
    counts = {(a, b): (500 * (a == b), 500 * (a != b)) for a in ("Heads", "Tails") for b in ("Heads", "Tails")}
    return _from_counts(["First coin", "Second coin", "Same side"], counts, ("Yes", "No"), "Invented: a rule to find.")


def _counts(text: str) -> dict[tuple[str, ...], tuple[int, int]]:
    """The two counts of every group of a table, from its lines."""
    lines = map(str.split, text.strip().splitlines())
    return {tuple(group): (int(a), int(b)) for *group, a, b in lines}


def _from_counts(columns: list[str], counts: dict[tuple, tuple], outcomes: tuple[str, ...], source: str) -> Sample:
    """A table with one row a person, from counts by outcome; categories in order of first appearance."""
    rows = [
        (*group, outcome)
        for group, numbers in counts.items()
        for outcome, number in zip(outcomes, numbers, strict=True)
        for _ in range(number)
    ]
    frame = pd.DataFrame(rows, columns=pd.Index(columns))
    schema = {name: {"kind": "categorical", "values": frame[name].drop_duplicates().tolist()} for name in columns}
    return Sample(frame, domain_from_json({"columns": schema}), source)


def census(n: int = 20_000, seed: int = 0) -> Sample:
    """An invented census of n people, drawn from a small Bayesian network over 16,800 cells with known P.

    age, sex → education, marital → occupation → hours → income; within a bin, numbers are uniform.
    """
    if not 2 <= n <= 10_000_000:
        raise InputError(f"n={n} is outside 2..10000000")
    found = read_json(Path(__file__).with_name("census.json"))
    domain = domain_from_json({"columns": found["columns"]})
    P = _population(domain, found["logits"])
    rng = np.random.default_rng(seed)
    cells = np.repeat(np.arange(domain.size), rng.multinomial(n, P))
    codes = np.column_stack(np.unravel_index(rng.permutation(cells), domain.shape))
    source = f"Invented: {n:,} people drawn from known probabilities, so the truth is known."
    return Sample(domain.decode(codes, rng), domain, source, P)


def _population(domain: Domain, logits: Json) -> Array:
    """The P (k,) of a Bayesian network: the product of each column's shares, given the columns before it.

    A column's logits are the sum of its own and, for each column that it depends on, of one row a value of that column.
    """
    P = np.ones(domain.shape)
    for axis, (name, terms) in enumerate(logits.items()):
        weights = np.ones(())
        for beside, values in terms.items():
            shape = [size if c in (beside, name) else 1 for c, size in zip(domain.names, domain.shape, strict=True)]
            weights = weights * np.exp(np.reshape(values, shape))
        P = P * weights / weights.sum(axis=axis, keepdims=True)
    return P.ravel() / P.sum()
