"""Changes after which a table is large enough for its questions, by the plan's noise alone."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..algorithms.algorithm import Algorithm, make_plan
from ..core.errors import BudgetError, InputError
from ..core.types import Json, Texts
from ..privacy.accounting import Budget
from ..problems import QueryRelease
from ..queries.parse_queries import read_queries
from ..schema.domain import Domain
from ..schema.schema_json import domain_from_json, domain_to_json
from .usefulness import planned_tables, suitable_uses

MIN_BINS_TO_JOIN = 4  # bins of a column that may be joined by twos
T = TypeVar("T")


class UsefulChanges:
    """A search for the smallest changes of a run after which its answers are good for something.

    It reads no rows: columns, questions, the budget and the number of rows decide.
    """

    def __init__(self, algorithm: Algorithm, problem: QueryRelease, queries: Sequence[str]) -> None:
        """Take what a run is about.

        Args:
            algorithm: The algorithm with its settings.
            problem: The problem, of which the columns and the numbers of rows, of all and of a
                person, are kept.
            queries: The questions, as the command line writes them.

        """
        self._algorithm = algorithm
        self._domain = problem.domain
        self._n = problem.n
        self._rows_per_person = problem.group
        self._queries = queries

    def is_useful(self, domain: Domain, budget: Budget) -> bool:
        """Return whether a plan's answers about these columns are good for some use."""
        try:
            workload, _ = read_queries(self._queries, domain)
            problem = QueryRelease(workload, self._n, self._rows_per_person)
            plan = make_plan(self._algorithm, problem, budget)
        except (BudgetError, InputError):  # such as questions about a column that is left out
            return False
        return bool(suitable_uses(planned_tables(problem, plan), self._n).good_for)

    def find_columns(self, budget: Budget) -> Texts | None:
        """Return the most columns that are useful, the largest left out first; None without any.

        They are in the order of the table.
        """
        by_size = sorted(self._domain.columns, key=lambda column: column.size)
        names_by_size = [column.name for column in by_size]
        candidates = []
        for count in range(len(names_by_size) - 1, 0, -1):
            smallest = names_by_size[:count]
            names = tuple(name for name in self._domain.names if name in smallest)
            if self._can_ask(self._domain.project(names)):
                candidates.append(names)
        return _first(candidates, lambda names: self.is_useful(self._domain.project(names), budget))

    def _can_ask(self, domain: Domain) -> bool:
        """Return whether the questions can be asked about these columns: pairs need two."""
        try:
            read_queries(self._queries, domain)
        except InputError:
            return False
        return True

    def find_epsilon(self, delta: float, epsilons: Sequence[float]) -> float | None:
        """Return the first of rising ε that is useful; None without any."""
        return _first(
            epsilons, lambda epsilon: self.is_useful(self._domain, Budget(epsilon, delta))
        )

    def find_coarser_columns(self, budget: Budget) -> dict[str, Json] | None:
        """Return the schema's entries of numbers whose bins are joined until they are useful.

        None where that does not help, or impossible combinations are stated, which speak of bins.
        """
        if self._domain.constraints:
            return None
        coarser = self._domain
        changed: dict[str, Json] = {}
        while True:
            schema = domain_to_json(coarser)
            joined = _join_bins(coarser)
            if not joined:
                return None
            changed |= joined
            try:
                coarser = domain_from_json(schema | {"columns": schema["columns"] | joined})
            except InputError:
                return None
            if self.is_useful(coarser, budget):
                return changed


def _join_bins(domain: Domain) -> dict[str, Json]:
    """Return the entries of columns of numbers with every two neighbouring bins as one."""
    entries = domain_to_json(domain)["columns"]
    joined = {}
    for column in domain.columns:
        if column.values or column.nonmissing_size < MIN_BINS_TO_JOIN:
            continue
        entry = dict(entries[column.name])
        edges = entry.pop("edges", None)
        if edges is None:  # each whole number is a bin, the last of which ends with its number
            low = entry.pop("low")
            high = entry.pop("high")
            edges = range(low, high + 1)
        joined[column.name] = entry | {"edges": [*edges[:-1:2], edges[-1]]}
    return joined


def _first(candidates: Sequence[T], is_useful: Callable[[T], bool]) -> T | None:
    """Return the first useful one of candidates that become more useful; None without any."""
    if not candidates or not is_useful(candidates[-1]):
        return None
    low = 0
    high = len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        if is_useful(candidates[middle]):
            high = middle
        else:
            low = middle + 1
    return candidates[low]
