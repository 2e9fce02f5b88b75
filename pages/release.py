"""Release: three steps to one real release of this session's table; its plan and its cost are shown before."""

import streamlit as st

from dpcore import InputError
from dpcore.core.provenance import Tag
from dpcore.release.preparation import OpenRelease
from pages._ui.components import budget_gauge as shared_gauge
from pages._ui.components import heading, tried, unfinished
from pages._ui.components.frame import line_place
from pages._ui.jobs import counting_job, watch
from pages._ui.release import downloads as release_files
from pages._ui.release import ledger_view as release_ledger
from pages._ui.release import release_job as release_desk
from pages._ui.release import release_request
from pages._ui.session import is_withheld, owner
from pages._ui.session import release_ledger as shared_ledger
from pages._ui.session import table as current_table
from pages._ui.session.schema_share import AGAIN
from pages._ui.session.stakeholder_wall import PREPARED, unless_private

table, desk = current_table(), release_desk.current()
tried(table, AGAIN)
top = st.container()
steps, right = st.columns([3, 2], gap="large")
leaves, gate = right.container(), right.container()
with steps:
    if desk.work is None:
        heading("1 · Whose data and budget?", Tag.TYPED)
    ledger, fields_place = shared_ledger.where(), st.container()
if ledger is None and owner.asked_for():
    st.stop()

# before the ledger is read, so that what has just been released is in it
with top:
    if desk.work is not None and watch(desk.work, "release", final=release_desk.FINAL):
        if desk.shown is not desk.work:  # the head of the page was drawn before the end
            desk.shown = desk.work
            st.rerun()
        if desk.released:
            release_files.outputs(desk.work.result)
        else:
            failed = shared_ledger.words(desk.work.error or "The release did not happen.", ledger)
            st.error(unless_private(failed))
            st.caption("What was used of the budget stays used. The list at the end of this page says so.")
        st.button("Prepare another release", icon=":material/add:", on_click=desk.clear)
try:
    sets = [] if ledger is None else shared_ledger.known(ledger)
except InputError as error:
    st.error(shared_ledger.words(error, ledger))
    st.caption("Name another folder, or bring back the file as it was from a copy of it.")
    st.stop()
if desk.work is not None:
    with line_place():
        shared_gauge.of_table(table)
if is_withheld(table):  # to prepare a release is to read the table
    steps.info(PREPARED, icon=":material/visibility_off:")
    release_ledger.view(ledger, sets)
    st.stop()
if table.opening is None and (unfinished(table, "release here") or not counting_job.ready(table)):
    release_ledger.view(ledger, sets)
    st.stop()

try:
    if desk.work is None:
        with steps:
            heading("2 · What is released?")
            counts, slider, tiles = st.container(), st.container(), st.container()
            fold = st.expander("Settings", icon=":material/tune:")
            fields = release_request.dataset(table, sets, fields_place, fold)
            needed, reason = release_request.reason(table)
            request = release_request.request(table, fields, reason or "not given yet" * needed, slider, fold)
            if not counting_job.have(table, request.workload):
                st.stop()
            ready = release_request.ready_for(request, table)
            if ready is None:
                st.stop()
        of = release_request.key(ready, table, ledger, sets)
        asked, measured = request.workload, isinstance(ready, OpenRelease)
        answers = "answers" if measured else f"{asked.m:,} answers"
        counts.markdown(f"{len(asked.domain.names)} columns, {answers}, {request.rows:,} invented rows.")
        with tiles:
            release_request.verdict(ready, of)
        mine = release_request.share(ready, None if ledger is None else sets, line_place(), fields_place)
        with steps:
            if not release_request.known_again(table, ready, ledger, of):
                st.stop()
        with leaves:
            heading("3 · What leaves?")
            st.markdown(release_files.MEASURED * measured + release_files.PROMISED)
        release_request.preview(ready, ledger, of, sets)
        with gate.container(border=True):
            missing = ["choose a folder"] * (ledger is None)
            missing += ["give a reason"] * (needed and not reason)
            why = f" ({' and '.join(missing)} first)" if missing else ""
            with st.container(key="in-sight"):
                st.markdown(f"Uses {mine}, even if it fails.")
                st.button(
                    f"Release: permanent{why}", type="primary", icon=":material/publish:", key="release-now",
                    disabled=bool(missing), on_click=desk.start, args=(desk.offer(of) * (not missing), ready, ledger),
                )  # fmt: skip
        with fold:
            release_request.details(ready, of)
except InputError as error:
    with gate:
        st.error(shared_ledger.words(error, ledger), icon=":material/block:")
        st.caption("No data was read, and no budget was used.")
        release_request.way_on(error)
if desk.work is None or desk.work.ended:
    release_ledger.view(ledger, sets)
