"""What Explore says of a private table in the stakeholder view: what its plan foretells, from public numbers alone."""

import streamlit as st

from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile
from dpcore.accuracy.usefulness import foreseen, foreseen_sizes, uses
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.numbers import noun
from dpcore.core.provenance import Tag
from dpcore.privacy.accounting import cautions
from dpcore.release import tiles as tiled

from ..components import heading, result_panels, show_tiles
from ..session import plain, say_left_out
from ..session.stakeholder_wall import LIMITED, PublicTable
from .run_settings import Chosen

UNKNOWN = ("Error", "known after the release", "the noise of this algorithm follows the table")


def draw(table: PublicTable, chosen: Chosen) -> None:
    """Draw the tiles of a plan that was not run, what it settles on, and what it would use."""
    problem, algorithm = chosen.problem, chosen.algorithm
    for caution in cautions(chosen.budget, problem.n):
        st.warning(plain(caution, 300))
    plan = make_plan(algorithm, problem, chosen.budget)
    predicted_noise = foreseen(problem, plan)
    tiles = tiled.foretold(foreseen_sizes(predicted_noise, problem.workload), None, problem.n, noun(problem.group)) or [
        UNKNOWN
    ]
    guess_rate = Promise.of_plan(plan, adaptive=algorithm.adaptive).guess()
    with st.container(key="verdict"):
        show_tiles([*tiles, guess_tile(guess_rate)], uses(predicted_noise, problem.n).sentence)
    if table.unit.person is not None:
        st.caption(LIMITED.format(size=table.n))
    say_left_out()
    heading("What was chosen, and what it would use", Tag.PUBLIC)
    result_panels.plan([(c.name, c.value, c.why) for c in plan.choices], [charge.to_json() for charge in plan.charges])
