"""Release page: three steps to one real release of this session's table.

Its plan and its cost are shown before.
"""

import streamlit as st

from dpcore import InputError
from dpcore.core.provenance import Provenance
from pages._ui.components import budget_gauge as shared_gauge
from pages._ui.components import draw_heading, draw_trial_note, warn_if_schema_incomplete
from pages._ui.components.frame import table_header_slot
from pages._ui.jobs import counting_job, wait_or_draw_progress
from pages._ui.release import ledger_view as release_ledger
from pages._ui.release import reason_input, release_panel, release_request, remembered_folders
from pages._ui.release import release_job as release_desk
from pages._ui.session import is_public_table, owner, visible_table
from pages._ui.session import release_ledger as shared_ledger
from pages._ui.session.render_turns import redraw_page
from pages._ui.session.schema_share import TRIAL_NOT_REUSED_TEXT
from pages._ui.session.stakeholder_wall import ONLY_RELEASED_TEXT

table = visible_table()
desk = release_desk.current_desk()
draw_trial_note(table, TRIAL_NOT_REUSED_TEXT)
outcome_container = st.container()
steps_column, release_column = st.columns([3, 2], gap="large")
outputs_container = release_column.container()
release_container = release_column.container()
with steps_column:
    if desk.job is None:
        draw_heading("1 · Whose data and budget?", Provenance.USER_INPUT)
    ledger = shared_ledger.ask_for_ledger_path()
    if not is_public_table(table) and desk.job is None:
        remembered_folders.draw_remembered_folders(table, ledger)
    data_set_container = st.container()
if ledger is None and owner.requires_owner_key():
    st.stop()

# before the ledger is read, so that what has just been released is in it
with outcome_container:
    if desk.job is not None and wait_or_draw_progress(
        desk.job, "release", irrevocable_text=release_desk.IRREVOCABLE_TEXT
    ):
        if desk.acknowledged_job is not desk.job:  # the head of the page was drawn before the end
            desk.acknowledged_job = desk.job
            redraw_page()
        release_panel.draw_outcome(desk, ledger)
try:
    data_sets = [] if ledger is None else shared_ledger.load_data_sets(ledger)
except InputError as error:
    st.error(shared_ledger.format_ledger_error(error, ledger))
    st.caption("Name another folder, or bring back the file as it was from a copy of it.")
    st.stop()
if desk.released:
    remembered_folders.remember_use(table, ledger, data_sets)
if desk.job is not None:
    with table_header_slot():
        shared_gauge.draw_table_gauge(table)
if is_public_table(table):  # to prepare a release is to read the table
    steps_column.info(ONLY_RELEASED_TEXT, icon=":material/visibility_off:")
    release_ledger.draw_ledger(ledger, data_sets)
    st.stop()
if table.partial_schema is None and (
    warn_if_schema_incomplete(table, "release here") or not counting_job.ensure_rows_counted(table)
):
    release_ledger.draw_ledger(ledger, data_sets)
    st.stop()

try:
    if desk.job is None:
        with steps_column:
            draw_heading("2 · What is released?")
            counts_slot = st.container()
            epsilon_slot = st.container()
            tiles_slot = st.container()
            settings_expander = st.expander("Settings", icon=":material/tune:")
            fields = release_request.draw_data_set_inputs(
                table, data_sets, data_set_container, settings_expander
            )
            is_reason_required, reason = reason_input.draw_reason_input(table)
            request = release_request.draw_request_inputs(
                table,
                fields,
                reason or ("not given yet" if is_reason_required else ""),
                epsilon_slot,
                settings_expander,
            )
            if not counting_job.ensure_workload_counted(table, request.workload):
                st.stop()
            ready = release_request.prepare_request(request, table)
            if ready is None:
                st.stop()
        plan_key = release_request.make_plan_key(ready, table, ledger, data_sets)
        workload = request.workload
        measures_schema = ready.schema_measurement is not None
        answers = "answers" if measures_schema else f"{workload.m:,} answers"
        counts_slot.markdown(
            f"{len(workload.domain.names)} columns, {answers}, {request.rows:,} invented rows."
        )
        with tiles_slot:
            release_request.draw_predicted_tiles(ready, plan_key)
        share_text = release_request.draw_budget_share(
            ready, None if ledger is None else data_sets, table_header_slot(), data_set_container
        )
        with steps_column:
            if not release_request.check_ledger_searched(table, ready, ledger, plan_key):
                st.stop()
        with outputs_container:
            release_panel.draw_output_list(measures_schema=measures_schema)
        release_request.check_reservation(ready, ledger, plan_key, data_sets)
        needs_reason = is_reason_required and not reason
        with release_container.container(border=True):
            release_panel.draw_release_button(
                desk, plan_key, ready, ledger, share_text, needs_reason=needs_reason
            )
        with settings_expander:
            release_request.draw_plan_details(ready, plan_key)
        if not needs_reason:
            with steps_column:
                release_panel.draw_code(ready, table, ledger)
except InputError as error:
    with release_container:
        st.error(shared_ledger.format_ledger_error(error, ledger), icon=":material/block:")
        st.caption("No data was read, and no budget was used.")
        release_request.draw_ways_on(error)
if desk.job is None or desk.job.ended:
    release_ledger.draw_ledger(ledger, data_sets)
