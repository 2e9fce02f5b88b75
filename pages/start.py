"""Start: one small real table, one release, one slider; and the way in."""

import streamlit as st

from dpcore.privacy.accounting.budget import Budget
from dpcore.privacy.accounting.guarantee import best_guess
from pages._ui.shell import controls
from pages._ui.start import admissions as start

left, right = st.columns([3, 2], gap="large")
with right:
    epsilon = controls.epsilon_slider()
    budget = Budget(epsilon, start.DELTA)
    sentence = st.container()
    with st.container(border=True, key="way-in"):
        st.page_link("pages/data.py", label="**Use my table**", icon=":material/upload:")
    here = {"sample": start.SAMPLE}
    st.page_link("pages/explore.py", label="Explore this sample", icon=":material/query_stats:", query_params=here)
    st.page_link("pages/guarantee.py", label="What does this ε mean?", icon=":material/verified_user:")
with left:
    error = start.draw(budget)
with sentence:
    guess = f"{best_guess(0.5, epsilon, start.DELTA):.0%}"
    st.markdown(
        f"At **ε = {controls.number(epsilon)}**, even somebody who knows every other applicant and sees the orange "
        f"bars guesses right whether a given one was admitted at most **{guess} of the time** (a coin gets 50%). "
        + (f"The bars are off by **{error} points** at most." if error else "")
    )
    st.caption(
        "Small ε: strong promise, wrong bars. Large ε: weak promise, right bars. Where to stop is your decision; "
        "these pages show what each choice costs, for every question you care about."
    )
