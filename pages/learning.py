"""Learning page: a median, a line or a prediction under privacy, and its theory for experts.

The choices are beside the picture.
"""

import streamlit as st

from pages._ui.components import (
    check_rows_in_memory,
    draw_row_unit_note,
    draw_trial_note,
    show_refusals,
    warn_if_schema_incomplete,
)
from pages._ui.learning import quantile, quantile_privacy, sampler_plane, table_learning
from pages._ui.learning.quantile import PARTS
from pages._ui.session import WHOLE_BUDGET_TEXT, visible_table

DRAW_BY_PART = dict(
    zip(
        PARTS,
        (
            quantile.draw_quantile,
            sampler_plane.draw_plane,
            table_learning.draw_table_learning,
            quantile_privacy.draw_exact_privacy,
        ),
        strict=True,
    )
)

table = visible_table()
draw_trial_note(table, WHOLE_BUDGET_TEXT)
draw_row_unit_note(table)
if warn_if_schema_incomplete(table, "learn here"):
    st.stop()
with show_refusals():
    part = st.segmented_control(
        "What to learn",
        PARTS,
        default=PARTS[0],
        required=True,
        key="part",
        bind="query-params",
        label_visibility="collapsed",
    )
    part = part or PARTS[0]  # an empty address asks for nothing, though it is required
    if DRAW_BY_PART[part] is not quantile_privacy.draw_exact_privacy and not check_rows_in_memory(
        table
    ):
        st.stop()
    part_container = st.container()
    experts_expander = st.expander(
        "For experts", icon=":material/tune:", key="learning-experts", on_change="rerun"
    )
    with part_container:
        picture_column, settings_column = st.columns([5, 3], gap="large")
        DRAW_BY_PART[part](table, picture_column, settings_column, experts_expander)
