"""Guarantee: how strongly a release protects one person, in one picture and one number; the rest for experts."""

import streamlit as st

from dpcore.errors import InputError
from dpcore.privacy.accounting.budget import Budget
from pages._ui.guarantee import costs, promise, proof, total
from pages._ui.guarantee.planned import plan
from pages._ui.shell import controls
from pages._ui.shell.frame import tried
from pages._ui.shell.state import table as current_table
from pages._ui.shell.text import plain

TABS = ("Beliefs", "Mistakes", "Accountants", "Proof", "All releases")

table = current_table()
tried(table)
left, right = st.columns([5, 4], gap="large")
with right:
    headline = st.container()
    epsilon, times = controls.epsilon_slider(), promise.releases()
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
        promise.verdict(budget, times, planned, guess)
    promise.limits(table)
with left:
    promise.picture(guess)

beliefs, mistakes, accountants, proofs, releases = st.tabs(TABS, key="expert", on_change="rerun", bind="query-params")
with beliefs:
    if beliefs.open:
        promise.suspicion(budget, times, planned)
with mistakes:
    if mistakes.open:
        promise.mistakes(budget, times, planned)
with accountants:
    if accountants.open and planned is not None:
        costs.costs(budget, planned)
with proofs:
    if proofs.open and planned is not None:
        proof.proof(planned)
with releases:
    if releases.open:
        total.total(table)
