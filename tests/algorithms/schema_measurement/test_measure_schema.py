"""A schema measured privately: what it costs beside an algorithm, what it may depend on, what it
makes of tables.
"""

import copy
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd

from dpcore import (
    ALGORITHMS,
    Budget,
    InputError,
    Marginals,
    QueryRelease,
    domain_from_json,
    domain_to_json,
)
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.schema_measurement.column_findings import guess_column_kinds, measure_column
from dpcore.algorithms.schema_measurement.measure_columns import (
    MeasureColumns,
    measure_schema,
    plan_measurement,
)
from dpcore.algorithms.schema_measurement.number_columns import (
    FIRST_FULL_CHANCE,
    NEIGHBOUR_FULL_CHANCE,
    FittedTreeCounts,
    number_grid,
)
from dpcore.algorithms.schema_measurement.predicted_errors import (
    min_visible_rows,
    missing_budget_text,
    needed_epsilon,
    predicted_error_text,
    rank_error,
    values_threshold,
)
from dpcore.algorithms.schema_measurement.split_budget import (
    SplitBudget,
    default_schema_share,
    fit_split,
)
from dpcore.core.provenance import Provenance
from dpcore.privacy.accounting import (
    Gaussian,
    Setting,
    ZcdpAccountant,
    conversions,
    failure_delta,
    worst_case_events,
)
from dpcore.privacy.curators.column_curator import ColumnCurator, NoisyCounts
from dpcore.privacy.statistics.column_statistics import FANOUT, TreeCounts, dyadic_edges
from dpcore.problems import ColumnMeasurement
from dpcore.schema.column import OTHER_LABEL
from dpcore.schema.column_texts import ColumnTexts
from dpcore.schema.partial_schema import (
    partial_schema_from_json,
    partial_schema_to_json,
    private_entry,
)
from tests.replay import Recorder, Replayer
from tests.small_problems import (
    QUERIES,
    approx,
    categorical,
    expect_budget_error,
    expect_error,
    integer,
    parametrize,
    parametrize_false_true,
    private,
    seeded,
)

CATEGORIES = private("categorical")
WHOLE = private("integer")
BINS = private("numeric", bins=8)
QUANTILES = private("numeric", bins="private")
TYPED = categorical("f", "m")
FILE = {
    "columns": {
        "job": CATEGORIES,
        "sex": TYPED,
        "age": WHOLE,
        "pay": QUANTILES,
        "temp": BINS,
        "odd": QUANTILES,
    }
}
N = 4000


def table(n=N, seed=0):
    rng = seeded(seed)
    frame = pd.DataFrame(
        {
            "job": rng.choice(["clerk", "nurse", "smith"], n, p=[0.5, 0.3, 0.2]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 91, n),
            "pay": np.exp(rng.normal(8, 2, n)).round(2),
            "temp": rng.normal(0, 3, n).round(3),
            "odd": rng.choice(["x", "7", "-2,5", "", "1e400", "=1+1"], n),
        }
    ).astype(str)
    frame.loc[:3, "job"] = ["alone", "NA", OTHER_LABEL, "z" * 300]
    frame.loc[:3, "age"] = ["ninety", "-1e9", "17.5", ""]
    return frame


def measured(frame, spec=FILE, *, epsilon=4.0, delta=1e-6, exact=False, wrap=lambda c: c, seed=1):
    schema = partial_schema_from_json(spec)
    problem = ColumnMeasurement(schema.unknown_columns, len(frame))
    split = SplitBudget(Budget(epsilon, delta), 0.5, first_can_fail=bool(problem.categorical_names))
    plan = plan_measurement(problem, split, exact=exact)
    curator = wrap(
        ColumnCurator(schema.unknown_column_texts(frame), len(frame), plan, seeded(seed))
    )
    return measure_schema(schema, problem, plan, curator), curator, plan


def is_round(edge, digits=4):
    """Whether a person would write an edge: it has few digits, however large or small it is."""
    return len(f"{abs(edge):.12e}".split("e")[0].replace(".", "").rstrip("0")) <= digits


@parametrize_false_true("exact")
def test_every_cell_falls_in_the_schema_that_was_found(exact):
    frame = table()
    found = measured(frame, exact=exact)[0]
    domain = found.domain
    assert domain.encode(frame).n == N
    assert domain.names == tuple(FILE["columns"])
    assert domain.measured == ("job", "age", "pay", "temp", "odd")
    assert found.tag is Provenance.RELEASED
    job, _, age, pay, temp, _ = domain.columns
    assert job.values == ("clerk", "nurse", "smith", OTHER_LABEL)
    # Noise hides no more than four years at an end, and no rank is off by .08, but for one in 10^9
    # runs: 7 deviations.
    assert age.bounds[0] <= 22
    assert age.bounds[1] >= 86
    if (
        not exact
    ):  # that nothing is taken for an end but what holds numbers has a chance of its own: CHANCE
        assert age.bounds[0] >= 15, "16, rounded"
        assert age.bounds[1] <= 95
    truth = np.quantile(frame["pay"].astype(float), np.arange(1, 16) / 16)
    ranks = [float((frame["pay"].astype(float) < e).mean()) for e in pay.edges[1:-1]]
    assert np.abs(np.array(ranks) - np.arange(1, len(ranks) + 1) / 16).max() < (
        0.08 if exact else 0.06
    ), truth
    assert 4 <= temp.nonmissing_size <= 8, "as many as the schema says, or fewer wider ones"
    assert (np.diff(temp.edges) > 0).all()
    assert all(is_round(edge) for column in (age, pay, temp) for edge in column.edges)
    assert domain_from_json(domain_to_json(domain)) == domain
    whatever = table(seed=7)
    whatever["job"] = "?!"
    whatever["age"] = "1e12"
    whatever["pay"] = "<b>"
    assert domain.encode(whatever).n == N, "and of any other table"


def test_a_fitted_trees_deviations_are_those_of_least_squares():
    tree = TreeCounts(np.arange(20.0))
    counts = sum(FANOUT**level for level in range(1, tree.levels + 1))
    moved = np.array(
        [tree.fit_leaves(noise, 0) for noise in np.eye(counts)]
    )  # of every cell, by noise of 1 on a count
    first, last = (ends.ravel() for ends in np.mgrid[:21, :21])
    first, last = first[first < last], last[first < last]
    expected = [np.linalg.norm(moved[:, a:b].sum(axis=1)) for a, b in zip(first, last, strict=True)]
    assert tree.range_stddevs(first, last) == approx(np.array(expected))


@parametrize("delta", [1e-6, 0.0])
def test_the_schema_depends_on_the_records_through_the_verbs_only(delta):
    spec = FILE if delta else {"columns": {k: v for k, v in FILE["columns"].items() if k != "job"}}
    first, recorder, plan = measured(table(), spec, delta=delta, wrap=Recorder)
    schema = partial_schema_from_json(spec)
    replayer = Replayer(recorder.tape)
    vars(replayer)["budget_meter"] = copy.deepcopy(recorder.budget_meter)
    again = measure_schema(schema, ColumnMeasurement(schema.unknown_columns, N), plan, replayer)
    assert not replayer._tape
    assert again.domain == first.domain
    assert [f.description for f in again.findings] == [f.description for f in first.findings]


@parametrize("delta, seed", [(1e-6, 0), (0.0, 1)])
def test_kinds_are_guessed_from_what_was_released_only(delta, seed):
    frame = table().assign(born="2001-05-17", given=lambda f: f["sex"].map({"f": "3.5", "m": "4"}))
    names = list(frame)
    problem = ColumnMeasurement((), N, names_of_unknown_kind=tuple(names))
    plan = make_plan(MeasureColumns(), problem, Budget(6, delta))
    cells = [ColumnTexts.from_series(frame[name]) for name in names]
    recorder = Recorder(ColumnCurator(cells, N, plan, seeded(seed)))
    columns = guess_column_kinds(problem, plan, recorder)
    kinds = {c.name: (c.kind, c.read) for c in columns}
    assert kinds["job"] == kinds["sex"] == ("categorical", "")
    assert kinds["age"] == ("integer", "")
    assert kinds["pay"] == kinds["temp"] == kinds["given"] == ("numeric", "")
    assert kinds["born"] == ("integer", "year of y-m-d")
    assert guess_column_kinds(problem, plan, Replayer(recorder.tape)) == columns
    place = names.index("born")
    recorder.set_reading(place, columns[place].read)
    found = measure_column(columns[place], place, problem, plan, recorder)
    assert found.column.read == "month of y-m-d", "all of one year"
    curator = ColumnCurator(cells, N, plan, seeded(seed))
    steps = list(MeasureColumns().steps(problem, plan, curator))
    measured_names = [c.name for c in columns if delta or not c.is_categorical]
    assert [step.release.column.name for step in steps] == measured_names


def test_what_is_charged_is_what_was_planned():
    _, curator, plan = measured(table())
    assert [s for _, s in curator.budget_meter.events] == [c.spend for c in plan.planned_events]
    dear = Setting("range", Gaussian(plan["tree"].mu), "stolen")
    thief = replace(plan, settings=(dear, *plan.settings))
    schema = partial_schema_from_json(FILE)
    held = ColumnCurator(schema.unknown_column_texts(table()), N, plan, seeded(0))
    with expect_budget_error(r"not measured as planned|left"):
        measure_schema(schema, ColumnMeasurement(schema.unknown_columns, N), thief, held)


@parametrize_false_true("exact")
@parametrize("delta", [1e-6, 0.0])
@parametrize("name", QUERIES)
def test_schema_and_algorithm_together_keep_the_budget_and_use_it(name, delta, exact):
    algorithm = ALGORITHMS[name]()
    budget = Budget(1, delta)
    known = bool(delta)  # categories, which fail with a part of δ
    schema = partial_schema_from_json(
        {"columns": {"age": WHOLE, "pay": BINS} | ({"job": CATEGORIES} if known else {})}
    )
    problem = QueryRelease(Marginals.all(schema.placeholder, 1), N)
    split = SplitBudget(budget, 0.2, first_can_fail=known)
    try:
        split, plan = fit_split(algorithm, problem, split, exact=exact)
    except InputError:
        assert delta == 0
        with expect_error():
            algorithm.plan(problem, budget)
        return
    own = plan_measurement(ColumnMeasurement(schema.unknown_columns, N), split, exact=exact)
    composed = own.then(plan, budget, adaptive=algorithm.adaptive)
    assert composed.accountant.epsilon(delta) <= 1
    events = [
        *((c.spend, c.times) for c in own.planned_events),
        *worst_case_events(plan, algorithm.adaptive),
    ]
    if delta:
        rho, lost = ZcdpAccountant.of_events(events).cost, failure_delta(events, budget)
        assert 0.99 * conversions.zcdp_rho(1, delta - lost) < rho + split.second_can_fail
        whole = conversions.zcdp_epsilon(rho, delta - lost)
        assert (composed.accountant.cost, composed.accountant.failure) == (rho, lost)
        assert composed.accountant.epsilon(delta) == whole
        assert sum(e.rho for e, _ in split.reserved_events) >= rho * (1 - 1e-12), (
            "all is reserved before"
        )
    else:
        assert 0.99 < sum(t * e.pure_epsilon for e, t in events) <= 1
    with expect_budget_error("together need"):
        own.then(plan, Budget(0.9, delta), adaptive=algorithm.adaptive)


def test_a_person_with_several_rows_costs_as_many_times_the_noise():
    schema = partial_schema_from_json(FILE)
    split = SplitBudget(Budget(2, 1e-6), 0.1, first_can_fail=True)
    one, four = (ColumnMeasurement(schema.unknown_columns, N, group) for group in (1, 4))
    plan = plan_measurement(one, split, exact=False)
    assert plan.planned_events == plan_measurement(four, split, exact=False).planned_events
    assert rank_error(four, plan) == approx(4 * rank_error(one, plan))
    assert values_threshold(four, plan) > 3.9 * values_threshold(one, plan)


def test_the_share_of_a_schema_lets_rare_values_be_seen_and_leaves_most_of_a_budget():
    for n, epsilon, delta in ((30_000, 1, 1e-9), (8_000, 4, 1e-6), (20_000, 2, 0.0)):
        share = default_schema_share(4, n, 1, Budget(epsilon, delta))
        assert 0.05 < share < 0.25
        each = SplitBudget(Budget(epsilon, delta), share, first_can_fail=False).first_cost / 4
        noise = 2 / each if delta == 0 else math.sqrt(2) / math.sqrt(2 * each)
        assert 6 * noise == approx(0.01 * n, rel=0.01)
        assert default_schema_share(4, n, 2, Budget(epsilon, delta)) > share
        assert default_schema_share(4, 100 * n, 1, Budget(epsilon, delta)) == 0.05
        assert default_schema_share(4, 100, 1, Budget(epsilon, delta)) == 0.25


def test_a_heavy_value_is_a_bin_of_its_own_and_dates_are_found_to_the_year():
    rng = seeded(0)
    hours = rng.choice([40, 50, -1], N, p=[0.5, 0.05, 0.45])
    hours = np.where(hours < 0, rng.integers(0, 90, N), hours)
    frame = pd.DataFrame(
        {"hours": hours, "born": [f"{y}-05-17" for y in rng.integers(1950, 2010, N)]}
    ).astype(str)
    spec = {"hours": WHOLE | {"bins": "private"}, "born": WHOLE | {"read": "year of y-m-d"}}
    for seed in range(5):
        hours, born = (f.column for f in measured(frame, {"columns": spec}, seed=seed)[0].findings)
        assert "40" in hours.labels, "half of all rows are 40"
        assert "20" not in hours.labels
        assert 1935 <= born.bounds[0] <= 1953
        assert 2006 <= born.bounds[1] <= 2024


SHAPES = {
    "gains": lambda rng: np.where(rng.random(N) < 0.9, 0, rng.integers(100, 100_000, N)),
    "incomes": lambda rng: np.exp(rng.normal(10, 1.5, N)).round(),
    "hours": lambda rng: np.where(rng.random(N) < 0.47, 40, rng.integers(1, 99, N)),
    "years": lambda rng: rng.integers(1996, 2024, N),
    "shares": lambda rng: rng.random(N).round(4),
    "narrow": lambda rng: np.where(
        rng.random(N) < 0.9, rng.normal(5, 0.01, N), 1000 * rng.random(N)
    ),
}


@parametrize("epsilon", [0.4, 2.0])
@parametrize("name", SHAPES)
def test_no_bin_holds_most_rows_unless_one_value_does_and_edges_are_round(name, epsilon):
    """With nothing said of bins, as whoever asks for a measurement leaves them."""
    kind = "numeric" if name in ("shares", "narrow") else "integer"
    worst = []
    for seed in range(4):
        values = SHAPES[name](seeded(seed))
        frame = pd.DataFrame({"a": values}).astype(str)
        spec = {"columns": {"a": private(kind)}}
        finding = measured(frame, spec, epsilon=epsilon, seed=seed)[0].findings[0]
        column = finding.column
        assert all(is_round(edge, 5) for edge in column.edges)
        counts = np.bincount(column.encode(frame["a"]), minlength=column.size)
        heaviest = np.unique(values, return_counts=True)[1].max() / N
        worst.append(counts.max() / N - (heaviest if heaviest > 0.6 else 0.0))
        if abs(counts.max() / N - 0.6) > 0.1:
            is_said = "most rows are in one bin" in finding.description
            assert is_said == bool(column.edges and counts.max() > 0.6 * N)
        if name == "years" and epsilon == 2:
            assert not column.edges, "a year each"
        if name == "shares" and epsilon == 2:
            assert np.allclose(np.array(column.edges) * 10, np.rint(np.array(column.edges) * 10))
    assert np.median(worst) <= 0.6


@parametrize("law, are_years", [((1952, 2008), True), ((1, 3000), False), ((1500, 2900), False)])
def test_a_column_of_years_has_no_bin_from_the_middle_ages_on(law, are_years):
    """At so little budget that noise makes rows of years that no row has."""
    lows = []
    for seed in range(6):
        values = seeded(seed).integers(*law, 1700)
        frame = pd.DataFrame({"a": values}).astype(str)
        finding = measured(frame, {"columns": {"a": WHOLE}}, epsilon=0.25, seed=seed)[0].findings[0]
        if not finding.found_nothing:
            lows.append(finding.column.bounds[0])
            beyond = int(re.search(r"about ([\d,]+) rows lie beyond", finding.description)[1])
            low, high = finding.column.bounds
            assert ((values < low) | (values > high)).sum() <= beyond
    assert lows
    assert all((low >= 1850) == are_years for low in lows)


def test_nothing_found_says_so_and_what_it_would_need():
    frame = pd.DataFrame({"job": [f"name {i}" for i in range(N)], "pay": [""] * N})
    found = measured(frame, {"columns": {"job": CATEGORIES, "pay": QUANTILES}})[0]
    assert [f.found_nothing for f in found.findings] == [True, True]
    assert found.domain.columns[0].values == (OTHER_LABEL,)
    assert found.domain.encode(frame).n == N
    assert "would be seen at epsilon = " in found.findings[0].description
    for delta, spec in ((1e-6, FILE["columns"]), (0.0, {"age": WHOLE, "pay": QUANTILES})):
        columns = partial_schema_from_json({"columns": spec}).unknown_columns
        problem = ColumnMeasurement(columns, N, 2)

        def planned(epsilon, problem=problem, delta=delta):
            split = SplitBudget(Budget(epsilon, delta), 0.1, first_can_fail=delta > 0)
            return plan_measurement(problem, split, exact=True)

        for column in (columns[0], columns[-1]):
            epsilon = needed_epsilon(column, problem, planned(0.01))
            assert (
                min_visible_rows(column, problem, planned(epsilon * 1.001))
                <= 0.05 * N
                < min_visible_rows(column, problem, planned(epsilon * 0.98))
            )
            text = missing_budget_text(column, problem, planned(0.3))
            assert f"200 rows (5%) would be seen at epsilon = {epsilon:.3g}" in text


def test_without_delta_categories_are_refused_before_anything_is_touched():
    with expect_error(r"column 'job': at delta=0 its values cannot be measured"):
        measured(table(), delta=0.0)


@parametrize("value", ["0", "7.5", "-1e-12", "-1e300"])
@parametrize("spec", [WHOLE, BINS, QUANTILES])
def test_a_constant_column_has_a_schema(value, spec):
    frame = pd.DataFrame({"a": [value] * N})
    for seed in range(4):
        domain = measured(frame, {"columns": {"a": spec}}, seed=seed)[0].domain
        assert len(set(domain.columns[0].encode(frame["a"]).tolist())) == 1
        assert domain_from_json(domain_to_json(domain)) == domain


RELATIVES = np.repeat([0, 1, 2, 3, 4, 8], [675, 245, 35, 15, 20, 10])
VISITS = np.concatenate([np.zeros(750, int), seeded(0).geometric(0.15, 250)])


@parametrize("values, most", [(RELATIVES, 0.08), (-RELATIVES, 0.2), (VISITS, 0.12)])
def test_a_small_tables_zeros_are_not_taken_for_all_there_is(values, most):
    frame = pd.DataFrame({f"c{i}": values for i in range(6)}).astype(str)
    found = [
        one.column.bounds
        for seed in range(5)
        for one in measured(
            frame, {"columns": dict.fromkeys(frame, WHOLE)}, epsilon=0.6, seed=seed
        )[0].findings
    ]
    assert (
        np.mean([(values < low) | (values > high) for low, high in found]) < most
    )  # all but 0 are 0.25 or more
    assert np.median([high - low for low, high in found]) <= 15
    assert all(low < high for low, high in found)


SEEN = [(16, 0, 2.7, (16, 256)), (-256, 0, 2.7, (-256, -16)), (16, 10, 2, (0, 256))]


@parametrize("low, zeros, each, ends", SEEN)
def test_neighbouring_powers_are_seen_together_where_none_is_seen_alone(low, zeros, each, ends):
    counts = np.zeros(len(dyadic_edges()))  # the last one is of what is no number
    start = int((dyadic_edges() == low).argmax())
    counts[start : start + 4] = each  # standard deviations of noise, and twice as many together
    counts[len(dyadic_edges()) // 2 - 1] = zeros
    edges = number_grid(NoisyCounts(counts, 1.0), counts.sum(), False, True)
    assert edges is not None
    assert (edges[0], edges[-1]) == ends
    counts[start + 2] = counts[start + 3] = 0
    edges = number_grid(NoisyCounts(counts, 1.0), counts.sum(), False, True)
    assert edges is None or edges[-1] == 1


def test_zeros_are_in_the_grid_of_whole_numbers_that_end_there():
    counts = np.zeros(len(dyadic_edges()))
    counts[[int((dyadic_edges() == -1).argmax()), len(dyadic_edges()) // 2 - 1]] = 50  # -1 and 0
    edges = number_grid(NoisyCounts(counts, 1.0), 100, True, True)
    assert edges is not None
    assert edges.tolist() == [-1, 0, 1]


@parametrize_false_true("gaussian")
def test_empty_powers_look_full_as_seldom_as_said(gaussian):
    full = 100
    rng = seeded(0)
    counts = (rng.normal if gaussian else rng.laplace)(
        0, 1 if gaussian else 0.7071, (2000, len(dyadic_edges()))
    )
    for height, width, chance in (
        (0, 0, FIRST_FULL_CHANCE),
        (50, dyadic_edges()[full + 1] - dyadic_edges()[full], 2 * NEIGHBOUR_FULL_CHANCE),
    ):
        counts[:, full] += height
        found = (number_grid(NoisyCounts(c, 1.0), height, False, gaussian) for c in counts)
        wide = sum(edges is not None and np.ptp(edges) > width for edges in found)
        assert wide <= 2000 * chance + 3 * math.sqrt(
            2000 * chance
        )  # three binomial deviations more


def leaves(cells):
    """Counts on a grid from 0 to 8, exact but as if their noise deviated by 1."""
    column = ColumnTexts.from_series(pd.Series(cells))
    return FittedTreeCounts.from_measurement(
        np.arange(9.0), False, lambda tree: NoisyCounts(tree.counts(column), 1.0), len(cells)
    )


@parametrize("at, rows, low", [("4.5", 6, 4), ("0.5", 7, 0), ("-9", 11, -16)])
def test_an_end_moves_outward_with_as_many_rows_as_noise_would_hardly_make_and_no_fewer(
    at, rows, low
):
    """Near the others, within the grid, and beyond it."""
    for fewer in (0, 1):
        found = leaves(["5.5"] * 1000 + [at] * (rows - fewer))
        assert (found.edges[found.find_ends()[0]] > low) == fewer


@parametrize("value, rows, least", [(5, 3, None), (1.7e18, 20, 20), (-1.7e18, 20, 20)])
def test_ends_are_where_rows_surely_are_and_numbers_too_large_for_any_cell_lie_beyond(
    value, rows, least
):
    ends = leaves([str(value)] * rows + [""] * (20 - rows)).find_ends()
    assert ends is None if least is None else ends[2] >= least


def test_noise_of_any_size_gives_a_schema():
    frame = table(60)
    for seed in range(12):
        for epsilon in (0.01, 1.0, 50.0):
            found = measured(frame, epsilon=epsilon, seed=seed)[0]
            assert domain_from_json(domain_to_json(found.domain)) == found.domain
            assert found.domain.encode(frame).n == 60


HARD = {  # numbers whose edges are hard to round
    "huge": lambda rng: rng.choice([-1.0, 1.0], 300) * 10.0 ** rng.uniform(10, 300, 300),
    "tiny": lambda rng: 10.0 ** rng.uniform(-30, -5, 300),
    "near each other": lambda rng: 1e6 + rng.integers(0, 7, 300) * 1e-4,
    "at the last whole numbers": lambda rng: 2.0**48 - rng.integers(0, 50, 300),
    "both ways": lambda rng: rng.standard_t(1, 300),
    "one far": lambda rng: np.append(rng.random(299), -1e14),
    "one value": lambda rng: np.full(300, -0.1),
    "none": lambda rng: np.full(300, np.nan),
}


@parametrize("bins", [None, 1, 3, 1000, "private"])
@parametrize("kind", ["integer", "numeric"])
def test_whatever_is_measured_makes_a_schema_that_can_be_used(kind, bins):
    entry = private(kind) | ({} if bins is None else {"bins": bins})
    for seed in range(2):
        values = {name: law(seeded(seed)) for name, law in HARD.items()}
        frame = pd.DataFrame(values).map(repr).replace("nan", "")
        spec = {"columns": dict.fromkeys(frame, entry)}
        for epsilon in (0.3, 1000.0):
            domain = measured(frame, spec, epsilon=epsilon, seed=seed)[0].domain
            assert domain_from_json(domain_to_json(domain)) == domain
            rows = domain.encode(frame)
            assert rows.n == 300
            codes = np.repeat(rows.values, 2, axis=0)
            again = domain.encode(domain.decode_rounded(codes, seeded(0)))
            assert (again.values == rows.values).all(), "synthetic rows are where they belong"


@parametrize(
    "spec, why",
    [
        (CATEGORIES | {"kind": "numeric"}, "the bounds are private"),
        (WHOLE | {"kind": "categorical"}, "the values are private"),
        (WHOLE | {"bins": 0}, r"bins=0 must be"),
        (WHOLE | {"bins": "16"}, r"bins=16 must be"),
        (WHOLE | {"low": 3}, "'low' does not go with"),
        (WHOLE | {"missing": "refuse"}, "cannot refuse missing"),
        (CATEGORIES | {"read": "year of y-m-d"}, "does not go with"),
        ({"kind": "date", "values": "private"}, "dates are too detailed"),
        (WHOLE | {"same": {"1": ["one"]}}, '"same" goes with categories alone'),
        (CATEGORIES | {"same": ["m"]}, "same must be a JSON object"),
        (CATEGORIES | {"same": {"m": ["M"], "f": ["M"]}}, "'M' in same is read as 'f'"),
        (CATEGORIES | {"same": {"m": ["f"], "f": ["F"]}}, "'f' in same is read as 'm'"),
        (CATEGORIES | {"same": {"m": ["M"]}, "missing_codes": ["m"]}, "in missing_codes"),
        (WHOLE | {"missing_codes": 9}, "missing_codes must be a list"),
        (private("nothing"), "is not one of"),
    ],
)
def test_what_makes_no_sense_is_refused(spec, why):
    with expect_error(why):
        partial_schema_from_json({"columns": {"a": spec}})


STATED = {
    "job": CATEGORIES | {"same": {"nurse": ["RN"], "(other)": ["smith"]}, "missing_codes": ["NA?"]},
    "sex": TYPED,
    "age": WHOLE | {"missing_codes": [99, -9]},
}


def test_what_is_stated_of_texts_is_in_the_file_and_stays_when_the_column_is_measured_again():
    schema = partial_schema_from_json({"columns": STATED})
    written = partial_schema_to_json(schema)["columns"]
    assert written == {name: STATED[name] for name in ("job", "age")}
    again = partial_schema_from_json({"columns": written}).unknown_columns
    assert again == schema.unknown_columns
    assert private_entry(STATED["job"]) == STATED["job"]
    peeked = integer(0, 90, missing_codes=[99], same={"a": ["b"]})
    assert private_entry(peeked) == WHOLE, "of a column that was looked at they may tell of a row"


def test_a_measured_column_reads_each_cell_as_it_was_read_while_it_was_measured():
    frame = table()
    frame.loc[10:900, "job"] = "RN"
    frame.loc[910:1200, "job"] = "NA?"
    frame.loc[10:1200, "age"] = "99"
    found = measured(frame, {"columns": STATED})[0]
    job, _, age = found.domain.columns
    assert job.values == ("clerk", "nurse", OTHER_LABEL)
    assert job.same == (("nurse", ("RN",)), (OTHER_LABEL, ("smith",)))
    assert job.missing == "category"
    codes = job.encode(frame["job"])
    assert (codes[10:901] == 1).all()
    assert (codes[910:1201] == job.nonmissing_size).all()
    assert (age.encode(frame["age"])[10:1201] == age.nonmissing_size).all()
    assert domain_from_json(domain_to_json(found.domain)) == found.domain


def test_public_columns_are_refused_before_the_rest_is_looked_at():
    frame = table()
    frame.loc[5, "sex"] = "d"
    with expect_error("column 'sex'"):
        partial_schema_from_json(FILE).unknown_column_texts(frame)
    with expect_error("no column 'age'"):
        partial_schema_from_json(FILE).unknown_column_texts(table().drop(columns="age"))


PERCENTAGE = r"([\d.]+)%"
COUNTED = r"([\d,]+) (?:of [\d,]+ )?rows"


@parametrize("epsilon", [1e-4, 1e-2, 0.1, 1.0, 10.0])
@parametrize("n", [2, 50, 5_000, 10**7])
@parametrize("delta", [0.0, 1e-9])
def test_no_expected_error_is_more_than_the_rows_there_are(n, epsilon, delta):
    columns = [
        c for c in partial_schema_from_json(FILE).unknown_columns if delta or not c.is_categorical
    ]
    problem = ColumnMeasurement(tuple(columns), n, 3)
    split = SplitBudget(Budget(epsilon, delta), 0.2, first_can_fail=delta > 0)
    plan = plan_measurement(problem, split, exact=False)
    for column in columns:
        words = predicted_error_text(column, problem, plan)
        assert all(float(share) <= 100 for share in re.findall(PERCENTAGE, words)), words
        assert all(int(count.replace(",", "")) <= n for count in re.findall(COUNTED, words)), words
