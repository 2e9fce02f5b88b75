"""The protocol of algorithms: what an algorithm is, what a step is, and how a plan is made."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Generic, TypeVar

from ..core.errors import BudgetError, InputError
from ..core.parameters import AlgorithmText, check_parameters, parameter_field, parameter_values
from ..core.types import Rng, by_name, frozen
from ..models.releases import Release
from ..privacy import noise_grid
from ..privacy.accounting import Budget, Plan, Setting
from ..problems import QueryRelease
from .run_costs import evaluation_seconds

CONSTRAINTS_IN_MODEL_NOTE = (
    "the schema's constraints are public: what they forbid has no mass, "
    "and noise there is known to be noise"
)
CONSTRAINTS_IN_ROWS_NOTE = (
    "what it releases can have mass where constraints forbid it; rows "
    "drawn from it that break one are redrawn"
)


ReleasedT = TypeVar("ReleasedT")


@frozen
class Step(Generic[ReleasedT]):
    """One lazy step of a run: its number from 1 on, the released object, and a note.

    The note says in words what the step did. `tree_fit` is what a provisional fit of a later run
    may go on from, see `query_release/shared/earlier_tree`; it is complete when the run has ended.
    """

    t: int
    release: ReleasedT
    note: str = ""
    tree_fit: Any = None


Steps = Iterator[Step[Release]]


@by_name
class Algorithm:
    """The base of all algorithms: a dataclass whose fields are its parameters.

    It sees a curator, never rows. The text about an algorithm stands in `about.toml` under its
    name. Raises InputError for a parameter out of range.
    """

    problem = QueryRelease
    enumerates = False  # whether it needs all k cells
    graphical = False  # whether it takes a junction tree where they cannot be listed
    evaluations_per_round = 1.0  # about as many times a model is normalised and answers, or as long
    adaptive = False  # whether events depend on released values; the plan is then an upper bound
    about = AlgorithmText()

    def __post_init__(self) -> None:
        check_parameters(self)

    def plan(self, problem: Any, budget: Budget) -> Plan:
        """Return the plan: calibrated planned events and settings, from public numbers.

        The setting "rounds" is the number of steps.
        """
        raise NotImplementedError

    def steps(self, problem: Any, plan: Plan, curator: Any, rng: Rng) -> Steps:
        """Yield the released objects, one a step; the last one is the algorithm's answer."""
        raise NotImplementedError

    def provisional_release(
        self, problem: Any, plan: Plan, curator: Any, earlier: Any
    ) -> Release | None:
        """Return about what a run will release, on what an `earlier` run's `tree_fit` holds.

        Whoever explores sees it until the run has ended. None where the algorithm has none.
        """
        return None

    def run_seconds(self, problem: Any, plan: Plan) -> float:
        """Return the rough seconds of processors that a run takes, from public numbers.

        Those of as many evaluations of the model in a round as the algorithm makes.
        """
        values = plan_values(plan)
        evaluations = values.get("iterations", plan["rounds"]) * self.evaluations_per_round
        cells = values.get("cells", problem.domain.size if self.enumerates else 0)
        return evaluations * evaluation_seconds(problem, cells)

    def run_bytes(self, problem: Any, plan: Plan) -> float:
        """Return the rough bytes of a run beside the program's own, from public numbers."""
        cells = plan_values(plan).get("cells", problem.domain.size if self.enumerates else 0)
        return 8.0 * (MAX_CELL_ARRAYS * cells + MAX_ANSWER_ARRAYS * problem.workload.m)

    def as_settings(self, *names: str) -> tuple[Setting, ...]:
        """Return settings with the values that the user gave for the named parameters."""
        return tuple(Setting(name, parameter_values(self)[name], "given") for name in names)

    def choose_default(self, name: str, value: Any, why: str) -> Setting:
        """Return the setting of a parameter: the user's value, else the plan's `value`.

        `why` is the reason for the plan's value.
        """
        return (
            Setting(name, value, why)
            if parameter_values(self)[name] is None
            else self.as_settings(name)[0]
        )


def rounds_param(
    doc: str = "selections, and as many measurements", derived_from: str = "n, m"
) -> Any:
    """Return the parameter for the number of rounds.

    Left to the plan, which derives it from `derived_from` of the problem.
    """
    auto = (
        f"{derived_from} and the budget: where the noise of a round overtakes what another "
        "one gains"
    )
    return parameter_field(None, doc, symbol="T", low=1, high=100_000, log=True, auto=auto)


def model_cells_param(limit_text: str = "300,000") -> Any:
    """Return the parameter that limits how many numbers a model may hold."""
    auto = f"{limit_text}: all combinations, else the cliques of a tree, by n and the budget"
    return parameter_field(
        None, "numbers that the model may hold", low=1, high=100_000_000, log=True, auto=auto
    )


def make_plan(algorithm: Algorithm, problem: Any, budget: Budget) -> Plan:
    """Return a plan, made after the checks that every algorithm shares.

    The checks: the kind of problem, and k before memory is used.
    """
    if not isinstance(problem, algorithm.problem):
        name = type(algorithm).__name__
        raise InputError(
            f"{name} solves {algorithm.problem.__name__}, not {type(problem).__name__}"
        )
    if algorithm.enumerates:
        problem.require_enumerable()
    elif (
        isinstance(problem, QueryRelease) and problem.start is not None and not algorithm.graphical
    ):
        raise InputError(
            f"{type(algorithm).__name__} keeps no histogram and cannot start from a public table"
        )
    plan = algorithm.plan(problem, budget)
    if plan.budget != budget:
        raise BudgetError(
            f"{type(algorithm).__name__} made a plan for {plan.budget}, not for {budget}"
        )
    if budget.delta == 0:
        for statistic in plan.measured_statistics:
            noise_grid.require_grid(statistic)
    return _note_constraints(algorithm, problem, plan)


def _note_constraints(algorithm: Algorithm, problem: Any, plan: Plan) -> Plan:
    """Return the plan with a note on the schema's constraints, if it has any."""
    count = len(problem.domain.constraints) if isinstance(problem, QueryRelease) else 0
    if not count:
        return plan
    is_in_model = algorithm.enumerates or algorithm.graphical
    value_and_reason = (
        ("kept by the distribution, its answers and rows", CONSTRAINTS_IN_MODEL_NOTE)
        if is_in_model
        else ("kept by rows only", CONSTRAINTS_IN_ROWS_NOTE)
    )
    return replace(
        plan,
        settings=(
            *plan.settings,
            Setting("constraints", f"{count}, {value_and_reason[0]}", value_and_reason[1]),
        ),
    )


def theoretical_values(
    algorithm: Algorithm, problem: QueryRelease, budget: Budget
) -> dict[str, float]:
    """Return the parameter values that the papers' theory gives.

    Every setting of a plan named NAME_star, by NAME.
    """
    choices = make_plan(algorithm, problem, budget).settings
    return {c.name.removesuffix("_star"): c.value for c in choices if c.name.endswith("_star")}


MAX_CELL_ARRAYS = 40  # arrays of k doubles
MAX_ANSWER_ARRAYS = 12  # arrays of m answers, with those that a run compares them with


def plan_values(plan: Plan) -> dict[str, Any]:
    """Return the values of a plan's settings, by name."""
    return {setting.name: setting.value for setting in plan.settings}


def forecast_seconds_and_bytes(
    algorithm: Algorithm, problem: QueryRelease, budget: Budget
) -> tuple[float, float]:
    """Return the rough seconds of a run and its bytes, from public numbers.

    The bytes are those beside the program's own. Raises what `make_plan` raises.
    """
    plan = make_plan(algorithm, problem, budget)
    return algorithm.run_seconds(problem, plan), algorithm.run_bytes(problem, plan)
