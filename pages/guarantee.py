"""Guarantee: how strongly a release protects one person, in one picture and one number; the rest for experts."""

import streamlit as st

from dpcore import Budget, InputError
from pages._ui.guarantee import costs, promise, proof, total
from pages._ui.guarantee.planned import plan
from pages._ui.shell import controls, plain, tried
from pages._ui.shell import table as current_table

table = current_table()
tried(table)
drawing, right = st.columns([5, 4], gap="medium")
with right:
    with st.container(horizontal=True):
        epsilon, times = controls.epsilon_slider(), promise.releases()
    headline = st.container()
    settings = st.expander("For experts", icon=":material/tune:")
    delta = controls.delta_slider(settings)
    try:
        budget = Budget(epsilon, delta)
        planned = plan(table, budget, times, settings)
    except InputError as error:
        st.error(plain(error, 400))
        st.stop()
    if table.peeked:
        st.warning("This schema was filled in from the data. What rests on the plan uses real data, too.")
    guess = promise.promised(budget, times, planned).guess()
    with headline:
        promise.verdict(budget, times, planned, guess, table)
with drawing:
    promise.picture(guess)

parts = {
    "Suspicions": lambda: promise.suspicion(budget, times, planned),
    "Mistakes": lambda: promise.mistakes(budget, times, planned),
    "Cost": lambda: planned and costs.costs(budget, planned),
    "Proof": lambda: planned and proof.proof(planned),
    "All releases": lambda: total.total(table),
}
tabs = st.tabs([*parts], key="expert", on_change="rerun", bind="query-params")
for tab, draw in zip(tabs, parts.values(), strict=True):
    with tab:
        if tab.open:
            draw()
