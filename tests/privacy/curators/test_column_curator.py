"""The verbs for raw cells: sensitivities and laws by enumeration of neighbouring columns, charges,
refusals.
"""

import itertools
import math

import numpy as np
import pandas as pd
from scipy import stats

from dpcore import Budget
from dpcore.privacy import exact_samplers
from dpcore.privacy.accounting import Approximate, BoundedRange, Gaussian, Plan, Pure, zcdp_epsilon
from dpcore.privacy.curators.column_curator import ColumnCurator, threshold_parameters
from dpcore.privacy.statistics.column_statistics import (
    KindCounts,
    Magnitudes,
    TreeCounts,
    dyadic_edges,
)
from dpcore.schema.column import OTHER_LABEL
from dpcore.schema.column_texts import ColumnTexts
from tests.privacy.enumerated_neighbours import largest_move, plan_of
from tests.small_problems import (
    approx,
    expect_budget_error,
    expect_error,
    hockey_stick,
    parametrize,
    parametrize_false_true,
    seeded,
)

SAYINGS = ["a", "2", "-1.5", None, "2026-11-22", "1e40"]
STATISTICS = {
    "kinds": KindCounts(),
    "magnitudes": Magnitudes(),
    "whole magnitudes": Magnitudes(whole_only=True),
    "tree": TreeCounts(np.arange(-3.0, 9.0)),
    "deep tree": TreeCounts(np.linspace(-3.0, 3.0, 70), whole_only=True),
}


NOISE = {True: stats.laplace, False: stats.norm}


STATED = {"same": (("a", ("2", "b")),), "missing_codes": (-1.5, "z")}


def column(cells, **statements):
    return ColumnTexts.from_series(pd.Series(cells, dtype=object), **statements)


def curator(cells, spend, *, group=1, times=1, whole=False, rng=0, **statements):
    failure = getattr(spend, "failure", 0.0) * times
    delta = 0.0 if isinstance(spend, Pure) and not failure else min(0.4 + failure, 0.5)
    plan = plan_of(Budget(1e6, delta), (spend, times), exact=whole)
    cells = [column(cells, **statements)]
    return ColumnCurator(cells, cells[0].n, plan, seeded(rng), group=group)


def differ(x, y):
    """How many rows must be replaced to turn one column into the other."""
    return len(x) - sum(min(x.count(v), y.count(v)) for v in set(x))


@parametrize("stated", [{}, {"missing_codes": ("a", -1.5)}])
@parametrize_false_true("whole")
@parametrize("group", [1, 2])
@parametrize("name", STATISTICS)
def test_noise_is_that_of_the_largest_change_between_neighbours_and_no_more(
    asked, name, group, whole, stated
):
    for spend, order in ((Gaussian(0.7), 2), (Pure(0.7), 1)):
        seen = []
        for text in SAYINGS:  # in the place of so many rows
            cells = ["a"] * (3 - group) + [text] * group
            held = curator(cells, spend, group=group, whole=whole, **stated)
            found = held.count(0, STATISTICS[name], spend)
            seen.append(asked.pop())
        largest, scale = largest_move(seen, order)
        assert found.stddev == approx(NOISE[order == 1].std(scale=scale)), "and it is said"
        assert scale * 0.7 == approx(largest, rel=1e-12)
        assert all((counts == np.rint(counts)).all() for counts, _ in seen)


def law(counts, texts, scale, laplace, threshold, reach):
    """The law of what leaves: for every text its noisy count from the threshold on, in bins of 1, 0
    for nothing.
    """
    out = np.ones(1)  # the count of missing cells is 0 on both sides, with noise on it
    for text in texts:
        count = counts.get(text, 0)
        own = np.zeros(reach + 1)
        if count > int(scale // 4):
            own[1:] = -np.diff(
                NOISE[laplace].sf(threshold + np.arange(reach) - count, scale=scale), append=0
            )
        own[0] = 1 - own.sum()
        out = np.outer(out, own).ravel()
    return out


@parametrize(
    "spend",
    [Approximate(1.0, 0.05), Approximate(3.0, 0.4), Gaussian(1.2, 0.05), Gaussian(0.6, 0.3)],
)
@parametrize("group", [1, 2])
def test_values_above_a_threshold_keep_their_promise_on_all_neighbours(asked, spend, group):
    laplace = isinstance(spend, Approximate)
    n = 4
    sets = [list(c) for c in itertools.combinations_with_replacement("abc", n)]
    found = curator(["a", "a", "a", "b"], spend, group=group, whole=True).frequent(0, spend)
    (counts, scale), threshold = asked.pop(), found.threshold
    assert counts.tolist() == [*(count for count in (3, 1) if count > scale // 4), 0], (
        "others get no noise"
    )
    assert scale == approx(
        (2 if laplace else math.sqrt(2)) * group / (spend.epsilon if laplace else spend.mu)
    )
    reach = math.ceil((15 if laplace else 7) * scale)
    pairs = [(x, y) for x, y in itertools.permutations(sets, 2) if differ(x, y) <= group]
    worst = short = 0.0
    for x, y in pairs:
        laws = [
            law({t: s.count(t) for t in s}, "ab", scale, laplace, threshold, reach) for s in (x, y)
        ]
        loose = [
            law({t: s.count(t) for t in s}, "ab", scale, laplace, threshold - group - 1, reach)
            for s in (x, y)
        ]
        if laplace:
            worst = max(worst, hockey_stick(*laws, spend.epsilon) - spend.failure)
            short = max(short, hockey_stick(*loose, spend.epsilon) - spend.failure)
        else:
            for delta in (0.01, 0.1):
                worst = max(
                    worst,
                    hockey_stick(*laws, zcdp_epsilon(spend.rho, delta)) - spend.failure - delta,
                )
    assert worst <= 1e-9
    if spend == Approximate(1.0, 0.05):
        assert short > 0, "a threshold that forgets the neighbours' counts would be caught"


@parametrize("group", [1, 2])
def test_a_cell_becomes_its_public_value_before_it_is_counted_and_nobody_elses_does(asked, group):
    """Of every two neighbours: what gets noise moves by its sensitivity at the most, as the law in
    `frequent` has it, however many texts are one value.
    """
    spend = Gaussian(8.0, 0.4)
    moves = []
    texts = ["a", "2", "b", "c", "z", "-1.5", None]
    counts_of = {}
    for cells in itertools.combinations_with_replacement(texts, 4):
        curator(list(cells), spend, group=group, **STATED).frequent(0, spend)
        (counts, scale) = asked.pop()
        expected = {"a": 0, "c": 0, None: 0}
        for text in cells:
            expected[{"2": "a", "b": "a", "z": None, "-1.5": None}.get(text, text)] += 1
        values = [expected[text] for text in "ac" if expected[text] > int(scale // 4)]
        assert counts.tolist() == [*values, expected[None]]
        counts_of[cells] = np.array([expected["a"], expected["c"], expected[None]])
    assert scale * spend.mu == approx(math.sqrt(2) * group)
    for x, y in itertools.permutations(counts_of, 2):
        if differ([*map(str, x)], [*map(str, y)]) <= group:
            moves.append(np.linalg.norm(counts_of[x] - counts_of[y]))
    assert max(moves) == approx(math.sqrt(2) * group), "the sensitivity, and no more"


@parametrize_false_true("laplace")
@parametrize("scale", [0.3, 1.0, 2.7, 40.0])
@parametrize("failure", [0.4, 0.01, 1e-9])
def test_a_value_that_a_neighbour_lacks_passes_as_rarely_as_was_paid_for(scale, failure, laplace):
    """Also with the largest scale that `exact` may draw with, and where it rounds up by half a
    step.
    """
    for group in (1, 3):
        spend = (
            Approximate(2 * group / scale, failure)
            if laplace
            else Gaussian(math.sqrt(2) * group / scale, failure)
        )
        _, low, threshold = threshold_parameters(spend, group)
        step = scale / exact_samplers.MIN_STEPS_PER_SCALE
        passes = NOISE[laplace].sf(threshold - low - group - step / 2, scale=scale + step)
        assert passes <= failure / group * (1 + 1e-12)
        assert passes > failure / group * (1 - 1e-4), "and hardly any counts are lost to it"


def test_what_leaves_is_sorted_by_text_and_hostile_texts_stay_inside():
    hostile = [
        "=1+1",
        "<b>x</b>",
        "z" * 201,
        "\ud800",
        OTHER_LABEL,
        "(missing)",
        "NA",
        "",
        " a ",
        "a",
        "zu",
        "$x$",
    ]
    cells = [text for text in hostile for _ in range(60)]
    for seed in range(3):
        spend = Gaussian(2.0, 1e-9)
        found = curator(cells[:: 1 - 2 * (seed % 2)], spend, rng=seed).frequent(0, spend)
        assert found.texts == ("$x$", "<b>x</b>", "=1+1", "a", "zu")
        assert (found.counts >= found.threshold).all()
        assert found.missing == approx(120, abs=10)
        assert found.counts[3] == approx(120, abs=10)


def test_rare_values_stay_inside_and_what_stands_alone_is_never_seen():
    spend = Gaussian(1.0, 1e-10)
    for seed in range(200):
        assert (
            curator(["a"] * 3 + [f"b{i}" for i in range(50)], spend, rng=seed)
            .frequent(0, spend)
            .texts
            == ()
        )


def test_without_delta_categories_are_refused_and_say_what_to_do():
    for spend in (Gaussian(1.0), Approximate(1.0)):
        with expect_error(r"delta=0: .* list its values, or choose delta > 0"):
            curator(["a"] * 9, spend).frequent(0, spend)


class Watched(ColumnTexts):
    """Cells that tell when they are touched."""

    @property
    def kind_counts(self):
        raise RuntimeError("touched")


def test_it_charges_first_and_touches_after():
    spend = Gaussian(0.5)
    plan = plan_of(Budget(9, 0.1), (spend,))
    held = ColumnCurator([Watched(("a",), np.array([2]), 0)], 2, plan, seeded(0))
    with expect_error("touched", RuntimeError):
        held.count(0, KindCounts(), spend)
    assert held.budget_meter.events == [("count", spend)]
    with expect_budget_error("left"):
        held.count(0, KindCounts(), Gaussian(4.0))


class Cheap(KindCounts):
    """A statistic that lies about its sensitivity."""

    l2 = 1e-9


def test_only_known_questions_are_answered_for_what_pays():
    held = curator(["a", "b"], Gaussian(0.5, 0.01), times=9)
    with expect_budget_error("Cheap is not a statistic"):
        held.count(0, Cheap(), Gaussian(0.5))
    for spend in (BoundedRange(1.0), Approximate(1.0, 0.1)):
        with expect_budget_error("does not pay for this"):
            held.count(0, KindCounts(), spend)
    with expect_budget_error("does not pay for this"):
        held.frequent(0, Pure(1.0))
    with expect_error(r"column=3 is outside 0\.\.0"):
        held.count(3, KindCounts(), Gaussian(0.5))
    with expect_error("increasing"):
        held.count(0, TreeCounts(np.array([1.0, 1.0])), Gaussian(0.5))
    with expect_error("group=3"):
        curator(["a", "b"], Gaussian(0.5), group=3)
    with expect_error("not the 3 rows"):
        ColumnCurator([column(["a"])], 3, Plan(Budget(9, 0.1), ()), seeded(0))
    assert held.budget_meter.events == []


def test_a_lie_about_sensitivity_put_on_the_instance_is_not_believed(asked):
    tree = TreeCounts(np.arange(9.0))
    vars(tree)["l2"] = vars(tree)["levels"] = 1e-9
    curator(["1", "2"], Gaussian(1.0)).count(0, tree, Gaussian(1.0))
    assert asked.pop()[1] == approx(2.0), "√(2 · 2 levels)"


@parametrize("size", [5, 8, 9, 300])
def test_a_fitted_tree_is_the_least_squares_solution(size):
    tree = TreeCounts(np.arange(size + 0.0))
    rng = seeded(size)
    cells = column([str(v) for v in rng.integers(0, size, 400)])
    noisy = tree.counts(cells) + rng.normal(0, 3, len(tree.counts(cells)))
    rows = [
        np.kron(np.eye(8**level), np.ones(8 ** (tree.levels - level)))
        for level in range(1, tree.levels + 1)
    ]
    A = np.concatenate([np.ones((1, 8**tree.levels)) * 1e6, *rows])
    expected = np.linalg.lstsq(A, np.concatenate([[400e6], noisy]), rcond=None)[0]
    assert tree.fit_leaves(noisy, 400) == approx(expected[:size], abs=1e-3)


def test_the_grid_of_powers_has_a_cell_for_every_number():
    edges = dyadic_edges()
    assert (np.diff(edges) > 0).all()
    cells = column(["0", "1e-30", "-1e-30", "1e300", "-7", "8", "x", None])
    counts = Magnitudes().counts(cells)
    middle = len(edges) // 2 - 1
    assert counts[middle] == 3
    assert counts[-2:].tolist() == [1, 2]
    place = int(np.flatnonzero(counts[:middle])[0])
    assert (edges[place], edges[place + 1]) == (-8.0, -4.0)
