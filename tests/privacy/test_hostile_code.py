"""Code that asks in bad faith, through the verbs of a real curator: it is refused, or gets the
noise that it paid for.

Each question here once brought exact answers, or answers that nobody paid for.
"""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import (
    ALGORITHMS,
    Budget,
    Column,
    Domain,
    Explicit,
    Marginals,
    QueryRelease,
    Rows,
    Run,
    TableQueries,
    Union,
)
from dpcore.algorithms.algorithm import make_plan
from dpcore.privacy import mechanisms
from dpcore.privacy.accounting import (
    BoundedRange,
    Gaussian,
    GdpAccountant,
    PlannedEvent,
    Pure,
    PureAccountant,
    SubsampledGaussian,
)
from dpcore.privacy.curators.risk_curator import RiskCurator
from dpcore.privacy.curators.table_curator import TableCurator
from dpcore.privacy.samplers import SAMPLERS
from dpcore.privacy.statistics import (
    AbsoluteErrors,
    AcceptProbabilities,
    Answers,
    CellAnswers,
    CodeVotes,
    MeanGradient,
    RegularisedRisk,
    SignedErrors,
    SomeAnswers,
    TableErrors,
)
from dpcore.problems.losses import PiecewiseLinear, hinge_loss
from dpcore.problems.regions import Box
from tests.privacy.enumerated_neighbours import curator_of, mechanism_arguments, plan_of
from tests.small_problems import (
    BUDGET,
    approx,
    expect_budget_error,
    expect_error,
    integer_domain,
    parametrize,
    rows_in_cells,
    seeded,
)

DOMAIN = integer_domain(3, 2)
N = 30
ROWS = rows_in_cells(DOMAIN, [0] * 17 + [2] * 8 + [5] * 5)
# noise of 1/(nμ), 30 and more, on shares that lie within 0..1
MU = 1e-3
EPSILON = 1e-3
SPENDS = (Gaussian(MU), BoundedRange(EPSILON), Pure(EPSILON))


def marginals():
    return Marginals.all(DOMAIN, 1)


WORKLOADS = {
    "marginals": marginals,
    "explicit": lambda: Explicit(DOMAIN, np.eye(6)[:4]),
    "table queries": lambda: TableQueries.prefixes(DOMAIN, "ab"),
    "union": lambda: Union([Marginals(DOMAIN, ["a"]), Explicit(DOMAIN, np.eye(6)[3:])]),
}
workloads = parametrize("make", WORKLOADS.values(), ids=WORKLOADS)


WHOLE = Budget(100, 1e-6)


def asking(*, rows=ROWS, spends=SPENDS, times=400, budget=WHOLE, **options):
    named = {"domain": DOMAIN} if options.get("kind", TableCurator) is TableCurator else {}
    return curator_of(rows, *spends, times=times, budget=budget, **named, **options)


def measured(workload, spend=SPENDS[0]):
    return asking().measure(Answers(workload), spend).values


def force(thing, **values):
    """Change what is frozen."""
    for name, value in values.items():
        object.__setattr__(thing, name, value)


def noisy(measured, truth, spread):
    """Whether the largest error is what noise of that standard deviation makes of it, give or take
    a lot.
    """
    return spread / 30 < np.abs(measured - truth).max() < 30 * spread


class SpyingArray(np.ndarray):
    """An array that notes what any operation combines it with."""

    seen: list = []  # noqa: RUF012

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        self.seen.append(inputs)
        return getattr(ufunc, method)(*[np.asarray(x) for x in inputs], **options)

    def __array_function__(self, function, types, args, options):
        self.seen.append(args)
        return np.zeros(10)


class Huge(float):
    """A number that is huge in products, so that noise divided by them is none."""

    def __mul__(self, other):
        return 1e300

    __rmul__ = __mul__


class Once(int):
    """A number that counts as one where it is charged."""

    def __radd__(self, other):
        return other + 1

    def __lt__(self, other):
        return False


QUESTIONS = {
    "signed": ("select", SignedErrors, BoundedRange(EPSILON)),
    "sums": ("draw_queries", lambda w, a: SignedErrors(w, a, 2), BoundedRange(EPSILON)),
    "odds": (
        "keep_draws",
        lambda w, a: AcceptProbabilities(w, np.arange(5), a, 1e-6),
        BoundedRange(1.0),
    ),
    "stream": (
        "above_threshold",
        lambda w, a: AbsoluteErrors(w, np.arange(5), a, 0.1),
        Pure(EPSILON),
    ),
    "tables": (
        "select",
        lambda w, a: TableErrors(w, a, np.zeros(2), np.ones(2)),
        BoundedRange(EPSILON),
    ),
}
questions = parametrize("verb, make, spend", QUESTIONS.values(), ids=QUESTIONS)


@questions
def test_an_object_in_the_place_of_an_array_never_meets_an_answer(verb, make, spend):
    for answers, words in (
        (object(), "is where"),
        (np.full(5, 0.25, dtype=object), "array of type object"),
    ):
        with expect_error(words):
            getattr(asking(), verb)(make(marginals(), answers), spend)


@questions
def test_an_array_of_a_class_of_its_own_is_read_for_its_numbers_only(verb, make, spend):
    answers = np.full(5, 0.25).view(SpyingArray)
    SpyingArray.seen.clear()
    asked = [make(marginals(), a) for a in (answers, np.full(5, 0.25))]
    SpyingArray.seen.clear()
    mine, plain = (getattr(asking(spends=[spend], times=10), verb)(a, spend) for a in asked)
    assert SpyingArray.seen == []
    assert np.array_equal(mine, plain)


def test_methods_put_on_a_question_are_left_behind():
    seen = []
    score = SignedErrors(marginals(), np.zeros(5))
    force(score, value=lambda truth: seen.append(truth) or np.zeros(10))
    asking().select(score, BoundedRange(EPSILON))
    cells = CellAnswers(marginals(), subspace=True)
    force(cells, l2=1e-9, value=lambda rows: seen.append(rows), postprocess=seen.append)
    out = asking().measure(cells, Gaussian(MU)).values
    assert seen == []
    assert noisy(out, cells.workload.answers_of_rows(ROWS), 1 / (N * MU))


@workloads
def test_whatever_is_done_to_a_workload_its_answers_keep_their_noise(make):
    """Fewer tables, a smaller width, another matrix: before the first question, or between two."""
    curator, seen, truth = asking(), [], make().answers_of_rows(ROWS)
    for asked_before in (False, True):
        workload = make()
        if asked_before:
            curator.measure(Answers(workload), Gaussian(MU))
        force(workload, width=1e-12, diameter=1e-12, diameter_l1=1e-12, tables=workload.tables[:0])
        force(
            workload,
            answers_of_rows=lambda rows: seen.append(rows),
            answers=seen.append,
            row_space=None,
        )
        for spend in (Gaussian(MU), Pure(EPSILON)):
            assert noisy(curator.measure(Answers(workload), spend).values, truth, 3 / (N * MU))
            one = curator.measure(SomeAnswers(workload, slice(0, 1)), spend).values
            assert noisy(one, truth[:1], 1 / (N * MU))
            assert noisy(
                curator.measure(CellAnswers(workload, subspace=False), spend).values,
                truth,
                2 / (N * MU),
            )
        chosen = {
            curator.select(SignedErrors(workload, truth - 0.1), BoundedRange(EPSILON))
            for _ in range(60)
        }
        assert len(chosen) > 3, "drawn at random still"
        assert seen == []


def test_members_of_a_union_and_tables_underneath_count_as_they_were():
    union = WORKLOADS["union"]()
    queries = WORKLOADS["table queries"]()
    truths = union.answers_of_rows(ROWS), queries.answers_of_rows(ROWS)
    force(union.parts[0][0], width=0.0, tables=(), answers_of_rows=None)
    force(union.parts[1][0], matrix=None, diameter=0.0)
    with expect_error():
        measured(union)
    union = WORKLOADS["union"]()
    force(union, _parts=union.parts[:1])
    assert len(measured(union)) == 3, "what it says now, all of it with noise"
    force(queries.base, tables=(), shapes=(), axes=())
    assert noisy(measured(queries), truths[1], 3 / (N * MU))


def test_the_matrix_of_explicit_queries_cannot_be_written():
    owner = WORKLOADS["explicit"]().matrix
    while isinstance(owner, np.ndarray):
        with expect_error("WRITEABLE", ValueError):
            owner.flags.writeable = True
        owner = owner.base
    with pytest.raises(TypeError):
        owner[0] = 0


def test_a_workload_or_domain_derived_from_ours_is_refused():
    class Narrow(Domain):
        shape = (2, 2)

    class Thin(Column):
        size = 1

    thin = Domain((Thin(name="a", kind="integer", low=0, high=2), DOMAIN.columns[1]))
    for domain in (Narrow(DOMAIN.columns), thin):
        workload = Marginals(DOMAIN, ["a"])
        force(workload, domain=domain)
        with expect_error("nothing derived"):
            measured(workload)


@parametrize("domain", [integer_domain(2, 2), integer_domain(4, 2), integer_domain(3, 2, 2)])
def test_a_workload_on_another_domain_is_refused_before_an_error_could_tell_of_a_record(domain):
    curator = asking()
    with expect_error("another schema"):
        curator.measure(Answers(Marginals(domain, ["a"])), Gaussian(MU))
    assert curator.budget_meter.events == []


def test_a_number_of_a_class_of_its_own_pays_as_much_as_it_is_worth():
    workload = marginals()
    truth = workload.answers_of_rows(ROWS)
    for spend in (Gaussian(Huge(MU)), Pure(Huge(EPSILON))):
        assert noisy(measured(workload, spend), truth, 3 / (N * MU))
    curator = asking(spends=[BoundedRange(0.01)], times=10, budget=Budget(1, 0))
    score = SignedErrors(workload, np.zeros(5), 2)
    with expect_budget_error("draw_queries needs"):
        curator.draw_queries(score, BoundedRange(0.01), Once(10_000))
    assert curator.budget_meter.events == []


def test_the_curator_cannot_be_turned():
    curator = asking()
    for name, value in {
        "unit": 1e12,
        "ledger": None,
        "plan": None,
        "exactly": None,
        "measure": print,
        "x": 1,
    }.items():
        with pytest.raises(AttributeError):
            setattr(curator, name, value)
    assert curator.effective_n == N
    assert not hasattr(curator, "__dict__")


def test_nothing_done_to_the_ledger_that_is_shown_gives_budget_back():
    """Every object that a curator shows is changed, and what it still affords stays the same."""
    spend = Pure(0.25)
    workload = marginals()
    curator = asking(spends=[spend], times=3, budget=Budget(0.75, 0))
    for _ in range(3):
        curator.measure(Answers(workload), spend)
    shown = curator.budget_meter
    assert shown.events == [("measure", spend)] * 3
    with expect_budget_error("a copy of a ledger uses no budget"):
        shown.charge("measure", spend)
    shown.events[0][1].__dict__["epsilon"] = 1e-30
    shown.events.clear()
    force(shown.accountant.event_counts[0][0], epsilon=1e-30)
    force(shown.accountant, event_counts=(), capacity=1e9, failure_capacity=1.0)
    shown.accountant = type(shown.accountant)()
    force(curator.plan.budget, epsilon=1e6, delta=0.5)
    force(curator.plan.planned_events[0], times=10**6)
    force(curator.plan.planned_events[0].spend, epsilon=1e-30)
    force(
        curator.plan,
        planned_events=curator.plan.planned_events * 9,
        accountant=None,
        spend_types=frozenset({Gaussian}),
        exact=True,
    )
    curator.exact_draw_counts["Gaussian noise"] += 5
    assert curator.exact_draw_counts == {"Laplace noise": 3}, "as delta=0 was promised"
    for asked in (Pure(0.25), Pure(1e-6)):
        assert not curator.can_afford(asked)
        with expect_budget_error("measure needs ε=.*, 0 is left"):
            curator.measure(Answers(workload), asked)
    assert len(curator.budget_meter.events) == 3
    assert PureAccountant(curator.budget_meter.accountant.event_counts).cost == 0.75


def test_a_plan_that_was_changed_after_it_was_made_is_priced_anew():
    plan = plan_of(BUDGET, (Gaussian(0.01),))
    force(plan, planned_events=(PlannedEvent("x", Gaussian(100.0)),))
    with expect_budget_error("the plan needs"):
        TableCurator(ROWS, N, plan, seeded(0))


def test_what_a_plan_names_never_meets_the_ledger_that_charges():
    class Hostile:
        def __getattribute__(self, name):
            raise AssertionError(f"{name} was read")

    plan = plan_of(Budget(100, 1e-6), (Gaussian(0.1), 1, Hostile()))
    curator = TableCurator(ROWS, N, plan, seeded(0), domain=DOMAIN)
    curator.measure(Answers(marginals()), Gaussian(0.1))
    assert curator._ledger.plan.planned_events == plan.planned_events
    assert curator._ledger.plan.planned_events[0].statistic is None


def test_a_plan_for_another_budget_than_was_given_is_refused():
    class Generous:
        problem = QueryRelease
        enumerates = False

        def plan(self, problem, budget):
            return ALGORITHMS["dpfw"](rounds=3).plan(problem, replace(budget, epsilon=9.0))

    with expect_budget_error("Generous made a plan for"):
        make_plan(Generous(), QueryRelease(marginals(), N), BUDGET)


def test_no_sampler_can_be_put_beside_ours():
    with pytest.raises(TypeError):
        SAMPLERS["mine"] = SAMPLERS["plane"]


def test_a_run_refuses_a_workload_on_another_domain():
    """The doors tell the curator which domain the records have."""
    problem = QueryRelease(marginals(), N)
    dpfw = ALGORITHMS["dpfw"](rounds=1)

    class Elsewhere:
        problem = QueryRelease
        enumerates = True
        plan = dpfw.plan

        def steps(self, problem, plan, curator, rng):
            score = SignedErrors(Marginals(integer_domain(2, 2), ["a"]), np.zeros(2))
            yield curator.select(score, plan.spend_of("select"))

    run = Run(Elsewhere(), problem, ROWS, BUDGET)
    with expect_error("another schema"):
        run.finish()
    assert run.events == []


@parametrize("group", [0, 0.01, -1, N + 1])
def test_a_group_that_would_take_noise_away_is_refused(group):
    with expect_error("group="):
        asking(group=group)


W = marginals()
ROUNDED = {
    "infinite answers": ("select", SignedErrors(W, np.array([np.inf, 0, 0, 0, 0]))),
    "infinite table answers": (
        "select",
        TableErrors(W, np.full(5, np.inf), np.full(2, 1e308), np.ones(2)),
    ),
    "far sums": ("draw_queries", SignedErrors(W, np.full(5, 2.0**53), 1)),  # spacing 1 below it
}


@parametrize("verb, score", ROUNDED.values(), ids=ROUNDED)
def test_far_answers_do_not_round_the_true_ones_to_a_bit(asked, verb, score):
    """The scores move by what one record moves them, and not by the spacing of far numbers."""
    data = [
        rows_in_cells(DOMAIN, [0] * half + [5] * (N - half)) for half in (15, 16)
    ]  # one record more, past a half
    (before, scale), (after, _) = (
        mechanism_arguments(asked, verb, score, BoundedRange(EPSILON), rows) for rows in data
    )
    assert np.abs(before - after).max() <= score.sensitivity * (1 + 1e-9)
    assert scale < np.inf, "else a draw may fail after its charge"


NINE = Rows(np.array([[0.1, 0.2, 1.0]]), np.array([9]))
SAMPLED = SubsampledGaussian(20.0, 0.5)
X = Box(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
CENTRE = np.zeros(2)
LINE = Box(np.array([-1.0]), np.array([1.0]))
NOT_PRIVATE = {
    "weights that round to 0": (
        "select",
        TableErrors(W, np.zeros(5), np.zeros(2), np.full(2, 5e-324)),
    ),
    "no numbers": ("select", SignedErrors(W, np.full(5, np.nan))),
    "answers of another shape": ("select", SignedErrors(W, np.zeros((5, 1)))),
    "a narrow query": ("select", SignedErrors(Explicit(DOMAIN, 5e-324 * np.eye(6)), np.zeros(6))),
    "a narrow query measured": ("measure", Answers(Explicit(DOMAIN, 1 - 1e-16 * np.eye(6)[:1]))),
    "one narrow query of many": (
        "measure",
        SomeAnswers(Explicit(DOMAIN, np.eye(6) * [[1], [1e-300], [1], [1], [1], [1]]), slice(1, 2)),
    ),
    "a clip that rounds to 0": ("measure", MeanGradient(hinge_loss(), X, CENTRE, 1e-320)),
    "a point a record": ("measure", MeanGradient(hinge_loss(), X, np.zeros((3, 2)), 1.0)),
    "a point that is no number": (
        "measure",
        MeanGradient(hinge_loss(), X, np.full(2, np.nan), 1.0),
    ),
    "a margin at a location": ("measure", MeanGradient(hinge_loss(), LINE, np.zeros(1), 1e6, True)),
}


@parametrize("verb, question", NOT_PRIVATE.values(), ids=NOT_PRIVATE)
def test_questions_whose_noise_would_round_away_are_refused_before_a_charge(verb, question):
    curator = asking(kind=RiskCurator if isinstance(question, MeanGradient) else TableCurator)
    with expect_error():
        getattr(curator, verb)(question, Gaussian(MU) if verb == "measure" else SPENDS[1])
    assert curator.budget_meter.events == []


@parametrize("wrong", [{"low": 1.0}, {"high": np.nan}, {"width": -1.0}, {"low": -np.inf}])
def test_a_loss_with_a_wrong_slope_is_refused(wrong):
    loss = PiecewiseLinear("mine", -1.0, 1.0)
    with expect_error("slopes"):
        replace(loss, **wrong)
    force(loss, **wrong)
    with expect_error("slopes"):
        asking(kind=RiskCurator).measure(MeanGradient(loss, X, CENTRE, 1.0), Gaussian(MU))


def test_a_code_beyond_the_bins_raises_no_error_that_would_tell_of_it():
    votes = CodeVotes(np.array([[0], [1]]), (np.arange(2),), (None,), 1)
    assert votes.value(Rows(np.array([[0], [4]]), np.array([1, 3]))).tolist() == [0.25, 0.75]


def test_a_target_or_a_gradient_that_brings_its_own_law_is_stripped_of_it():
    """What it would pay with, how sharp it is, what it draws from and how it is clipped all follow
    from its fields.
    """
    seen, statistic = [], MeanGradient(hinge_loss(), X, CENTRE, 1.0)
    target = RegularisedRisk(replace(hinge_loss(), width=0.1), X, 1.0)
    force(target, payable=(Pure,), k=lambda *_: 1e30, density=lambda *a: seen.append(a), G=1e-30)
    force(statistic, clipped_sum=lambda *a: seen.append(a))
    curator = asking(rows=NINE, kind=RiskCurator)
    with expect_budget_error("Pure does not pay for this"):
        curator.draw_parameter(target, "plane", Pure(EPSILON))
    assert curator.draw_parameter(target, "plane", Gaussian(MU)).shape == (2,)
    curator = asking(rows=NINE, spends=[SAMPLED], times=1, kind=RiskCurator)
    assert np.abs(curator.measure_sample(statistic, SAMPLED).values).max() > 0.1
    assert seen == []


def test_a_sampled_sum_is_divided_by_the_expected_size_whatever_was_drawn(monkeypatch):
    monkeypatch.setattr(mechanisms, "gaussian", lambda values, _sigma, _rng: values)
    curators = [curator_of(NINE, SAMPLED, kind=RiskCurator, seed=seed) for seed in range(40)]
    statistic = MeanGradient(hinge_loss(), X, CENTRE, 1.0)
    found = np.array([curator.measure_sample(statistic, SAMPLED).values for curator in curators])
    sampled = found[:, 0] / statistic.clipped_sum(NINE.values, np.ones(1))[0] * 0.5 * 9
    assert np.abs(sampled - sampled.round()).max() < 1e-9
    assert len(set(sampled.round())) > 3, (
        "how many were in the sample shows, as it is not divided by"
    )


def test_nothing_done_to_a_measurement_that_left_changes_what_is_left_or_recorded():
    workload = marginals()
    curator = asking(spends=[Gaussian(0.1)], times=1)
    capacity = curator.budget_meter.capacity
    m = curator.measure(Answers(workload), Gaussian(0.1))
    left = m.values.copy()
    (before,) = curator.measured_answers
    force(m.spend, mu=1e-9)
    force(m.statistic.workload, tables=(), m=1)
    m.values[:] = 7.0
    before.values[:] = 7.0
    (after,) = curator.measured_answers
    assert after.values == approx(left)
    assert after.stddev == approx(np.full(5, 2 / (N * 0.1)))
    assert GdpAccountant(curator.budget_meter.accountant.event_counts).cost == approx(0.01)
    times = int(capacity / 0.01) - 1
    assert curator.can_afford(Gaussian(0.1), times)
    assert not curator.can_afford(Gaussian(0.1), times + 1), "one was spent"
