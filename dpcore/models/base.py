"""The interface of models for algorithms that tilt a distribution."""

from collections.abc import Collection, Iterator
from typing import Protocol

from ..data.domain import Domain
from ..problems import PublicStart
from ..releases import Release
from ..types import Array
from ..workloads import Workload


class Reader(Protocol):
    """A reader of a workload's answers from a model's beliefs."""

    def answers(self, D: Array) -> Array:
        """The answers ⟨q_j, D⟩ (m,) from beliefs (size,)."""
        ...

    def adjoint(self, w: Array) -> Array:
        """The potentials (size,) that represent the function Σ_j w_j q_j, for weights w (m,)."""
        ...

    def add_query(self, q: Array, j: int, amount: float) -> None:
        """Add amount · q_j in place to the potentials q (size,)."""
        ...


Where = tuple[slice | int, ...] | Array


class Model(Protocol):
    """A log-linear family D ∝ exp(θ): potentials θ and beliefs are vectors (size,), which add up.

    What the domain's constraints forbid has no mass, whatever θ says of it.
    """

    domain: Domain
    size: int
    parts: int  # tables that beliefs fall into, each of them summing to 1

    def reader(self, workload: Workload) -> Reader:
        """The reader of a workload whose tables the model holds; InputError for another workload."""
        ...

    def normalise(self, theta: Array) -> tuple[float, Array]:
        """The log normaliser log Z and the beliefs of potentials θ."""
        ...

    def potentials(self, start: PublicStart) -> Array:
        """The potentials θ (size,) of the public distribution, as far as the model can represent it."""
        ...

    def support(self, workload: Workload, j: int) -> tuple[int, Where, Array | float]:
        """The part of the model that answers query j, the query's support there, and its values: 1.0 for a cell."""
        ...

    def tour(self, beliefs: Array, parts: Collection[int]) -> Iterator[tuple[int, Array]]:
        """Each of these parts once, as a table (a view) whose cells may be reweighted; all parts stay consistent.

        At the end all beliefs are those of the reweighted distribution, up to one factor.
        """
        ...

    def release(self, beliefs: Array) -> Release:
        """The distribution to release for beliefs."""
        ...
