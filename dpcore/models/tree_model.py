"""The models of algorithms that tilt a distribution: log-linear families on a junction tree.

They hold any number of columns, as long as the cliques stay small; one clique of all columns is all
cells (`ListedCellsModel`). See answers, never rows.
"""

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..core.errors import InputError
from ..core.types import Array
from ..problems import PublicStart
from ..queries import Marginals, Workload
from ..schema.domain import Domain, sum_to_axes
from .conditional_rows import divide_or_zero
from .graphical_model import GraphicalModel, require_base_tables, tables_by_clique
from .junction_tree import JunctionTree, build_junction_tree
from .releases import Release


class QuerySupport(NamedTuple):
    """The clique, the cells and the values by which a model holds a query.

    In the table of the clique `clique_number` with its axes in `axis_order` the query's columns
    come first; `cells` are the query's support among these. The values `q` are 1.0 for an
    indicator.
    """

    clique_number: int
    axis_order: list[int]
    cells: tuple[Any, ...]
    q: Array | float


class JunctionTreeModel:
    """The model D ∝ exp(Σ_C θ_C(x_C)) on a junction tree's cliques C.

    All θ_C, and all D_C, are one vector (size,). Beliefs D_C fall into one table for each of the
    `cliques`; each sums to 1. What the domain's constraints forbid has no mass, whatever θ says of
    it.

    One pass up and one down the tree give log Z and all clique marginals exactly, in log space
    along separators, so that no potential, however large or −∞, overflows or underflows where it
    matters. Source: Lauritzen, Spiegelhalter 1988; Jensen, Lauritzen, Olesen 1990 (division by
    separators). If a table of a constraint lies in no clique of `junction`, the tree is made anew
    so that all do.
    """

    def __init__(self, domain: Domain, junction: JunctionTree) -> None:
        if any(junction.clique_containing(axes) is None for axes in domain.allowed_tables):
            junction = build_junction_tree(
                junction.shape, [*junction.cliques, *domain.allowed_tables]
            )
        self.domain = domain
        self.junction = junction
        self.size = junction.cells
        self.cliques = junction.cliques
        # Of each clique: which of its axes are not the separator's.
        pairs = list(zip(junction.cliques, junction.separators, strict=True))
        self._new_axes = [
            tuple(i for i, a in enumerate(clique) if a not in sep) for clique, sep in pairs
        ]
        self._reader_cache: WeakKeyDictionary[Workload, TreeAnswerReader] = WeakKeyDictionary()

    @cached_property
    def _constraint_potentials(self) -> Array | None:
        """The potentials (size,) of the constraints: −∞ for impossible cells, 0 elsewhere.

        None without constraints.
        """
        if not self.domain.allowed_tables:
            return None
        out = np.zeros(self.size)
        tree = self.junction
        for axes, allowed in self.domain.allowed_tables.items():
            clique_number: int = tree.clique_containing(axes)  # type: ignore[assignment]
            tree.table(out, clique_number)[...] += np.where(
                allowed.reshape(tree.broadcast_shape(axes, clique_number)), 0.0, -np.inf
            )
        return out

    def reader(self, workload: Workload) -> "TreeAnswerReader":
        """Return the reader of a workload's answers from beliefs.

        Raises InputError if a table lies in no clique.
        """
        answer_reader = self._reader_cache.get(workload)
        if answer_reader is None:
            answer_reader = TreeAnswerReader(self, workload)
            self._reader_cache[workload] = answer_reader
        return answer_reader

    def normalise(self, theta: Array) -> tuple[float, Array]:
        """Return the log normaliser and beliefs (cells,) of potentials θ (cells,).

        The beliefs are each clique's marginal table, summing to 1.
        """
        tree = self.junction
        count = len(self.junction.cliques)
        if self._constraint_potentials is not None:
            theta = theta + self._constraint_potentials
        beliefs = np.empty_like(theta)
        # Of each clique the potentials, with what is known from below once there is something.
        potentials = list(tree.tables(theta))
        out = tree.tables(beliefs)
        masses = [np.empty(0)] * count
        log_z = 0.0
        with np.errstate(divide="ignore"):
            for i in range(count - 1, -1, -1):  # towards the root: what lies below each separator
                maxima = potentials[i].max(axis=self._new_axes[i], keepdims=True)
                maxima[maxima == -np.inf] = 0.0
                np.subtract(potentials[i], maxima, out=out[i])
                np.exp(out[i], out=out[i])
                masses[i] = out[i].sum(axis=self._new_axes[i], keepdims=True)
                message = np.log(masses[i]) + maxima
                if i == 0:
                    log_z = float(message.item())
                else:
                    parent = tree.parents[i]
                    message = self._shape_for_parent(message, i)
                    np.add(potentials[parent], message, out=out[parent])
                    potentials[parent] = out[parent]
        np.divide(out[0], masses[0], out=out[0])
        for i in range(1, count):
            parent_marginal = self._separator_marginal(out[tree.parents[i]], i)
            np.multiply(out[i], divide_or_zero(parent_marginal, masses[i]), out=out[i])
        return log_z, beliefs

    def public_start_potentials(self, start: PublicStart) -> Array:
        """Return the potentials θ (size,) of a public distribution's projection on the tree.

        This is Π_C D_0(x_C) / Π_S D_0(x_S) over separators S. Of all distributions on the tree it
        is the one nearest to D_0; what lies in no clique, it does not keep.
        """
        tree = self.junction
        workload = Marginals.over_axes(self.domain, tree.cliques)
        answers = start.answers(workload)
        out = tree.vector_of(answers[cells].reshape(shape) for _, shape, cells in workload.layout)
        with np.errstate(divide="ignore"):
            np.log(out, out=out)
        for i, table in enumerate(tree.tables(out)):
            sep = tree.separators[i]
            if sep:
                separator_marginal = start.answers(Marginals.over_axes(self.domain, [sep]))
                table -= np.log(np.where(separator_marginal > 0, separator_marginal, 1)).reshape(
                    tree.broadcast_shape(sep, i)
                )
        return out

    def query_support(self, workload: Workload, j: int) -> QuerySupport:
        """Return the clique and the cells that query j is read off, with its values.

        Raises InputError if no clique holds it.
        """
        axes, cells, q = workload.support(j)
        clique_number = self.junction.clique_containing(axes)
        if clique_number is None:
            raise InputError(
                f"no clique of the model holds {' × '.join(self.domain.names[a] for a in axes)}"
            )
        clique = self.cliques[clique_number]
        if isinstance(q, Array):
            q = q.reshape(*q.shape, *[1] * (len(clique) - len(axes)))
        return QuerySupport(
            clique_number, sorted(range(len(clique)), key=lambda i: clique[i] not in axes), cells, q
        )

    def add_query(self, theta: Array, workload: Workload, j: int, amount: float) -> None:
        """Add amount · q_j in place to the potentials θ (size,).

        Only the support of q_j is touched.
        """
        support = self.query_support(workload, j)
        self.junction.table(theta, support.clique_number).transpose(support.axis_order)[
            support.cells
        ] += amount * support.q

    def visit_cliques(
        self, beliefs: Array, clique_numbers: Collection[int]
    ) -> Iterator[tuple[int, Array]]:
        """Yield each of these cliques' tables once, passing on what the caller changes in it.

        The order is from the root down one branch after another and up again. What was changed is
        passed on along separators, by the ratio of the marginal after and before, to the next
        clique on the way, and at the end to all. Source: Jiroušek, Přeučil 1995 (proportional
        fitting on trees).
        """
        tree = self.junction
        tables = tree.tables(beliefs)
        on_route = set(clique_numbers)
        for i in range(len(tree.cliques) - 1, 0, -1):  # and all on the way to them
            if i in on_route:
                on_route.add(tree.parents[i])

        def visit(i: int) -> Iterator[tuple[int, Array]]:
            if i in clique_numbers:
                yield i, tables[i]
            for child in tree.children[i]:
                if child in on_route:
                    self._pass_message(tables, child, down=True)
                    yield from visit(child)
                    self._pass_message(tables, child, down=False)

        yield from visit(0)
        for i in range(1, len(tree.cliques)):
            self._pass_message(tables, i, down=True)

    def _pass_message(self, tables: tuple[Array, ...], i: int, *, down: bool) -> None:
        """Make clique i agree with its parent (down), or the parent with it."""
        parent = self.junction.parents[i]
        parent_marginal = self._separator_marginal(tables[parent], i)
        clique_marginal = tables[i].sum(axis=self._new_axes[i], keepdims=True)
        table = tables[i if down else parent]
        table *= (
            divide_or_zero(parent_marginal, clique_marginal)
            if down
            else self._shape_for_parent(divide_or_zero(clique_marginal, parent_marginal), i)
        )

    def release(self, beliefs: Array) -> Release:
        """Return the distribution to release for beliefs.

        It answers any tables and draws rows.
        """
        return GraphicalModel(self.domain, self.junction, beliefs)

    def _shape_for_parent(self, message: Array, i: int) -> Array:
        """Return clique i's message about its separator, shaped to add to its parent's table."""
        tree = self.junction
        return message.reshape(tree.broadcast_shape(tree.separators[i], tree.parents[i]))

    def _separator_marginal(self, belief: Array, i: int) -> Array:
        """Return the parent's belief on clique i's separator, shaped to multiply i's table."""
        tree = self.junction
        sep = self.junction.separators[i]
        return sum_to_axes(belief, tree.cliques[tree.parents[i]], sep).reshape(
            tree.broadcast_shape(sep, i)
        )


class TreeAnswerReader:
    """A reader of a workload's answers from a junction tree's beliefs, and its adjoint.

    Every table must lie in a clique. The reader does not hold the workload: a tree remembers the
    reader by its workload, for as long as the workload lives.
    """

    def __init__(self, tree: JunctionTreeModel, workload: Workload) -> None:
        base = require_base_tables(workload)
        self._size = tree.size
        self._matrix = workload.matrix
        self._base_cells = base.m
        self._clique_tables, outside = tables_by_clique(tree.junction, base)
        if outside:
            raise InputError(f"no clique of the model holds {' × '.join(base.columns[outside[0]])}")

    def answers(self, D: Array) -> Array:
        """Return the answers ⟨q_j, D⟩ (m,) from beliefs (size,)."""
        out = np.empty(self._base_cells)
        for clique_slice, clique_tables, answer_positions in self._clique_tables:
            out[answer_positions] = clique_tables.answers(D[clique_slice])
        return out if self._matrix is None else self._matrix @ out

    def adjoint(self, w: Array) -> Array:
        """Return the potentials (cells,) that represent the function Σ_j w_j q_j on the cells."""
        w = w if self._matrix is None else self._matrix.T @ w
        theta = np.zeros(self._size)
        for clique_slice, clique_tables, answer_positions in self._clique_tables:
            theta[clique_slice] = clique_tables.adjoint(w[answer_positions])
        return theta
