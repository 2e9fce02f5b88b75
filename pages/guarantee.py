"""Guarantee page: how strongly a release protects one person, as a picture and a number.

More is there for experts.
"""

import streamlit as st

from dpcore import Budget
from pages._ui.components import draw_tabs, draw_trial_note, parameter_widgets, show_refusals
from pages._ui.guarantee import accountant_costs, all_releases, plan_proof, promise
from pages._ui.guarantee.planned_release import plan_release
from pages._ui.session import visible_table

table = visible_table()
draw_trial_note(table)
picture_column, settings_column = st.columns(2, gap="medium")
with settings_column:
    with st.container(horizontal=True):
        epsilon = parameter_widgets.epsilon_slider()
        release_count = promise.choose_release_count()
    headline_slot = st.container()
    experts_expander = st.expander("For experts", icon=":material/tune:")
    delta = parameter_widgets.delta_slider(experts_expander)
    with show_refusals():
        budget = Budget(epsilon, delta)
        release_plan = plan_release(table, budget, release_count, experts_expander)
    if table.schema_uses_real_data:
        st.warning(
            "This schema was filled in from the data. What rests on the plan uses real data, too."
        )
    total_promise = promise.promise_of_releases(budget, release_count, release_plan)
    with headline_slot:
        promise.draw_verdict(
            budget, release_count, release_plan, total_promise.max_guess_probability(), table
        )
with picture_column:
    promise.draw_picture(total_promise)

draw_tabs(
    "expert",
    {
        "Suspicions": lambda: promise.draw_suspicion(budget, release_count, release_plan),
        "Mistakes": lambda: promise.draw_mistakes(budget, release_count, release_plan),
        "Cost": lambda: release_plan and accountant_costs.draw_costs(budget, release_plan),
        "Proof": lambda: release_plan and plan_proof.draw_proof(release_plan),
        "All releases": lambda: all_releases.draw_total(table),
    },
)
