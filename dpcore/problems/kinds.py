"""The public part of a task: its questions, the domain, and the number of rows."""

import math
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..core.errors import InputError, require_two_rows
from ..core.types import Array, Texts, frozen
from ..queries import Marginals, Workload
from ..schema.domain import Domain
from .losses import Loss, SquaredDistance
from .problem_facts import PointFacts, QueryFacts, RiskFacts
from .regions import BoundedRegion, Region
from .risks import LossOnRegion

MAX_ENUMERABLE_CELLS = 10_000_000


class BoundedContribution:
    """The base of problems on n rows, n public, with up to `group` b rows of one person.

    Neighbouring tables differ in up to b rows, all of one person.
    """

    n: int
    group: int

    def check_group(self) -> None:
        """Raise InputError for fewer than two rows, and for a group outside 1..n."""
        require_two_rows(self.n)
        if not 1 <= self.group <= self.n:
            raise InputError(f"group={self.group} is outside 1..{self.n}, the number of rows")

    @property
    def effective_n(self) -> float:
        """The number n/b by which the effect of one row is divided.

        b rows have b times the effect at most.
        """
        return self.n / self.group


class TableAnswerer(Protocol):
    """A public object that answers tables: a release, or a public table."""

    def answers(self, workload: Workload) -> Array:
        """Return the answers (m,)."""
        ...


def query_text(workload: Workload, j: int) -> str:
    """Return query j as a text, such as "age = 20, sex = Female".

    The caller escapes hostile text.
    """
    return ", ".join(f"{column} = {value}" for column, value in workload.label(j))


@frozen
class PublicStart:
    """A public distribution over a domain of any size, for algorithms to start from.

    It answers tables. `source` counts as so many `row_count`, beside which one more is spread
    evenly over all cells, so that every cell stays possible; with `keeps_support` the cells that
    the source lacks stay empty. A source is public: it is not protected, and nothing is charged for
    it. It may be what an earlier release was.
    """

    domain: Domain
    source: TableAnswerer
    row_count: float
    keeps_support: bool = False

    def answers(self, tables: Marginals) -> Array:
        """Return the public distribution's answers to tables (m,)."""
        source_answers = np.asarray(self.source.answers(tables), dtype=float)
        if self.keeps_support:
            return source_answers
        uniform = np.concatenate([np.full(size, 1 / size) for size in tables.sizes])
        return (source_answers * self.row_count + uniform) / (self.row_count + 1)

    @property
    def probabilities(self) -> Array:
        """The public distribution D_0 (k,); InputError where the cells cannot be listed."""
        require_enumerable(self.domain)
        return self.answers(Marginals(self.domain, [self.domain.names]))


@frozen
class _PublicTable:
    """The grouped records of a public table, which answer tables; see `public_start_from_table`."""

    rows: Any

    def answers(self, workload: Workload) -> Array:
        """Return the public table's answers (m,)."""
        return workload.answers_of_rows(self.rows)


@frozen
class QueryRelease(BoundedContribution):
    """The problem of answering all queries of a workload on n rows; neighbours replace one row.

    n is public.

    With `group` b > 1 neighbours replace up to b records (all of one person, who has b at the
    most): every sensitivity is b times that of one record, by the triangle inequality along b
    single replacements.

    `start`: a public distribution D_0 to start from, e.g. `public_start_from_table`; cells where it
    is 0 stay empty. It is listed, (k,), or answers tables.

    >>> domain = domain_from_json({"a": 2, "b": 3})
    >>> QueryRelease(Marginals.all(domain, 2), n=1000).workload.m
    6
    """

    workload: Workload
    n: int
    group: int = 1
    start: Array | PublicStart | None = None

    def __post_init__(self) -> None:
        self.check_group()
        if isinstance(self.start, PublicStart):
            if self.start.domain.columns != self.domain.columns:
                raise InputError("the public start has another schema than the queries")
        elif self.start is not None:
            check_distribution(self.start, self.domain, "the public start")
        if self.start is not None and self.domain.size <= MAX_ENUMERABLE_CELLS:
            self.prior  # noqa: B018 - raises where constraints leave nothing of it

    @property
    def domain(self) -> Domain:
        """The domain of the workload."""
        return self.workload.domain

    @property
    def width(self) -> float:
        """The largest range max_q (hi − lo) of a query.

        1e-9 for constant queries, which no row changes.
        """
        return max(self.workload.width, 1e-9)

    @property
    def facts(self) -> QueryFacts:
        """The facts about the problem for the summary of a run."""
        return QueryFacts(
            n=self.n,
            rows_per_person=self.group,
            cells=self.domain.size,
            queries=self.workload.m,
            public_start=self.start is not None,
            constraints=len(self.domain.constraints),
            peeked=self.domain.peeked,
        )

    @property
    def prior(self) -> Array:
        """The start distribution D_0 (k,): the public start, or uniform.

        0 if constraints forbid a cell.
        """
        k = self.domain.size
        possible_cells = self.domain.possible_cells
        if isinstance(self.start, PublicStart):
            D = self.start.probabilities
        else:
            D = np.full(k, 1 / k) if self.start is None else np.array(self.start, dtype=float)
        if possible_cells is None:
            return D
        D *= possible_cells
        total = float(D.sum())
        if total <= 0:
            raise InputError(
                "the public start has only combinations that the schema's constraints forbid"
            )
        return D / total

    @cached_property
    def log_start(self) -> Array | PublicStart | None:
        """The start log D_0 (k,) of a fit without noisy tables, −∞ outside its support.

        None without a public start. If D_0 is not listed, the public start itself, of which a model
        takes what it holds.
        """
        if self.start is None or isinstance(self.start, PublicStart):
            return self.start
        with np.errstate(divide="ignore"):
            return np.log(self.prior)

    def require_enumerable(self) -> None:
        """Raise InputError if the cells are too many to enumerate, before memory is allocated."""
        require_enumerable(self.domain)


@frozen
class RiskMinimisation(LossOnRegion, BoundedContribution):
    """The problem of finding x in K with a small empirical risk F(x) = (1/n) Σ_i f(x; z_i).

    f is convex; n is public as in QueryRelease.

    A record is (a, b): features with ‖a‖ ≤ 1 by public scaling, and a target; for a `location` b
    alone, with a = 1; for the squared distance a point. `names` (d,) says what each coordinate of x
    belongs to. With `group` b > 1 neighbours replace up to b records, and F differs b times as
    much.

    >>> sample = samples.census(1000)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> problem.d, problem.R
    (1, 40.0)
    """

    loss: Loss
    region: Region
    n: int
    names: Texts
    location: bool = False
    group: int = 1
    peeked: bool = False

    def __post_init__(self) -> None:
        self.check_group()
        if len(self.region.centre) != self.d:
            raise InputError(
                f"the region has {len(self.region.centre)} dimensions, x has d={self.d}"
            )

    @property
    def d(self) -> int:
        """The number of coordinates of x."""
        return len(self.names)

    @property
    def R(self) -> float:  # noqa: N802 - the paper's letter
        """The radius of K about its centre c."""
        return self.region.radius

    @property
    def lipschitz_constant(self) -> float:
        """The Lipschitz constant of f(·; z) on K."""
        if isinstance(self.loss, SquaredDistance):
            return max(self.loss.box_diameter, 2 * self.region.radius)
        return self.loss.lipschitz_constant

    @property
    def facts(self) -> RiskFacts:
        """The facts about the problem for the summary of a run."""
        return RiskFacts(
            n=self.n,
            rows_per_person=self.group,
            d=self.d,
            loss=self.loss.name,
            region=type(self.region).__name__.lower(),
            G=self.G,
            R=self.R,
            names=tuple(self.names),
            peeked=self.peeked,
        )


@frozen
class PointRelease(BoundedContribution):
    """The problem of releasing points whose distribution is near, in W1, that of n private points.

    `names` (d,) are those of the coordinates. n is public, as neighbours replace one record; with
    `group` b > 1 they replace up to b of them (all of one person). Raises InputError for n < 2, a
    group that is not in 1..n, or names that do not match the region.

    >>> PointRelease(Ball(np.zeros(2), 1.0), n=1000, names=("x", "y")).diameter
    2.0
    """

    region: BoundedRegion
    n: int
    names: Texts
    group: int = 1

    def __post_init__(self) -> None:
        if len(self.names) != self.d:
            raise InputError(
                f"{len(self.names)} names do not match {self.region}, which has d={self.d} "
                "coordinates"
            )
        self.check_group()

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return self.region.d

    @property
    def diameter(self) -> float:
        """The diameter D: the largest distance of two points of the region."""
        return self.region.diameter

    @property
    def facts(self) -> PointFacts:
        """The facts about the problem for the summary of a run."""
        return PointFacts(
            n=self.n,
            rows_per_person=self.group,
            d=self.d,
            region=str(self.region),
            diameter=self.diameter,
        )


def require_enumerable(domain: Domain) -> None:
    """Raise InputError if the cells are too many to enumerate, before memory is allocated."""
    k = domain.size
    if k > MAX_ENUMERABLE_CELLS:
        is_astronomical = k >= 10**30  # then neither can be read, nor need the bytes be a float
        sizes_text = (
            f"{len(domain.shape)} columns"
            if is_astronomical
            else " × ".join(str(s) for s in domain.shape)
        )
        raise InputError(
            (f"about 10^{math.floor(math.log10(k))}" if is_astronomical else f"{k:,}")
            + f" combinations ({sizes_text}) are more than the {MAX_ENUMERABLE_CELLS:,} this "
            "algorithm can enumerate"
            + ("" if is_astronomical else f" ({k * 8 / 2**30:.3g} GiB an array)")
            + "; choose fewer columns or coarser bins"
        )


def check_distribution(D: Array, domain: Domain, name: str) -> Array:
    """Return D as floats (k,); InputError unless it is a distribution over the cells."""
    D = np.asarray(D, dtype=float)
    if D.shape != (domain.size,) or not (D >= 0).all() or abs(D.sum() - 1) > 1e-9:
        raise InputError(f"{name} must be {domain.size} probabilities that sum to 1")
    return D


def public_start_from_table(
    domain: Domain, frame: pd.DataFrame, *, keeps_support: bool = False
) -> Array | PublicStart:
    """Return the start distribution D_0 from a public table of the same schema.

    It is (k,), or its tables if cells cannot be listed. One more row is spread evenly over all
    cells, so that every cell stays possible; with `keeps_support` the cells that the public table
    lacks stay empty. The table must be public: it is not protected, and nothing is charged for it.
    Raises what `Domain.encode` raises.
    Source: Bassily et al. 2020; Liu, Vietri, Steinke, Ullman, Wu 2021 (PMW-Pub).
    """
    rows = domain.encode(frame)
    if domain.size > MAX_ENUMERABLE_CELLS:
        return PublicStart(domain, _PublicTable(rows), rows.n, keeps_support)
    counts = np.bincount(domain.cell_numbers(rows.values), rows.weights, domain.size)
    return counts / rows.n if keeps_support else (counts + 1 / domain.size) / (rows.n + 1)
