"""Guarantee: what ε and δ promise, in odds and pictures, and what a plan costs by each accountant."""

import streamlit as st

from dpcore.errors import InputError
from dpcore.privacy.accounting.budget import Budget
from pages._ui.guarantee import costs, proof
from pages._ui.guarantee import promise as guarantee
from pages._ui.guarantee import total as guarantee_total
from pages._ui.guarantee.planned import plan
from pages._ui.shell import controls
from pages._ui.shell.frame import tried
from pages._ui.shell.state import table as current_table
from pages._ui.shell.text import plain
from pages._ui.shell.words import meaning

table = current_table()
tried(table)

with st.container(border=True, key="settings"):
    left, middle, right = st.columns(3)
    with left:
        epsilon, delta = controls.epsilon_slider(), controls.delta_slider()
    with middle:
        prior, times = guarantee.attacker()
    try:
        budget = Budget(epsilon, delta)
        planned = plan(table, budget, times, right)
    except InputError as error:
        st.error(plain(error, 400))
        st.stop()
if table.peeked:
    st.warning(
        "This schema comes from the records without a charge: guessed, read off or found in a trial. What rests on the "
        "plan is not public, then: those parts say so."
    )
st.caption(f"Protected: {plain(table.unit.words, 200)}. Neighbouring tables differ in that, and in nothing else.",
           help=meaning("neighbours"))  # fmt: skip

guarantee.words(budget, planned)
guarantee.suspicion(budget, prior, times, planned)
if planned is not None:
    costs.costs(budget, planned)
    proof.proof(planned)
guarantee.mistakes(budget, times, planned)
guarantee_total.total(table, prior)
