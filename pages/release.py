"""Release: one real release of this session's table, charged for ever; its plan and its cost are shown before."""

import streamlit as st

from dpcore.errors import InputError
from dpcore.publishing.measured import OpenRelease
from pages._ui.jobs import counting
from pages._ui.jobs.job import watch
from pages._ui.release import desk as release_desk
from pages._ui.release import files as release_files
from pages._ui.release import ledger as release_ledger
from pages._ui.release import request as release_request
from pages._ui.shell import ledger as shared_ledger
from pages._ui.shell.frame import tried, unfinished
from pages._ui.shell.opened import AGAIN
from pages._ui.shell.state import table as current_table

table, desk = current_table(), release_desk.current()
tried(table, AGAIN)
ledger = shared_ledger.where()
if ledger is None:
    if not shared_ledger.off():
        st.markdown(release_files.STEPS)
        release_files.promise()
    st.stop()

# before the ledger is read, so that what has just been released is in it
if desk.work is not None and watch(desk.work, "release", final=release_desk.FINAL):
    if desk.work.state == "done":
        release_files.outputs(desk.work.result)
    else:
        st.error(shared_ledger.words(desk.work.error or "The release did not happen.", ledger))
        st.caption("The ledger below says whether it used budget. A release that fails later has still used it.")
    st.button("Prepare another release", icon=":material/add:", on_click=desk.clear)
try:
    sets = shared_ledger.known(ledger)
except InputError as error:
    st.error(shared_ledger.words(error, ledger))
    st.stop()
if table.opening is None and (unfinished(table, "release here") or not counting.ready(table)):
    release_ledger.view(ledger, sets)
    st.stop()

try:
    if desk.work is None:
        with st.container(border=True, key="whose"):
            fields = release_request.dataset(table, sets)
        with st.container(border=True, key="settings"):
            needed, reason = False, ""
            order_place, reason_place = st.container(), st.container()
            with reason_place:
                needed, reason = release_request.reason(table)
            with order_place:
                request = release_request.request(table, fields, reason or "not given yet" * needed)
        if not counting.have(table, request.workload):
            st.stop()
        ready = release_request.ready_for(request, table, sets)
        if ready is None:
            st.stop()
        of = release_request.key(ready, table, ledger, sets)
        if not release_request.known_again(table, ready, ledger, of):
            st.stop()
        release_request.preview(ready, ledger, of, sets)
        release_files.promise(measured=isinstance(ready, OpenRelease))
        st.caption(release_files.noise(ready.plan.exact))
        missing = needed and not reason
        press = {} if missing else {"on_click": desk.start, "args": (desk.offer(of), ready, ledger)}
        label = "Release: permanent"
        st.button(label, type="primary", icon=":material/publish:", key="release-now", disabled=missing, **press)
        st.caption("Give a written reason first." if missing else "It uses its budget before the data is read.")
except InputError as error:
    st.error(shared_ledger.words(error, ledger), icon=":material/block:")
    st.caption("No data was read, and no budget was used.")
if desk.work is None or desk.work.ended:
    release_ledger.view(ledger, sets)
