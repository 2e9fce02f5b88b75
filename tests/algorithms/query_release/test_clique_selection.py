"""What is measured of a table whose cells cannot be listed: by released answers and public numbers
alone.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Rows
from dpcore.algorithms.marginal_shares import (
    MIN_CATEGORY_SHARE,
    one_way_marginals,
    project_onto_simplex,
    shrink_to_uniform,
)
from dpcore.algorithms.noisy_tables import NoisyTables
from dpcore.algorithms.query_release.shared import clique_selection
from dpcore.algorithms.query_release.shared.clique_selection import (
    BATCH_MEASUREMENT_NAME,
    DRAWN_PAIR_PENALTY,
    HIDDEN_NOISE_PENALTY,
    MAX_TRIM_L1_LOSS,
    PAIR_SELECTION_NAME,
    TreeFindings,
    choose_tree,
    column_pairs_in_tables,
    expected_abs_noise,
    one_way_charge_name,
    one_way_charges,
    tables_inside_cliques,
)
from dpcore.algorithms.query_release.shared.model_choice import model_cell_limit
from dpcore.algorithms.query_release.shared.tree_measurement import (
    MAX_HIDDEN_SHARE,
    tables_worth_measuring,
)
from dpcore.models.graphical_model import GraphicalModel
from dpcore.models.junction_tree import build_junction_tree
from dpcore.privacy.accounting import BoundedRange, Gaussian, Plan, PlannedEvent, Pure, Setting
from dpcore.privacy.measurement import noise_stddev
from dpcore.privacy.noisy_answers import NoisyAnswers
from dpcore.privacy.statistics import ONE_TABLE_SENSITIVITY, Answers
from dpcore.schema.domain import sum_to_axes
from tests.replay import Exact
from tests.small_problems import BUDGET, approx, integer_domain, parametrize

DOMAIN = integer_domain(3, 2, 40, 5)
TABLES = Marginals.all(DOMAIN, 3)
PARTS = ([0.5, 0.3, 0.2], [0.9, 0.1], [1 / 40] * 40, [0.96, 0.01, 0.01, 0.01, 0.01])
SHARES = {a: np.array(part) for a, part in enumerate(PARTS)}


@given(st.lists(st.floats(-1e17, 1e17), min_size=1, max_size=8))
def test_the_nearest_distribution_moves_what_is_left_alike_and_cuts_off_what_is_lower(y):
    y = np.array(y)
    p = project_onto_simplex(y)
    assert (p >= 0).all()
    assert p.sum() == approx(1)
    t = (y - y.max()) - p  # of those left it is the same number, and those cut off were no higher
    assert np.ptp(t[p > 0]) == approx(0, abs=1e-9)
    assert (t[p == 0] <= t[p > 0].max() + 1e-9).all()


def test_noisy_columns_are_drawn_to_even_ones_but_not_cut_off_at_0():
    workload = Marginals.all(integer_domain(3), 1)
    y = np.array([0.7, 0.35, -0.05])
    (near,), (far,) = (
        shrink_to_uniform(NoisyAnswers(workload, y, np.full(3, sigma))) for sigma in (1e-3, 1e3)
    )
    assert near == approx(y, abs=1e-4), "with little noise"
    assert far == approx(np.full(3, 1 / 3), abs=1e-4), "with much"


@parametrize("budget", [BUDGET, Budget(1, 0)], ids=["zCDP", "pure"])
def test_single_columns_share_what_is_theirs_with_the_least_noise(budget):
    charges = one_way_charges(TABLES, budget, 0.3)
    sizes = [2, 3, 5, 40]
    assert [(charge.times, charge.name) for charge in charges] == [
        (1, one_way_charge_name(size)) for size in sizes
    ]
    cost = [c.spend.epsilon if isinstance(c.spend, Pure) else c.spend.rho for c in charges]
    whole = budget.epsilon if budget.delta == 0 else budget.rho
    assert sum(cost) == approx(0.3 * whole)
    assert sum(cost) <= 0.3 * whole
    noise = [
        size * noise_stddev(ONE_TABLE_SENSITIVITY, c.spend, 100)
        for size, c in zip(sizes, charges, strict=True)
    ]
    # Least in sum: more for any of them gains as much, and noise falls with a power of its cost.
    assert np.divide(noise, cost) == approx([noise[0] / cost[0]] * 4)
    twins = Marginals.all(integer_domain(4, 2, 4, 4), 2)
    assert [c.times for c in one_way_charges(twins, budget, 0.3)] == [1, 3], (
        "columns of one size share a charge"
    )


@parametrize("spend", [Gaussian(0.3), Pure(0.3)])
def test_noise_is_foretold_as_it_is_drawn(spend):
    """E|N(0, σ²)| = σ√(2/π), and of Laplace noise its scale, which is σ/√2."""
    sigma = noise_stddev(Answers(TABLES), spend, 500)
    share = math.sqrt(2 / math.pi) if isinstance(spend, Gaussian) else 1 / math.sqrt(2)
    assert expected_abs_noise(spend, len(TABLES.tables), 500) == approx(share * sigma)


def found(junction, pairs=()):
    return TreeFindings(NoisyTables(TABLES.domain), SHARES, junction, frozenset(pairs))


def test_pairs_that_were_drawn_are_measured_and_others_where_noise_hides_little():
    junction = build_junction_tree(DOMAIN.shape, [(0, 1, 2), (3,)])
    at = found(junction, [(0, 2)])
    tables = tables_inside_cliques(TABLES, junction)
    assert tables_worth_measuring(tables, at, Gaussian(1.0), 1e9).axes == (
        (3,),
        (0, 1),
        (0, 2),
        (1, 2),
        (0, 1, 2),
    )
    assert tables_worth_measuring(tables, at, Gaussian(1.0), 1e-9).axes == ((0, 2),), (
        "nothing but noise"
    )
    kept = tables_worth_measuring(tables, at, Gaussian(1.0), 1500)
    assert kept.axes == ((3,), (0, 1), (0, 2)), (
        "six cells, five; 80 and 240 are too many, unless they were drawn"
    )
    noise = expected_abs_noise(Gaussian(1.0), 3, 1500)
    assert (
        max(at.hidden_share(axes, noise) for axes in ((3,), (0, 1)))
        <= MAX_HIDDEN_SHARE
        < at.hidden_share((1, 2), noise)
    )
    assert len(tables_worth_measuring(tables, found(junction), Gaussian(1.0), 1e-9).axes) == 1, (
        "something is always measured"
    )


def drawing(pairs, hides, cells, *charges):
    """A plan that draws so many pairs."""
    choices = {"pairs": pairs, "hides": hides, "cells": cells}
    draw = PlannedEvent("select", BoundedRange(0.1), pairs, name=PAIR_SELECTION_NAME)
    return Plan(
        Budget(10_000, 1e-6), (*charges, draw), tuple(Setting(*one, "") for one in choices.items())
    )


def test_pairs_are_drawn_by_what_noise_does_not_hide_of_them_each_once():
    asked, singles, pairs = [], one_way_marginals(TABLES), column_pairs_in_tables(TABLES)

    class Script:
        """Answers without noise, and draws the pair of which noise hides least, as if all were
        independent.
        """

        def measure(self, statistic, spend):
            a = singles.tables.index(statistic.part)
            assert spend.mu == approx(len(SHARES[a]))
            return SimpleNamespace(values=SHARES[a], stddev=1e-9)

        def select(self, statistic, spend):
            assert spend == BoundedRange(0.1)
            asked.append(statistic)
            return int(np.argmin(statistic.penalties))

    alone = (
        PlannedEvent("measure", Gaussian(float(size)), name=one_way_charge_name(size))
        for size in (2, 3, 5, 40)
    )
    chosen = choose_tree(TABLES, 500, drawing(6, 0.02, 100, *alone), Script())
    noisy_answers = chosen.noisy_tables.arrays()
    for a, part in SHARES.items():
        assert chosen.shares[a] == approx(part, abs=MIN_CATEGORY_SHARE)
        table = noisy_answers.workload.slices[a,]
        assert noisy_answers.values[table] == approx(part, abs=1e-8)
    (first, *_, last) = asked
    assert len(asked) == 6
    hidden = np.array([chosen.hidden_share(axes, 0.02) for axes in pairs.axes])
    roomy = np.array([math.prod(DOMAIN.shape[a] for a in axes) for axes in pairs.axes]) < 100
    assert first.penalties == approx(
        np.where(roomy, HIDDEN_NOISE_PENALTY * hidden, DRAWN_PAIR_PENALTY)
    ), "none is drawn without room"
    assert (last.penalties == DRAWN_PAIR_PENALTY).sum() > (
        first.penalties == DRAWN_PAIR_PENALTY
    ).sum(), "none is drawn twice"
    assert 2 + HIDDEN_NOISE_PENALTY < DRAWN_PAIR_PENALTY, "as a score is within −0.5..2"
    assert chosen.junction.cells <= 100
    assert chosen.drawn_pairs == {
        axes for axes in pairs.axes if chosen.junction.clique_containing(axes) is not None
    }
    assert 1 < len(chosen.drawn_pairs) < 6


def test_what_measured_pairs_already_say_is_not_drawn_again(monkeypatch):
    """Columns 0, 1 and 2 are equal, and 3 tells little of 4: two of the first three pairs say all
    of the third.
    """
    tables = Marginals.all(integer_domain(3, 3, 3, 3, 3), 2)
    weak = np.where(np.eye(3), 26_000, 12_000).ravel()
    values = [(x, x, x, *own) for x in range(3) for own in itertools.product(range(3), repeat=2)]
    curator = Exact(QueryRelease(tables, 3 * weak.sum()), Rows(np.array(values), np.tile(weak, 3)))
    single_charge = PlannedEvent("measure", Gaussian(1.0), 5, name=one_way_charge_name(3))

    def ties(batches):
        batch = PlannedEvent("measure", Gaussian(1.0), batches, name=BATCH_MEASUREMENT_NAME)
        chosen = choose_tree(tables, 500, drawing(3, 1e-4, 100_000, single_charge, batch), curator)
        assert all(
            chosen.junction.clique_containing(axes) is not None for axes in chosen.noisy_tables
        )
        return chosen.drawn_pairs

    assert ties(1) == {(0, 1), (0, 2), (1, 2)}, "against independence all three are the farthest"
    curator.asked.clear()
    assert (3, 4) in ties(3)
    measured = [asked.workload.axes for verb, asked, _ in curator.asked if verb == "measure"]
    batches = [axes for axes in measured if len(axes[0]) == 2]
    assert [len(axes) for axes in batches] == [1, 1, 1], (
        "each batch is measured, and what it tied alone"
    )
    assert len(set(batches)) == 3
    monkeypatch.setattr(
        GraphicalModel, "without_weak_pairs", lambda D, _: build_junction_tree(D.junction.shape, [])
    )
    assert len(ties(2)) == 2, "what was cut after a batch is held no more"
    monkeypatch.setattr(clique_selection, "MAX_TRIM_NOISE", 1e-5)
    assert len(ties(2)) == 3, "nothing is cut where noise is large"


def test_a_pair_is_cut_where_it_loses_less_than_its_cells_are_worth():
    """Columns 0 and 2 are mostly what 1 is, but in a share t of the rows 2 is the sum of both; 3 is
    what 1 is.
    """
    lean = 0.1 + 0.6 * np.eye(3, 4)

    def model(t, *tables, zeros=()):
        moved = np.eye(4)[np.add.outer(range(3), range(4)) % 4]
        law = np.einsum("ba,bac,bd->abcd", lean / 3, (1 - t) * lean[:, None] + t * moved, np.eye(3))
        tree = build_junction_tree(law.shape, tables)
        beliefs = tree.vector_of(sum_to_axes(law, range(4), clique) for clique in tree.cliques)
        return GraphicalModel(SimpleNamespace(allowed_tables=zeros), tree, beliefs)

    for t in np.linspace(0, 0.5, 26):
        D = model(t, (0, 1, 2), (2, 3))
        cut = model(t, (0, 1), (1, 2), (2, 3))
        # 24 of 60 cells go.
        lost = np.abs(cut.table((0, 2)) - D.table((0, 2))).sum()
        assert (
            D.without_weak_pairs(MAX_TRIM_L1_LOSS)
            == (cut if lost < MAX_TRIM_L1_LOSS * 24 / 60 else D).junction
        )
    assert lost > 0.2
    for kept in (model(0, (0, 1, 2), (2, 3), zeros=[(0, 2)]), model(0, (0, 1, 2), (0, 2, 3))):
        assert kept.without_weak_pairs(MAX_TRIM_L1_LOSS) == kept.junction, (
            "(0, 2) holds a constraint, or 3 as well"
        )


@parametrize("name", ["gaussian_maxent", "aim", "mwem"])
def test_leaving_out_a_column_gives_no_model_more_cells_than_the_largest_tree(name):
    """Of 7 columns of the 8 all 9 million combinations were listed, for 156,000 cells of a tree."""
    shape = (6, 9, 8, 60, 11, 11, 3, 120)
    limit = model_cell_limit(None, is_stepwise=name != "gaussian_maxent")
    for columns in range(8, 2, -1):
        problem = QueryRelease(Marginals.all(integer_domain(*shape[:columns]), 2), 5000)
        plan = ALGORITHMS[name]().plan(problem, Budget(1.0, 1e-6))
        assert plan["cells"] <= limit
        is_listed = plan["cells"] == problem.domain.size
        assert is_listed == (problem.domain.size <= limit)
    assert plan["cells"] == 6 * 9 * 8, "a few are listed"
