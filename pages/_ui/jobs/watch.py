"""Watch a job: wait for a short one; for a longer one show progress, the curve so far, and Cancel."""

import pandas as pd
import streamlit as st

from dpcore.experiments.pool import Job
from dpcore.tags import Tag

from ..charts import base as charts
from ..server import turns
from ..shell.frame import heading
from ..shell.state import look, stakeholder, table

PATIENCE = 0.9  # seconds a page waits for a short run before it shows progress instead
POLL = 0.5  # seconds between two looks at a long one


def watch(job: Job) -> bool:
    """Wait a moment for a short job; for a longer one draw progress and Cancel. True when the job has ended."""
    with turns.aside():
        job.wait(PATIENCE)
    if not job.ended:
        _progress(job)
    return job.ended


@st.fragment(run_every=POLL)
def _progress(job: Job) -> None:
    if job.ended:
        st.rerun()
    records = job.records
    text = f"Run {min(len(job.results) + 1, len(job.task.seeds))} of {len(job.task.seeds)}"
    if job.state == "queued":
        text = "Waiting for a free worker…"
    elif records:
        name, value = records[-1].empirical.headline
        text += f" · round {records[-1].t:,} of at most {job.rounds:,}"
        text += "" if stakeholder() else f" · {name} {value:.3g}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.progress, text)
        if st.button("Cancel", icon=":material/stop_circle:", key=f"cancel-{job.id}"):
            job.cancel()
    if records and not stakeholder():
        look(table())
        heading("Does it settle?", Tag.PEEK)
        frame = pd.DataFrame([{"seed": 0, **record.to_json()} for record in records])
        curve = charts.convergence(frame, "t", "round")
        st.plotly_chart(curve, key=f"live-{job.id}", alt="Errors so far", config={"displayModeBar": False})
