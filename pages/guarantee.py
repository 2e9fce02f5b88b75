"""Guarantee: how strongly a release protects one person, in one picture and one number; the rest for experts."""

import streamlit as st

from dpcore import Budget
from pages._ui.components import parameter_widgets, parts, refusals, tried
from pages._ui.guarantee import accountant_costs, all_releases, plan_proof, promise
from pages._ui.guarantee.planned_release import plan
from pages._ui.session import table as current_table

table = current_table()
tried(table)
drawing, right = st.columns(2, gap="medium")
with right:
    with st.container(horizontal=True):
        epsilon, times = parameter_widgets.epsilon_slider(), promise.releases()
    headline = st.container()
    settings = st.expander("For experts", icon=":material/tune:")
    delta = parameter_widgets.delta_slider(settings)
    with refusals():
        budget = Budget(epsilon, delta)
        planned = plan(table, budget, times, settings)
    if table.peeked:
        st.warning("This schema was filled in from the data. What rests on the plan uses real data, too.")
    promised = promise.promised(budget, times, planned)
    with headline:
        promise.verdict(budget, times, planned, promised.guess(), table)
with drawing:
    promise.picture(promised)

parts(
    "expert",
    {
        "Suspicions": lambda: promise.suspicion(budget, times, planned),
        "Mistakes": lambda: promise.mistakes(budget, times, planned),
        "Cost": lambda: planned and accountant_costs.costs(budget, planned),
        "Proof": lambda: planned and plan_proof.proof(planned),
        "All releases": lambda: all_releases.total(table),
    },
)
