"""Learning: a median, a line or a prediction under privacy; the choices beside the picture, the theory for experts."""

import streamlit as st

from pages._ui.components import in_memory, refusals, tried, unfinished
from pages._ui.learning import quantile, quantile_privacy, sampler_plane, table_learning
from pages._ui.learning.quantile import PARTS
from pages._ui.session import WHOLE
from pages._ui.session import table as current_table

SHOWN = dict(
    zip(PARTS, (quantile.line, sampler_plane.plane, table_learning.whole, quantile_privacy.guarantee), strict=True)
)

table = current_table()
tried(table, WHOLE)
if unfinished(table, "learn here"):
    st.stop()
with refusals():
    part = st.segmented_control(
        "What to learn", PARTS, default=PARTS[0], required=True, key="part", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    part = part or PARTS[0]  # an empty address asks for nothing, though it is required
    if SHOWN[part] is not quantile_privacy.guarantee and not in_memory(table):
        st.stop()
    shown = st.container()
    experts = st.expander("For experts", icon=":material/tune:", key="learning-experts", on_change="rerun")
    with shown:
        left, right = st.columns([5, 3], gap="large")
        SHOWN[part](table, left, right, experts)
