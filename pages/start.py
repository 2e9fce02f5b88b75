"""Start page: one small real table released at every ε, a slider, and three ways in.

The slider moves through the releases.
"""

import streamlit as st

from pages._ui.components import parameter_widgets
from pages._ui.session import owner, server_label
from pages._ui.session.current_table import SAMPLES
from pages._ui.start import admissions as start

# A door is a card that is a link as a whole; its three are as tall as the chart and its slider.
STYLE = """<style>
.st-key-lead {display: block !important;} .st-key-lead p {font-size: 1.125rem;}
.st-key-lead [data-testid="stCaptionContainer"] {opacity: 1;}
.block-container h3 {padding-bottom: 0;}
[class*="st-key-door-"] {position: relative; min-height: 9rem; padding: 1rem; gap: 0;
  justify-content: center;
  border: 1px solid #0072B2; border-radius: 0.5rem;}
[class*="st-key-door-"]:hover {box-shadow: 0 0 0 1px #0072B2;}
[class*="st-key-door-"] a {position: static; background: none !important;}
[class*="st-key-door-"] a::after {content: ""; position: absolute; inset: 0;}
[class*="st-key-door-"] a :is(p, span) {font-size: 1.125rem;}
[class*="st-key-door-"] [data-testid="stCaptionContainer"] {padding-left: 2.1rem;}
.st-key-door-table {background: #0072B2;}
.st-key-door-table * {color: white !important; opacity: 1 !important;}
@media (max-height: 760px) {[class*="st-key-door-"] {min-height: 6rem; padding: 0.5rem;}}
/* On a phone the doors are a row above the chart. */
@media (max-width: 640px) {[data-testid="stColumn"]:has(.st-key-doors) {order: -1;
  margin-bottom: -1.5rem;}
  .st-key-doors {flex-direction: row; gap: 0.5rem;}
  .st-key-doors > * {flex: 1 1 0; width: auto; min-width: 0;}
  [class*="st-key-door-"] {min-height: 2.75rem; padding: 0;}
  [class*="st-key-door-"] a {margin: 0 auto;}
  [class*="st-key-door-"] :is([data-testid="stCaptionContainer"], a > span:first-child)
    {display: none;}
  [class*="st-key-door-"] a :is(p, span) {font-size: 1rem;}}
</style>"""
epsilon = start.epsilon_in_use()
chart_column, doors_column = st.columns([3, 2], gap="large")
st.html(STYLE)
# where the address names none
epsilon_param = {"or-epsilon": parameter_widgets.format_setting(epsilon)}
with chart_column:
    start.draw_admissions(epsilon)
    st.page_link(
        "pages/guarantee.py",
        label="What does this ε mean?",
        icon=":material/verified_user:",
        query_params=epsilon_param,
    )
own_table_text = (
    f"CSV, Excel or Parquet. Only in {server_label()}'s memory until you close the tab."
)
if owner.has_samples_only():
    own_table_text = "Only samples here. Data says how to use your own table."
with doors_column.container(key="doors"):
    for key, page, label, icon, caption, query in (
        (
            "table",
            "pages/data.py",
            "Use my table",
            ":material/upload:",
            own_table_text,
            {},
        ),
        (
            "sample",
            "pages/explore.py",
            "Try a sample",
            ":material/query_stats:",
            f"These {start.make_releases().n:,} applicants, or {len(SAMPLES) - 1} other public "
            "tables.",
            {"sample": start.SAMPLE, **epsilon_param},
        ),
        (
            "class",
            "pages/lessons.py",
            "Teach a class",
            ":material/school:",
            "Guess, move the bars, see who was right.",
            {},
        ),
    ):
        with st.container(key=f"door-{key}"):
            st.page_link(page, label=f"**{label}**", icon=icon, query_params=query, width="stretch")
            st.caption(caption)
