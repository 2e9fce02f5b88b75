"""Sample tables that are free to show: two rebuilt from published counts, one generated with a known population."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..errors import InputError
from ..types import Array
from .domain import Domain
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


CENSUS_SCHEMA = {
    "columns": {
        "age": {"kind": "integer", "edges": [17, 25, 35, 45, 55, 65, 75, 90]},
        "sex": {"kind": "categorical", "values": ["Female", "Male"]},
        "education": {
            "kind": "categorical",
            "values": ["Basic", "High school", "Some college", "Bachelor", "Graduate"],
            "ordered": True,
        },
        "marital": {"kind": "categorical", "values": ["Never married", "Married", "Divorced", "Widowed"]},
        "occupation": {
            "kind": "categorical",
            "values": ["None", "Service", "Manual", "Clerical", "Technical", "Professional"],
        },
        "hours": {"kind": "numeric", "edges": [0, 20, 35, 42, 50, 80]},
        "income": {"kind": "categorical", "values": ["low", "high"]},
    }
}


def census(n: int = 20_000, seed: int = 0) -> Sample:
    """An invented census of n people, drawn from a small Bayesian network over 16,800 cells with known P.

    age, sex → education, marital → occupation → hours → income; within a bin, numbers are uniform.
    """
    if not 2 <= n <= 10_000_000:
        raise InputError(f"n={n} is outside 2..10000000")
    domain = domain_from_json(CENSUS_SCHEMA)
    P = _census_population()
    rng = np.random.default_rng(seed)
    cells = np.repeat(np.arange(domain.size), rng.multinomial(n, P))
    codes = np.column_stack(np.unravel_index(rng.permutation(cells), domain.shape))
    source = f"Invented: {n:,} people drawn from known probabilities, so the truth is known."
    return Sample(domain.decode(codes, rng), domain, source, P)


def _census_population() -> Array:
    """The P (k,) as the product of the network's conditional tables, in the schema's order of columns."""
    young, old = np.linspace(1, -1, 7), np.linspace(-1, 1, 7)
    age = np.array([0.16, 0.20, 0.19, 0.17, 0.14, 0.09, 0.05])
    sex = np.array([0.51, 0.49])
    # Rows of logits, one column a value; axes are named in the comments.
    education = _soft(  # age, sex → education
        np.array([-0.6, 0.9, 0.7, 0.3, -0.6])
        + np.outer(old, [0.9, 0.4, -0.2, -0.4, -0.1])[:, None, :]
        + np.outer([0.1, -0.1], [-0.2, 0.1, 0.2, 0.1, 0.0])[None, :, :]
    )
    marital = _soft(  # age, sex → marital
        np.array([0.0, 1.0, -0.6, -3.0])
        + np.outer(young, [2.2, -0.6, -0.5, -2.2])[:, None, :]
        + np.outer([1.0, -1.0], [-0.2, -0.1, 0.1, 0.7])[None, :, :]
    )
    skill = np.linspace(-1, 1, 5)
    occupation = _soft(  # age, sex, education → occupation
        np.array([0.3, 0.2, 0.3, 0.2, -0.4, -0.3])
        + np.outer(old, [1.6, -0.3, -0.2, 0.0, -0.4, 0.2])[:, None, None, :]
        + np.outer([1.0, -1.0], [0.3, 0.3, -1.1, 0.8, -0.2, 0.0])[None, :, None, :]
        + np.outer(skill, [-0.6, -0.9, -1.3, 0.1, 0.6, 2.2])[None, None, :, :]
    )
    hours = _soft(  # sex, occupation → hours
        np.array(
            [[3.5, -1, -3, -4, -5], [0.2, 0.8, 0.9, 0.1, -0.6], [-0.9, 0.2, 1.8, 0.9, 0.1]]
            + [[-0.3, 0.6, 1.9, 0.2, -0.9], [-0.9, 0.1, 1.9, 0.8, -0.2], [-0.8, 0.0, 1.4, 1.2, 0.8]]
        )[None, :, :]
        + np.outer([1.0, -1.0], [0.3, 0.3, 0.0, -0.3, -0.4])[:, None, :]
    )
    score = (  # age, sex, education, marital, occupation, hours → income
        _along(0, [-1.6, -0.2, 0.5, 0.7, 0.6, 0.0, -0.4])
        + _along(1, [-0.3, 0.3])
        + _along(2, [-1.2, -0.5, -0.1, 0.7, 1.3])
        + _along(3, [-0.5, 0.6, -0.3, -0.4])
        + _along(4, [-2.5, -0.9, -0.3, -0.2, 0.4, 0.9])
        + _along(5, [-1.6, -0.7, 0.1, 0.6, 0.8])
        - 1.0
    )
    income = np.stack([1 / (1 + np.exp(score)), 1 / (1 + np.exp(-score))], axis=-1)
    P = np.einsum("a,s,ase,asm,aseo,soh,asemohi->asemohi", age, sex, education, marital, occupation, hours, income)
    return P.ravel() / P.sum()


def _soft(logits: Array) -> Array:
    weights = np.exp(logits)
    return weights / weights.sum(axis=-1, keepdims=True)


def _along(axis: int, values: list[float]) -> Array:
    """The `values` reshaped along one of the six axes in front of income."""
    return np.reshape(values, [-1 if i == axis else 1 for i in range(6)])
