"""Show why the plan keeps its promise: statistic, sensitivity, charge and total of each step."""

import streamlit as st

from dpcore.core.numbers import format_short_number
from dpcore.release.evidence.proof import proof_page, step_lines, total_sentence

from ..session import escape_markdown
from .planned_release import PlannedRelease


def draw_proof(planned: PlannedRelease) -> None:
    """List every step of the proof with its derivation, and offer the page to print."""
    privacy_proof = planned.proof
    st.markdown(
        "Each step says how much one person changes an answer, which noise hides that, and what "
        "it uses."
    )
    st.markdown(f"**{escape_markdown(total_sentence(privacy_proof), 400)}**")
    for number, step in enumerate(privacy_proof.steps, start=1):
        lines = step_lines(step)
        step_texts = dict(lines)
        title = (
            f"{number}. {step.statistic}: {step_texts['Sensitivity']} → "
            f"{step_texts['Use of the budget']} → "
            f"{step_texts['Cost']}"
        )
        with st.expander(escape_markdown(title, 300)):
            for name, text in lines:
                st.caption(name)
                st.text(text)
    with st.expander(
        escape_markdown(
            f"Total: {privacy_proof.total} → ε = {privacy_proof.epsilon:.6g} at δ = "
            f"{format_short_number(privacy_proof.promise[1])}",
            300,
        )
    ):
        st.text(privacy_proof.theorem)
    name = f"proof-{privacy_proof.algorithm}.html"
    st.download_button(
        "Proof, to print (HTML)",
        proof_page(privacy_proof),
        name,
        "text/html",
        on_click="ignore",
        key="proof-html",
        icon=":material/print:",
    )
