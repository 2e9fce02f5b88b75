"""Alternatives page: what tables without noise reveal and cost, beside private ones."""

import streamlit as st

from pages._ui.alternatives import attack_job, attack_report, attack_settings, results_view
from pages._ui.components import (
    check_rows_in_memory,
    draw_row_unit_note,
    draw_tabs,
    draw_trial_note,
    show_refusals,
    warn_if_schema_incomplete,
)
from pages._ui.session import (
    is_stakeholder_view,
    session,
    show_left_out_notice,
    visible_table,
)

table = visible_table()
draw_trial_note(table)
if is_stakeholder_view():
    show_left_out_notice()
    st.stop()
draw_row_unit_note(table)
if warn_if_schema_incomplete(table, "attack its tables here") or not check_rows_in_memory(table):
    st.stop()
with show_refusals():
    with st.sidebar:
        settings, budget = attack_settings.choose_settings(table, table.domain)
    task = attack_job.table_task(table, table.domain, settings)
    result = attack_job.stored_result(table, settings)
    if result is None and attack_job.may_start(table, settings):
        result = attack_job.attack_in_thread(table, task, settings)
    if result is None:
        st.stop()
    session().mark_viewed(table)
    alternatives = results_view.compare_with_noise(table, task, result, settings, budget)

picture_container = st.container(key="picture")
selected = results_view.choose_rule(result)
with picture_container:
    results_view.draw_picture(alternatives, selected)
draw_tabs(
    "alternatives-details",
    {
        "Rule": lambda: results_view.draw_rule(alternatives, selected),
        "Costs": lambda: results_view.draw_costs(alternatives, selected),
        "Limits": lambda: results_view.draw_limits(alternatives),
        "Report": lambda: attack_report.draw_download(table, alternatives),
    },
)
