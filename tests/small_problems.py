"""Small tasks and brute-force twins that several test files share, and one hypothesis profile: no
clock, no chance.
"""

import io
import itertools
import json
import math
import signal
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from scipy.optimize import minimize

from dpcore import (
    ALGORITHMS,
    Budget,
    BudgetError,
    Explicit,
    InputError,
    Marginals,
    QueryRelease,
    Rows,
    Run,
    TableQueries,
    Union,
    domain_from_json,
)
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.algorithm import make_plan
from dpcore.cli import main
from dpcore.core.parameters import build_from_texts, declared_parameters
from dpcore.data.sources.chunked_source import ChunkedSource
from dpcore.data.sources.source import Chunk
from dpcore.evaluation.predicted_errors import PUBLIC_BASIS, PredictedErrors

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("fixed")
approx = pytest.approx
parametrize = pytest.mark.parametrize
module_fixture = pytest.fixture(scope="module")
ignore_privacy_warnings = pytest.mark.filterwarnings("ignore::dpcore.core.errors.PrivacyWarning")

QUERIES = algorithms_for_problem(QueryRelease)  # the registered algorithms by name

BUDGET = Budget(1, 1e-6)
# in place of a simulation
NOTHING_PREDICTED = PredictedErrors((0.0, 1.0), (0.0, 1.0), None, 1, PUBLIC_BASIS, None)
BUDGETS = [Budget(1, 1e-9), Budget(0.01, 1e-6), Budget(9, 1e-3), Budget(1, 0), Budget(8, 0)]
HUGE = 10**400  # a whole number that is no float


def seeded(seed):
    """A generator of random numbers that are the same every time."""
    return np.random.default_rng(seed)


def write_json(path, content):
    """Write a file that `read_json` reads."""
    Path(path).write_text(json.dumps(content))


def parametrize_false_true(name):
    """Try a test with False and with True."""
    return parametrize(name, [False, True])


def categorical(*values, **more):
    """A schema's entry for a column of these values."""
    return {"kind": "categorical", "values": [*values], **more}


def integer(low, high, **more):
    """A schema's entry for a column of whole numbers."""
    return {"kind": "integer", "low": low, "high": high, **more}


def numeric(low, high, bins, **more):
    """A schema's entry for a column of numbers in bins of equal width."""
    return {"kind": "numeric", "low": low, "high": high, "bins": bins, **more}


def binned(kind, *edges, **more):
    """A schema's entry for a column of numbers in bins between these edges."""
    return {"kind": kind, "edges": [*edges], **more}


def private(kind, **more):
    """A schema's entry for a column whose values or bounds are to be measured."""
    return {"kind": kind, "values" if kind == "categorical" else "bounds": "private", **more}


def domain_of(columns):
    """The domain of a schema with these entries by name."""
    return domain_from_json({"columns": columns})


def column_from_entry(**spec):
    """The column x of a schema's entry."""
    return domain_of({"x": spec}).columns[0]


def encode_cells(column, cells):
    """The code of each of these cells, each as it is."""
    return column.encode(pd.Series(cells, dtype=object)).tolist()


def expect_error(words=None, kind=InputError):
    """Expect an error of this kind, in words that this pattern finds."""
    return pytest.raises(kind, match=words)


def expect_budget_error(words=None):
    """Expect that the budget does not pay, in words that this pattern finds."""
    return expect_error(words, BudgetError)


class InParts(ChunkedSource):
    """A table in memory as a source, some rows at a time."""

    name = "the table"

    def __init__(self, frame, rows=100):
        self.frame = frame
        self.rows = rows
        self.columns = tuple(frame.columns)

    def chunks(self, names):
        for start in range(0, len(self.frame), self.rows):
            yield Chunk(self.frame[list(names)].iloc[start : start + self.rows], self.name)


@contextmanager
def time_limit(seconds):
    """Fail instead of hanging: TimeoutError after so many seconds (main thread, Unix)."""

    def stop(_signal, _frame):
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def integer_domain(*sizes):
    """A domain of integer codes with columns a, b, c, …, so that "ab" names two of them."""
    return domain_from_json({"abcdefghijklmnop"[i]: size for i, size in enumerate(sizes)})


def equal_columns_domain(columns, size):
    """A domain of so many columns c0, c1, … of so many values each."""
    return domain_from_json({f"c{i}": size for i in range(columns)})


@lru_cache
def all_cells(domain):
    """The codes (k, d) of every cell, the last column fastest."""
    out = np.array(list(itertools.product(*(range(size) for size in domain.shape))))
    out.flags.writeable = False
    return out


def rows_in_cells(domain, indices):
    """Records standing in the given cells."""
    values, weights = np.unique(all_cells(domain)[np.asarray(indices)], axis=0, return_counts=True)
    return Rows(values, weights)


def random_rows(domain, n, seed=0):
    """n records from a skewed distribution."""
    rng = seeded(seed)
    return rows_in_cells(
        domain, rng.choice(domain.size, size=n, p=rng.dirichlet(np.full(domain.size, 0.5)))
    )


def histogram(domain, rows):
    """P_n (k,) counted cell by cell."""
    place = {tuple(cell): i for i, cell in enumerate(all_cells(domain))}
    out = np.zeros(domain.size)
    for value, weight in zip(rows.values, rows.weights, strict=True):
        out[place[tuple(value)]] += weight / rows.weights.sum()
    return out


def marginal_matrix(domain, columns):
    """The m × k matrix of marginal queries on sets of column names, one indicator row after the
    other.
    """
    out = []
    for names in columns:
        axes = sorted(domain.names.index(name) for name in names)
        for values in itertools.product(*(range(domain.shape[a]) for a in axes)):
            out.append((all_cells(domain)[:, axes] == values).all(axis=1))
    return np.array(out, dtype=float)


def query_matrix(workload):
    """The (m, k) matrix of any workload, column by column."""
    return np.array([workload.answers(cell) for cell in np.eye(workload.domain.size)]).T


def folder_contents(folder):
    """The bytes of every file of a folder, by name."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


def describe_rows(rows):
    """All that is known of some records, to be compared."""
    return [
        rows.values.tolist(),
        rows.weights.tolist(),
        rows.n,
        rows.values.dtype,
        rows.weights.dtype,
    ]


def random_sign_queries(domain, m, seed=0):
    """m random ±1 queries."""
    return Explicit(domain, seeded(seed).choice([-1.0, 1.0], size=(m, domain.size)))


def data_sets(k, n):
    """All multisets of n cells out of k."""
    return itertools.combinations_with_replacement(range(k), n)


def neighbouring_data_sets(k, n):
    """All ordered pairs of data sets that differ in one replaced record."""
    for rest in data_sets(k, n - 1):
        for old, new in itertools.permutations(range(k), 2):
            yield (*rest, old), (*rest, new)


def softmax(scores):
    """exp(scores)/Σ, for expected selection probabilities."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def flip_law(scores, scale):
    """The law of permute-and-flip: p_i E[1/(1 + other heads)] = p_i ∫_0^1 Π_{j≠i} (1 − p_j + p_j t)
    dt, exactly.
    """
    p = np.exp((scores - scores.max()) / scale)
    nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
    factors = 1 - p[:, None] * (1 - (nodes + 1) / 2)
    others = np.array([np.delete(factors, i, axis=0).prod(axis=0) for i in range(len(p))])
    return p * (others @ weights) / 2


def hockey_stick(p, q, epsilon):
    """Σ max(p − e^ε q, 0): the smallest δ for this pair at ε."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def few_rounds(name):
    """Settings for a dozen rounds, where an algorithm has a parameter for that."""
    return {p.name: "12" for p in declared_parameters(QUERIES[name]) if p.name == "rounds"}


def other_choices(cls):
    """One setting for each choice of a parameter that is not its default."""
    return [
        {p.name: choice}
        for p in declared_parameters(cls)
        for choice in p.choices
        if choice != p.default
    ]


def variants():
    """Every query-release algorithm in a dozen rounds, and once more for each other choice of each
    parameter.
    """
    out = []
    for name, cls in QUERIES.items():
        base = few_rounds(name)
        out.append((name, base))
        out += [(name, base | {"cells": "9"})] * cls.graphical  # on a tree instead of listed cells
        out += [(name, base | other) for other in other_choices(cls)]
    return out


def release_arrays(release):
    """The numbers a release consists of, by name."""
    return {
        f.name: value
        for f in fields(release)
        if isinstance(value := getattr(release, f.name), np.ndarray)
    }


def releases_are_identical(a, b):
    """Whether two releases are of one kind and equal bit for bit."""
    ours = release_arrays(a)
    theirs = release_arrays(b)
    return (
        type(a) is type(b)
        and bool(ours)
        and all(np.array_equal(ours[name], theirs[name]) for name in ours)
    )


def can_plan(name, settings, where, budget):
    """Whether an algorithm plans for this instead of saying why not."""
    try:
        make_plan(build_from_texts(ALGORITHMS[name], settings), query_problem(where)[0], budget)
    except InputError:
        return False
    return True


def query_problem(name):
    """A named small problem with its records."""
    domain, n, workload = TASKS[name]
    return QueryRelease(workload(domain), n), random_rows(domain, n)


def run_to_end(name, problem, rows, budget=BUDGET, seed=0, **settings):
    """The run of an algorithm with these settings, to its end."""
    return Run(ALGORITHMS[name](**settings), problem, rows, budget, seed=seed).finish()


def all_tables(domain, n, ways=2):
    """The release of all tables of so many columns."""
    return QueryRelease(Marginals.all(domain, ways), n)


def plan_of(name, problem, budget, **settings):
    """The plan of an algorithm with these settings."""
    return make_plan(ALGORITHMS[name](**settings), problem, budget)


def minimise_distribution(objective, start, *inside):
    """The distribution where a function, given with its gradient, is smallest, by SLSQP; `inside`
    are constraints.
    """
    k = len(start)
    whole = {"type": "eq", "fun": lambda D: D.sum() - 1, "jac": lambda D: np.ones(k)}
    options = {"ftol": 1e-15, "maxiter": 2000}
    return minimize(
        objective,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * k,
        constraints=[whole, *inside],
        options=options,
    ).x


def final_errors(run):
    """The errors of a run's last record."""
    return run.convergence[-1].empirical


D324 = integer_domain(3, 2, 4)


def wide_query_problem():
    """Sixteen columns of four values, tied in pairs: 4^16 cells, which nobody lists."""
    domain = integer_domain(*[4] * 16)
    rng = seeded(0)
    halves = np.minimum(*rng.integers(0, 4, (2, 2000, 8)))
    return QueryRelease(Marginals.all(domain, 2), 2000), domain.group_rows(
        np.repeat(halves, 2, axis=1)
    )


def all_marginals(count):
    return lambda domain: Marginals.all(domain, count)


TASKS = {
    "1-way": (D324, 60, all_marginals(1)),
    "2-way": (D324, 500, all_marginals(2)),
    "3-way of 4": (integer_domain(2, 3, 2, 3), 1000, all_marginals(3)),
    "mixed": (D324, 200, lambda d: Marginals(d, ["c", "ca", "bca"])),
    "one column": (integer_domain(5), 40, all_marginals(1)),
    "one cell": (integer_domain(1), 5, all_marginals(1)),
    "cells of size 1": (integer_domain(1, 3, 1), 30, all_marginals(2)),
    "explicit": (D324, 100, lambda d: random_sign_queries(d, 9)),
    "ranges": (D324, 100, lambda d: TableQueries.ranges(d, "ac")),
    "half-spaces": (integer_domain(5, 2, 4), 100, lambda d: TableQueries.half_spaces(d, "ac", 5)),
    "union": (
        D324,
        100,
        lambda d: Union(
            [random_sign_queries(d, 3), Marginals.all(d, 1), TableQueries.prefixes(d, "c")]
        ),
    ),
    "one query": (integer_domain(3, 2), 50, lambda d: Explicit(d, np.eye(6)[:1])),
    "constant queries": (integer_domain(3, 2), 50, lambda d: Explicit(d, np.ones((2, 6)))),
    "two records": (integer_domain(3, 2), 2, all_marginals(2)),
}


def run_command(command, *more, code=0):
    """What a command prints as it is typed, with further arguments; it ends with this exit code."""
    with redirect_stdout(io.StringIO()) as said:
        found = main([*(command.split() if isinstance(command, str) else command), *more])
    print(said.getvalue(), end="")
    assert found == code, f"{command} ended with {found}"
    return said.getvalue()


def check_command_refused(words, command, *more, notes=0):
    """A command is refused: it says one short line of error that has these words, and nothing else
    but so many notes before.
    """
    with redirect_stderr(io.StringIO()) as told:
        assert run_command(command, *more, code=2) == ""
    lines = told.getvalue().splitlines(keepends=True)
    assert all(line.startswith(("note: ", "warning: ")) for line in lines[:notes])
    error = "".join(lines[notes:])
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert len(error) < 600
    assert words in error
