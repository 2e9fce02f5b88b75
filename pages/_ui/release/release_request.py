"""Release request: data set and total budget, queries, algorithm, ε, δ, and released files.

Also the plan's check against the ledger, and its cost.
"""

import tempfile
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import ALGORITHMS, Budget, InputError, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import Promise, format_times_in_100, guess_tile_texts
from dpcore.accuracy.usefulness import planned_tables, promised_error, suitable_uses
from dpcore.core.errors import OverspendError
from dpcore.core.job import Job
from dpcore.core.numbers import MAX_SYNTHETIC_ROWS, format_short_number, unit_noun
from dpcore.core.parameters import build_from_texts
from dpcore.data.privacy_unit import ROW_COUNT_NOTICE
from dpcore.privacy.accounting import (
    LifetimeBudget,
    ZcdpAccountant,
    budget_warnings,
    events_from_json,
)
from dpcore.queries import Workload
from dpcore.release import tiles as tiled
from dpcore.release.data_set import MAX_NAME_CHARS, DataSet, Reservation
from dpcore.release.evidence.card import PEOPLE_ONCE_CAVEAT
from dpcore.release.ledger.chain import is_new_ledger
from dpcore.release.ledger.gauge import fitting_release_count
from dpcore.release.ledger.ledger_store import LedgerStore
from dpcore.release.preparation import (
    PartialSchemaRows,
    PreparedRelease,
    prepare_release,
    prepare_with_partial_schema,
)
from dpcore.release.request import NOISE_MODES, ReleaseRequest

from ..components import budget_gauge as shared_gauge
from ..components import deployments, parameter_widgets, question_choice, show_tiles
from ..components.result_panels import draw_plan_tables as plan_tables
from ..components.verdict_tiles import UNKNOWN_ERROR_TILE
from ..jobs import close_job, counting_job, job_result
from ..jobs.predicted_runs import predict_before_release
from ..session import (
    LargeTable,
    Table,
    escape_markdown,
    persistent_widget_args,
    session,
    set_widget_value,
)
from ..session.counted_table import LedgerSource
from ..session.current_table import store_widget_choice, stored_choice, sync_widget_value
from ..session.release_ledger import (
    LEDGER_FILE_NAME,
    data_set_name,
    data_set_widget_key,
    find_data_set,
)
from . import measured_release

NOISE_LABELS = {"auto": "exact where possible", "exact": "exact", "float": "floating point"}
LEDGER_CHECK_JOB = "known-again"  # the name in a session of the job that searches the ledger
THREAD_KIND = "fingerprint"  # and the kind of its work
# In place of a table, for a ledger that is not made yet and knows none.
PLACEHOLDER_FRAME = pd.DataFrame({"nothing": [0, 1]})
NOISE_TEXT_BY_EXACT = {
    True: "Noise is exact: drawn without rounding, so that no last digit reveals more.",
    False: "Noise is drawn with floating-point numbers. The proof is about real numbers, and "
    "rounding may leak "
    "information.",
}
CIPHER_TEXT = (
    "A cipher draws it, whose key is the operating system's entropy, and is deleted "
    "once the release is made."
)
CAUTION_TEXT = (
    "Explore's numbers may differ a little: a release counts what this algorithm uses "
    "with more caution."
)
SYNTHETIC_PEOPLE_HELP = (
    "Each has an invented id and rows of its own, alike only through the person's columns."
)
ONE_SYNTHETIC_ROW_HELP = "One for each person: how many rows a person has is not measured."
NEIGHBOURS_TEXT = (
    "Neighbours, the tables that nobody must be able to tell apart, differ in {} "
    "and have as many {}."
)


def draw_data_set_inputs(
    table: Table,
    data_sets: Sequence[DataSet],
    container: DeltaGenerator,
    experts_container: DeltaGenerator,
) -> dict[str, Any]:
    """Draw the data set's name and, if new, its total budget; return ReleaseRequest fields."""
    name_container = container.container(horizontal=True)
    name = name_container.text_input(
        "Data set",
        data_set_name(table),
        max_chars=MAX_NAME_CHARS,
        key=data_set_widget_key(table),
        help="One name for all tables about the same people. The budget record knows the rows "
        "again, in any order.",
        persist_state="session",
    ).strip()
    data_set = find_data_set(data_sets, name)
    fields = {"dataset": name, "total": None, "new_version": False}
    if data_set is None:
        help_text = (
            "Fixed at the first release, for all releases of this data set together. It "
            "can never be changed."
        )
        epsilon = name_container.number_input(
            "Whole budget (ε)",
            0.01,
            1000.0,
            parameter_widgets.DEFAULT_TOTAL_BUDGET.epsilon,
            key="total-epsilon",
            help=help_text,
            persist_state="session",
            width=170,
        )
        delta = experts_container.select_slider(
            "Failure probability of all releases together (δ)",
            parameter_widgets.DELTA_OPTIONS,
            parameter_widgets.DEFAULT_TOTAL_BUDGET.delta,
            parameter_widgets.format_setting,
            key="total-delta",
            help=help_text,
            persist_state="session",
        )
        fields["total"] = Budget(epsilon, delta)
    else:
        fields["new_version"] = container.checkbox(
            "This is a new version: data about the same people",
            key=f"version-{name}-{len(data_set.versions)}",
            help="Where the rows themselves have changed. Another schema is no new version. The "
            "old budget stays.",
            persist_state="session",
        )
    return fields


def draw_request_inputs(
    table: Table,
    fields: dict[str, Any],
    reason: str,
    epsilon_container: DeltaGenerator,
    settings_container: DeltaGenerator,
) -> ReleaseRequest:
    """Draw the widgets of queries, algorithm and ε; return their request.

    ε is in `epsilon_container`. Raises InputError for bad choices.
    """
    with epsilon_container:
        budget = parameter_widgets.budget_sliders(settings_container)
    for caution in budget_warnings(budget, table.n):
        epsilon_container.warning(escape_markdown(caution, 300))
    with settings_container:
        workload, texts, name = _choose_workload_and_algorithm(table, budget)
        problem = QueryRelease(workload, table.n, table.unit.group)
        settings = parameter_widgets.setting_widgets(name, problem, budget)
        rows, neutralize, noise = _choose_output(table)
    return ReleaseRequest(
        frame=table.ledger_content,
        sha256=table.sha256,
        workload=workload,
        query_texts=texts,
        algorithm=build_from_texts(ALGORITHMS[name], settings),
        budget=budget,
        unit=table.unit,
        reason=reason,
        rows=rows,
        neutralize=neutralize,
        noise=noise,
        **fields,
    )


def _choose_workload_and_algorithm(table: Table, budget: Budget) -> tuple[Workload, list[str], str]:
    """Draw the widgets of what is asked beside those of what answers.

    Returns the workload, its texts for the command line, and the algorithm's name.
    """
    partial_schema = table.partial_schema
    questions_container, algorithm_container = st.columns(2)
    with questions_container:
        workload, texts = question_choice.choose_workload(
            table,
            None if partial_schema is None else partial_schema.placeholder,
            may_pair=True,
        )
    with algorithm_container:
        name = parameter_widgets.algorithm_selectbox()
        deployments.draw_deployments(budget.epsilon)
        measured_release.draw_schema_share(table, workload.domain.names, budget)
    return workload, texts, name


def _choose_output(table: Table) -> tuple[int, bool, str]:
    """Draw the widgets of the files and return their values.

    These are the number of synthetic rows, whether formulas are disarmed, and the noise.
    """
    key = f"rows-{table.identity}"
    row_count = stored_choice(key, min(table.n, MAX_SYNTHETIC_ROWS))
    is_written = sync_widget_value(key, row_count)
    label, help_text = _synthetic_texts(table)
    rows = st.number_input(
        label,
        1,
        MAX_SYNTHETIC_ROWS,
        "min" if is_written else row_count,
        key=key,
        help=help_text,
        on_change=store_widget_choice,
        args=(key,),
    )
    neutralize = st.toggle(
        "Disarm formulas in CSV files",
        key="neutralize",
        **persistent_widget_args(),
        help="Texts that a spreadsheet would take for formulas get an apostrophe in front.",
    )
    noise = st.selectbox(
        "Noise",
        NOISE_MODES,
        format_func=NOISE_LABELS.get,
        key="noise",
        **persistent_widget_args(),
        help="Floating point needs δ > 0.",
    )
    return int(rows), neutralize, noise


def _synthetic_texts(table: Table) -> tuple[str, str]:
    """Return the label of the number of synthetic rows or people, and its help."""
    if table.unit.row_totals:
        return "Synthetic people", f"As many as real people. {SYNTHETIC_PEOPLE_HELP}"
    if table.unit.counts_people:
        return "Synthetic rows", ONE_SYNTHETIC_ROW_HELP
    return "Synthetic rows", "As many as real rows."


def draw_predicted_tiles(ready: PreparedRelease, plan_key: tuple) -> None:
    """Draw the tiles of a release that was not made yet, from its plan alone."""
    problem = ready.problem
    budget = ready.request.budget
    n = problem.n
    workload = problem.workload
    rows_per_person = ready.request.unit.group
    planned = None
    predicted = None
    if ready.schema_measurement is None:
        planned = session().memoize(
            "planned-tables", plan_key, lambda: planned_tables(problem, ready.plan)
        )
        task = {"algorithm": ready.request.algorithm, "budget": budget}
        predicted = predict_before_release(problem, task, plan_key)
    noun = unit_noun(rows_per_person)
    tiles = [
        *tiled.predicted_error_tiles(predicted, n, noun),
        *tiled.promised_error_tile(promised_error(planned, workload), n, noun),
    ]
    tiles = tiles or [UNKNOWN_ERROR_TILE]
    guess = Promise(budget.epsilon, budget.delta, ready.events).max_guess_probability()
    show_tiles(
        [*tiles, guess_tile_texts(guess)], suitable_uses(planned, n, rows_per_person).sentence
    )
    if isinstance(ready.plan.accountant, ZcdpAccountant):
        st.caption(CAUTION_TEXT)


def draw_budget_share(
    ready: PreparedRelease,
    data_sets: Sequence[DataSet] | None,
    gauge_container: DeltaGenerator,
    note_container: DeltaGenerator,
) -> str:
    """Draw the budget shares used before and by this release; return the latter in words.

    They are in `gauge_container`. In `note_container`, say how many such releases the whole budget
    bears, why not as many as by the sum of ε, and how often a guess is right after them, or after
    the
    most that Guarantee speaks of. `data_sets` is None where no ledger is named.
    """
    request = ready.request
    data_set = find_data_set(data_sets or (), request.dataset)
    if data_set is None and request.total is None:
        return "its share"
    lifetime = (
        LifetimeBudget.from_first_release(request.total, ready.events)
        if data_set is None
        else data_set.lifetime
    )  # type: ignore[arg-type]
    spent = None
    if data_sets is not None:
        spent = 0.0 if data_set is None else data_set.spent
    with gauge_container:
        share_text = shared_gauge.draw_gauge(request.dataset or "", lifetime, spent, ready.events)
    release_count = fitting_release_count(
        1.0, lifetime.composed_cost(ready.events) / lifetime.capacity
    )
    if release_count > 1:
        total_epsilon = lifetime.budget.epsilon
        composed_count = min(release_count, parameter_widgets.MAX_RELEASES)
        count_by_sum = fitting_release_count(total_epsilon, request.budget.epsilon)
        note = f"ε = {total_epsilon:g} bears {release_count:,} such releases"
        if lifetime.accounting.needs_delta and release_count > count_by_sum:
            note = f"Risk grows slowly: {note}, not {count_by_sum}"
        guess = Promise(
            request.budget.epsilon, request.budget.delta, ready.events, composed_count
        ).max_guess_probability()
        note_container.caption(
            f"{note}.",
            help=f"After {composed_count}, a guess is right at most {format_times_in_100(guess)}. "
            "The whole budget has a failure probability (δ) of its own, which counts, too.",
        )
    return share_text


def check_reservation(
    ready: PreparedRelease, ledger: Path | None, plan_key: tuple, data_sets: Sequence[DataSet]
) -> None:
    """Check the release against the ledger, without spending; `plan_key` is the plan's key.

    Raises what reserving would; for an insufficient budget it is `TooLargeError`, with the ε that
    would fit.
    """
    try:
        _expected_reservation(ready, ledger, plan_key)
    except OverspendError as error:
        smaller = session().memoize(
            "fits", plan_key, lambda: largest_fitting_epsilon(ready, data_sets)
        )
        message = (
            "The budget does not bear this release. "
            f"{_fitting_epsilon_text(ready, data_sets, smaller)} In numbers: {error}."
        )
        raise TooLargeError(message, smaller) from None


class TooLargeError(OverspendError):
    """Release that exceeds the budget; `smaller` is the slider's largest ε that fits, or None."""

    def __init__(self, message: str, smaller: float | None) -> None:
        super().__init__(message)
        self.smaller = smaller


def draw_ways_on(error: InputError) -> None:
    """Draw what helps after a refusal: the ε that fits, or a step back.

    The step leads to where the choice was made.
    """
    with st.container(horizontal=True):
        smaller = getattr(error, "smaller", None)
        if smaller is not None:
            st.button(
                f"Use ε = {smaller:g}",
                key="smaller",
                type="primary",
                on_click=set_widget_value,
                args=("epsilon", smaller),
            )
        st.page_link(
            "pages/explore.py", label="Choose anew on Explore", icon=":material/query_stats:"
        )


def draw_plan_details(ready: PreparedRelease, plan_key: tuple) -> None:
    """Draw every event and setting of the plan, and how its noise is sampled."""
    request = ready.request
    plan = ready.plan
    unit = ready.request.unit
    reservation = _expected_reservation(ready, None, plan_key)
    budget = request.budget
    measurement = ready.schema_measurement
    if measurement is not None:
        measured_release.draw_measurement_preview(measurement)
        costs = f"Schema and algorithm may cost ε = {measured_release.reserved_epsilon(ready):.6g}"
        accounting = measurement.split.accounting.name
    else:
        costs = f"The plan costs ε = {plan.accountant.epsilon(budget.delta):.6g}"
        accounting = plan.accountant.name
    noun = unit_noun(unit.group)
    st.caption(
        f"{ready.problem.workload.m:,} questions about {ready.problem.n:,} {noun}. {costs} at δ = "
        f"{format_short_number(budget.delta)} by {accounting}, rounded up. All releases then "
        f"cost ε = {reservation.spent:.4g} of "
        f"{reservation.lifetime.budget.epsilon:g} at δ = "
        f"{format_short_number(reservation.lifetime.budget.delta)} by "
        f"{reservation.lifetime.accounting.name}."
        + (
            " The algorithm adapts, so it uses all of that room."
            if request.algorithm.adaptive
            else ""
        )
        + (" It uses all that both may ever need." if measurement is not None else "")
    )
    plan_tables(plan.settings, plan.planned_events)
    difference_text = (
        "one row" if unit.person is None else f"all rows of one person ({unit.most_rows} or fewer)"
    )
    counting_note = "" if unit.person is None else f" {ROW_COUNT_NOTICE}"
    if unit.counts_people:
        counting_note = f" {PEOPLE_ONCE_CAVEAT}"
    st.caption(f"{NOISE_TEXT_BY_EXACT[plan.exact]} {CIPHER_TEXT}")
    counted = "people" if unit.counts_people else "rows"
    neighbours_text = NEIGHBOURS_TEXT.format(difference_text, counted)
    st.caption(f"Protected: {unit.description}. {neighbours_text}{counting_note}")


def largest_fitting_epsilon(ready: PreparedRelease, data_sets: Sequence[DataSet]) -> float | None:
    """Return the largest ε of the slider that the data set's budget bears; None if none.

    All else stays as it is; by public numbers only.
    """
    request = ready.request
    data_set = find_data_set(data_sets, request.dataset)
    total = request.total if data_set is None else data_set.lifetime.budget
    if total is None:
        return None
    past_events = (
        []
        if data_set is None
        else [event for r in data_set.releases for event in events_from_json(r["events"])]
    )

    def fits(epsilon: float) -> bool:
        trial_request = replace(request, budget=Budget(epsilon, request.budget.delta))
        try:
            measurement = ready.schema_measurement
            if measurement is not None:
                records = PartialSchemaRows(measurement.column_texts, ready.rows)
                events = prepare_with_partial_schema(
                    trial_request,
                    measurement.schema,
                    measurement.workload_for,
                    measurement.budget_share,
                    records,
                ).events
            else:
                events = prepare_release(trial_request, ready.rows).events
        except InputError:
            return False
        lifetime = (
            LifetimeBudget.from_first_release(total, events)
            if data_set is None
            else data_set.lifetime
        )
        return lifetime.total_epsilon([*past_events, *events]) <= total.epsilon

    smaller_epsilons = [
        epsilon for epsilon in parameter_widgets.EPSILON_OPTIONS if epsilon < request.budget.epsilon
    ]
    fitting_count = bisect_left(smaller_epsilons, True, key=lambda epsilon: not fits(epsilon))
    return smaller_epsilons[fitting_count - 1] if fitting_count else None


def _fitting_epsilon_text(
    ready: PreparedRelease, data_sets: Sequence[DataSet], smaller: float | None
) -> str:
    """Return in words which ε fits, or what is left if none does."""
    if smaller is not None:
        return f"ε = {smaller:g} would fit."
    data_set = find_data_set(data_sets, ready.request.dataset)
    remaining = ready.request.total.epsilon if data_set is None else data_set.remaining
    return f"No ε of the slider would fit these settings, as ε = {remaining:.4g} is left."


def prepare_request(request: ReleaseRequest, table: Table) -> PreparedRelease | None:
    """Return the planned release on rows that the session has read; None while it reads them."""
    if table.partial_schema is not None:
        return measured_release.prepare_measured_release(request, table)
    return prepare_release(request, table.encoded_rows(request.workload.domain.names))


def check_ledger_searched(
    table: Table,
    ready: PreparedRelease,
    ledger: Path | None,
    plan_key: tuple,
) -> bool:
    """Return whether the ledger has been searched for the table; start that if not.

    A large table is read for that, beside the page.
    """
    if table.large_table is None or session().has_memo("preview", plan_key):
        return True
    st.caption("The ledger knows a table by all of its rows, so all of them are read, once.")
    reservation = job_result(
        LEDGER_CHECK_JOB,
        plan_key,
        THREAD_KIND,
        partial(_ask_ledger_in_job, table.large_table, ready, ledger),
        "Read it again",
    )
    if reservation is None:
        return False
    close_job(LEDGER_CHECK_JOB)
    session().memoize("preview", plan_key, lambda: reservation)
    return True


def _ask_ledger_in_job(
    large_table: LargeTable, ready: PreparedRelease, ledger: Path | None, job: Job
) -> Reservation | InputError:
    ledger_content = (
        PLACEHOLDER_FRAME
        if ledger is None or is_new_ledger(ledger)
        else LedgerSource(
            large_table.source, large_table, counting_job.row_progress_callback(job, large_table)
        )
    )
    return _ask_ledger(replace(ready, request=replace(ready.request, frame=ledger_content)), ledger)


def make_plan_key(
    ready: PreparedRelease, table: Table, ledger: Path | None, data_sets: Sequence[DataSet]
) -> tuple:
    """Return all that makes one plan differ from another: settings, table version, ledger state."""
    request = ready.request
    ledger_state = tuple((d.name, len(d.versions), len(d.releases)) for d in data_sets)
    return (
        str(ledger),
        ledger_state,
        table.version,
        request.dataset,
        request.total,
        request.new_version,
        request.workload.domain.names,
        tuple(request.query_texts),
        request.algorithm,
        request.budget,
        request.unit,
        ready.plan.exact,
        getattr(ready, "division", None),
    )


def _expected_reservation(
    ready: PreparedRelease, ledger: Path | None, plan_key: tuple
) -> Reservation:
    """Return the reservation that the ledger would make, asked once per plan.

    A ledger reads the whole table to know it again. Raises InputError where it would refuse.
    """
    reservation = session().memoize("preview", plan_key, lambda: _ask_ledger(ready, ledger))
    if isinstance(reservation, InputError):
        raise reservation
    return reservation


def _ask_ledger(ready: PreparedRelease, ledger: Path | None) -> Reservation | InputError:
    try:
        if ledger is not None and not is_new_ledger(ledger):
            return ready.reserve(LedgerStore(ledger), preview=True)
        # the ledger itself is made by the first release
        with tempfile.TemporaryDirectory() as empty:
            return ready.reserve(
                LedgerStore(Path(empty) / LEDGER_FILE_NAME, create=True), preview=True
            )
    except InputError as error:
        return error
