"""Show why the plan keeps its promise: statistic, sensitivity, charge and total of each step."""

import streamlit as st

from dpcore.core.numbers import brief
from dpcore.release.evidence.proof import proof_page, sentence, step_lines

from ..session import plain
from .planned_release import Planned


def proof(planned: Planned) -> None:
    """List every step of the proof with its derivation, and offer the page to print."""
    found = planned.proof
    st.markdown("Each step says how much one person changes an answer, which noise hides that, and what it uses.")
    st.markdown(f"**{plain(sentence(found), 400)}**")
    for number, step in enumerate(found.steps, start=1):
        lines = step_lines(step)
        short = dict(lines)
        title = f"{number}. {step.statistic}: {short['Sensitivity']} → {short['Use of the budget']} → {short['Cost']}"
        with st.expander(plain(title, 300)):
            for name, words in lines:
                st.caption(name)
                st.text(words)
    with st.expander(plain(f"Total: {found.total} → ε = {found.epsilon:.6g} at δ = {brief(found.promise[1])}", 300)):
        st.text(found.theorem)
    name = f"proof-{found.algorithm}.html"
    st.download_button(
        "Proof, to print (HTML)", proof_page(found), name, "text/html", on_click="ignore", key="proof-html",
        icon=":material/print:",
    )  # fmt: skip
