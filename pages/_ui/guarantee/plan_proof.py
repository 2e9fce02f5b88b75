"""Show why the plan keeps its promise: statistic, sensitivity, charge and total of each step."""

import streamlit as st

from dpcore.core.numbers import brief
from dpcore.release.evidence.proof import proof_page, sentence, step_lines

from ..session import plain
from .planned_release import Planned


def proof(planned: Planned) -> None:
    """List every step of the proof with its derivation, and offer the page to print."""
    privacy_proof = planned.proof
    st.markdown("Each step says how much one person changes an answer, which noise hides that, and what it uses.")
    st.markdown(f"**{plain(sentence(privacy_proof), 400)}**")
    for number, step in enumerate(privacy_proof.steps, start=1):
        lines = step_lines(step)
        step_texts = dict(lines)
        title = (
            f"{number}. {step.statistic}: {step_texts['Sensitivity']} → {step_texts['Use of the budget']} → "
            f"{step_texts['Cost']}"
        )
        with st.expander(plain(title, 300)):
            for name, text in lines:
                st.caption(name)
                st.text(text)
    with st.expander(
        plain(
            f"Total: {privacy_proof.total} → ε = {privacy_proof.epsilon:.6g} at δ = {brief(privacy_proof.promise[1])}",
            300,
        )
    ):
        st.text(privacy_proof.theorem)
    name = f"proof-{privacy_proof.algorithm}.html"
    st.download_button(
        "Proof, to print (HTML)", proof_page(privacy_proof), name, "text/html", on_click="ignore", key="proof-html",
        icon=":material/print:",
    )  # fmt: skip
