"""What is to be released: the data set's name and budget, questions, algorithm, ε and δ, and what leaves."""

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
from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile, times_in_100
from dpcore.accuracy.usefulness import foreseen, foreseen_sizes, uses
from dpcore.core.errors import OverspendError
from dpcore.core.numbers import MAX_ROWS, brief, noun
from dpcore.core.parameters import build
from dpcore.data.privacy_unit import COUNTED
from dpcore.privacy.accounting import Accounting, Lifetime, cautions, events_from_json
from dpcore.release import tiles as tiled
from dpcore.release.data_set import LONGEST_NAME, DataSet, Reservation
from dpcore.release.ledger.chain import is_new
from dpcore.release.ledger.gauge import how_many
from dpcore.release.ledger.ledger_store import Store
from dpcore.release.preparation import OpenRecords, OpenRelease, PreparedRelease, prepare, prepare_open
from dpcore.release.request import NOISES, ReleaseRequest

from ..components import budget_gauge as shared_gauge
from ..components import deployments, parameter_widgets, question_choice, show_tiles
from ..components.result_panels import plan as plan_tables
from ..jobs import Work, counting_job, let_go, result_of
from ..session import Large, Table, give, plain, session, shared
from ..session.counted_table import LedgerSource
from ..session.current_table import choose, chosen, show
from ..session.release_ledger import FILE, dataset_key, dataset_name, dataset_of
from . import measured_release

NOISE_WORDS = {"auto": "exact where possible", "exact": "exact", "float": "floating point"}
LONGEST_REASON = 1000  # characters
ASKING, KIND = "known-again", "fingerprint"  # its name in a session, and the kind of its work
NOTHING = pd.DataFrame({"nothing": [0, 1]})  # in place of a table, for a ledger that is not made yet and knows none
DRAWN = {
    True: "Noise is exact: drawn without rounding, so that no last digit reveals more.",
    False: "Noise is drawn with floating-point numbers. The proof is about real numbers, and rounding may leak "
    "information.",
}
CIPHER = "A cipher draws it, whose key is the operating system's entropy, and is deleted once the release is made."
CAUTION = "Explore's numbers may differ a little: a release counts what this algorithm uses with more caution."
NEIGHBOURS = "Neighbours, the tables that nobody must be able to tell apart, differ in {} and have as many rows."


def dataset(table: Table, sets: Sequence[DataSet], place: DeltaGenerator, experts: DeltaGenerator) -> dict[str, Any]:
    """The name in the ledger and, for a new one, its total budget; as fields of a ReleaseRequest."""
    name_container = place.container(horizontal=True)
    name = name_container.text_input(
        "Data set",
        dataset_name(table),
        max_chars=LONGEST_NAME,
        key=dataset_key(table),
        help="One name for all tables about the same people. The budget record knows the rows again, in any order.",
        persist_state="session",
    ).strip()
    data_set = dataset_of(sets, name)
    fields = {"dataset": name, "total": None, "new_version": False}
    if data_set is None:
        help_text = "Fixed at the first release, for all releases of this data set together. It can never be changed."
        epsilon = name_container.number_input(
            "Whole budget (ε)",
            0.01,
            1000.0,
            parameter_widgets.WHOLE.epsilon,
            key="total-epsilon",
            help=help_text,
            persist_state="session",
            width=170,
        )
        delta = experts.select_slider(
            "Failure probability of all releases together (δ)",
            parameter_widgets.DELTAS,
            parameter_widgets.WHOLE.delta,
            parameter_widgets.number,
            key="total-delta",
            help=help_text,
            persist_state="session",
        )
        fields["total"] = Budget(epsilon, delta)
    else:
        fields["new_version"] = place.checkbox(
            "This is a new version: data about the same people",
            key=f"version-{name}-{len(data_set.versions)}",
            help="Where the rows themselves have changed. Another schema is no new version. The old budget stays.",
            persist_state="session",
        )
    return fields


def request(
    table: Table, fields: dict[str, Any], reason: str, place: DeltaGenerator, fold: DeltaGenerator
) -> ReleaseRequest:
    """The widgets of what is asked and by what, ε in its `place`; their request. Raises InputError for bad choices."""
    with place:
        budget = parameter_widgets.budget(fold)
    n, partial_schema = table.n, table.opening
    for caution in cautions(budget, n):
        place.warning(plain(caution, 300))
    with fold:
        questions_container, algorithm_container = st.columns(2)
        with questions_container:
            workload, texts = question_choice.choose(
                table, None if partial_schema is None else partial_schema.placeholder
            )
        with algorithm_container:
            name = parameter_widgets.algorithm()
            deployments.known(budget.epsilon)
            measured_release.share(table, workload.domain.names, budget)
        problem = QueryRelease(workload, n, table.unit.most_rows)
        settings = parameter_widgets.settings(name, problem, budget)
        key = f"rows-{table.identity}"
        show(key, chosen(key, min(n, MAX_ROWS)))
        rows = st.number_input(
            "Synthetic rows", 1, MAX_ROWS, key=key, help="As many as real rows.", on_change=choose, args=(key,)
        )
        neutralize = st.toggle(
            "Disarm formulas in CSV files",
            key="neutralize",
            **shared(),
            help="Texts that a spreadsheet would take for formulas get an apostrophe in front.",
        )
        noise = st.selectbox(
            "Noise",
            NOISES,
            format_func=NOISE_WORDS.get,
            key="noise",
            **shared(),
            help="Floating point needs δ > 0.",
        )
    return ReleaseRequest(
        frame=table.content,
        sha256=table.sha256,
        workload=workload,
        asked=texts,
        algorithm=build(ALGORITHMS[name], settings),
        budget=budget,
        unit=table.unit,
        reason=reason,
        rows=int(rows),
        neutralize=neutralize,
        noise=noise,
        **fields,
    )


def reason(table: Table) -> tuple[bool, str]:
    """Whether a written reason is needed, and the one that was typed."""
    if not table.uploaded or not (table.peeked or session().has_looked(table)):
        return False, ""
    origin_text = "Kinds, bounds or values of its schema come from the data. " if table.guessed else ""
    origin_text += "Its rows, real errors or a trial of its schema were shown. " if session().has_looked(table) else ""
    st.caption(
        origin_text + "What you choose after such a look can reveal something about the table, which no budget counts."
    )
    text = st.text_area(
        "You have looked at this table. Why may it be released?",
        key="reason",
        max_chars=LONGEST_REASON,
        height=68,
        persist_state="session",
        placeholder="Everybody can read this on the card: do not quote the data.",
    )
    return True, " ".join(text.split())


def verdict(ready: PreparedRelease, of: tuple) -> None:
    """Draw the tiles of a release that was not made yet, from its plan alone."""
    problem, budget = ready.problem, ready.request.budget
    n, workload, rows_per_person = problem.n, problem.workload, ready.request.unit.most_rows
    predicted_error = None
    if not isinstance(ready, OpenRelease):
        predicted_error = session().memo("foreseen", of, lambda: foreseen(problem, ready.plan))
    tiles = tiled.foretold(foreseen_sizes(predicted_error, workload), None, n, noun(rows_per_person))
    tiles = tiles or [("Error", "known after the release", "Explore shows it with repeats of fresh noise")]
    guess = Promise(budget.epsilon, budget.delta, ready.events).guess()
    show_tiles([*tiles, guess_tile(guess)], uses(predicted_error, n).sentence)
    if ready.plan.accounting is Accounting.ZCDP:
        st.caption(CAUTION)


def share(ready: PreparedRelease, sets: Sequence[DataSet] | None, head: DeltaGenerator, place: DeltaGenerator) -> str:
    """Draw in the `head` the shares of the budget used before and by this release; returns the latter in words.

    In `place`, say how many such releases the whole budget bears, why not as many as by the sum of ε, and how often a
    guess is right after them, or after the most that Guarantee speaks of. `sets` is None where no record is named.
    """
    request = ready.request
    data_set = dataset_of(sets or (), request.dataset)
    if data_set is None and request.total is None:
        return "its share"
    lifetime = Lifetime.fixed_by(request.total, ready.events) if data_set is None else data_set.lifetime  # type: ignore[arg-type]
    spent = None if sets is None else 0.0 if data_set is None else data_set.spent
    with head:
        share_text = shared_gauge.draw(request.dataset or "", lifetime, spent, ready.events)
    release_count = how_many(1.0, lifetime.cost(ready.events) / lifetime.capacity)
    if release_count > 1:
        total_epsilon, composed_count = lifetime.budget.epsilon, min(release_count, parameter_widgets.MOST_RELEASES)
        count_by_sum = how_many(total_epsilon, request.budget.epsilon)
        note = f"ε = {total_epsilon:g} bears {release_count:,} such releases"
        if lifetime.accounting is not Accounting.PURE and release_count > count_by_sum:
            note = f"Risk grows slowly: {note}, not {count_by_sum}"
        guess = Promise(request.budget.epsilon, request.budget.delta, ready.events, composed_count).guess()
        note += f". After {composed_count}, a guess is right at most {times_in_100(guess)}."
        place.caption(note, help="The whole budget has a failure probability (δ) of its own, which counts, too.")
    return share_text


def preview(ready: PreparedRelease, ledger: Path | None, of: tuple, sets: Sequence[DataSet]) -> None:
    """Check the release against the budget record; nothing is charged. `of` is the plan's key.

    Raises what reserving would; of a budget that does not suffice `TooLarge`, with the ε that would fit.
    """
    try:
        _reservation(ready, ledger, of)
    except OverspendError as error:
        smaller = session().memo("fits", of, lambda: fitting(ready, sets))
        message = f"The budget does not bear this release. {_fits(ready, sets, smaller)} In numbers: {error}."
        raise TooLargeError(message, smaller) from None


class TooLargeError(OverspendError):
    """A release that the budget does not bear; `smaller` is the largest ε of the slider that it does, or None."""

    def __init__(self, words: str, smaller: float | None) -> None:
        super().__init__(words)
        self.smaller = smaller


def way_on(error: InputError) -> None:
    """Offer what helps after a refusal: the ε that fits, or a step back to where the choice was made."""
    with st.container(horizontal=True):
        if (smaller := getattr(error, "smaller", None)) is not None:
            st.button(f"Use ε = {smaller:g}", key="smaller", type="primary", on_click=give, args=("epsilon", smaller))
        st.page_link("pages/explore.py", label="Choose anew on Explore", icon=":material/query_stats:")


def details(ready: PreparedRelease, of: tuple) -> None:
    """Every charge and setting of the plan, and how its noise is drawn."""
    request, plan, unit = ready.request, ready.plan, ready.request.unit
    reservation, budget, sums = _reservation(ready, None, of), request.budget, plan.sums
    if isinstance(ready, OpenRelease):
        measured_release.preview(ready)
        costs = f"Schema and algorithm may cost ε = {measured_release.together(ready):.6g}"
        accounting = ready.division.accounting
    else:
        costs, accounting = f"The plan costs ε = {sums.epsilon(budget.delta, plan.accounting):.6g}", plan.accounting
    st.caption(
        f"{ready.problem.workload.m:,} questions about {ready.problem.n:,} rows. {costs} at δ = "
        f"{brief(budget.delta)} by {accounting}, rounded up. All releases then cost ε = {reservation.spent:.4g} of "
        f"{reservation.lifetime.budget.epsilon:g} at δ = {brief(reservation.lifetime.budget.delta)} by "
        f"{reservation.lifetime.accounting}."
        + " The algorithm adapts, so it uses all of that room." * request.algorithm.adaptive
        + " It uses all that both may ever need." * isinstance(ready, OpenRelease)
    )
    plan_tables([(c.name, c.value, c.why) for c in plan.choices], [charge.to_json() for charge in plan.charges])
    difference_text = "one row" if unit.person is None else f"all rows of one person ({unit.most_rows} or fewer)"
    counting_note = f" {COUNTED}" * (unit.person is not None)
    st.caption(f"{DRAWN[plan.exact]} {CIPHER}")
    st.caption(f"Protected: {unit.words}. {NEIGHBOURS.format(difference_text)}{counting_note}")


def fitting(ready: PreparedRelease, sets: Sequence[DataSet]) -> float | None:
    """The largest ε of the slider that the data set still bears, with all else as it is; by public numbers only."""
    request = ready.request
    data_set = dataset_of(sets, request.dataset)
    total = request.total if data_set is None else data_set.lifetime.budget
    if total is None:
        return None
    past_events = (
        [] if data_set is None else [event for r in data_set.releases for event in events_from_json(r["events"])]
    )

    def fits(epsilon: float) -> bool:
        trial_request = replace(request, budget=Budget(epsilon, request.budget.delta))
        try:
            if isinstance(ready, OpenRelease):
                records = OpenRecords(ready.cells, ready.rows)
                events = prepare_open(trial_request, ready.schema, ready.ask, ready.part, records).events
            else:
                events = prepare(trial_request, ready.rows).events
        except InputError:
            return False
        lifetime = Lifetime.fixed_by(total, events) if data_set is None else data_set.lifetime
        return lifetime.total([*past_events, *events]) <= total.epsilon

    smaller_epsilons = [epsilon for epsilon in parameter_widgets.EPSILONS if epsilon < request.budget.epsilon]
    fitting_count = bisect_left(smaller_epsilons, True, key=lambda epsilon: not fits(epsilon))
    return smaller_epsilons[fitting_count - 1] if fitting_count else None


def _fits(ready: PreparedRelease, sets: Sequence[DataSet], smaller: float | None) -> str:
    """Which ε fits, in words."""
    if smaller is not None:
        return f"ε = {smaller:g} would fit."
    data_set = dataset_of(sets, ready.request.dataset)
    remaining = ready.request.total.epsilon if data_set is None else data_set.left  # type: ignore[union-attr]
    return f"No ε of the slider would fit these settings, as ε = {remaining:.4g} is left."


def ready_for(request: ReleaseRequest, table: Table) -> PreparedRelease | None:
    """The request planned, on the records that this session has read already; None while they are being read."""
    if table.opening is not None:
        return measured_release.ready_for(request, table)
    return prepare(request, table.rows(request.workload.domain.names))


def known_again(table: Table, ready: PreparedRelease | OpenRelease, ledger: Path | None, of: tuple) -> bool:
    """Whether the ledger has looked whether it knows the table; a large one is read for that, beside the page."""
    if table.large is None or session().knows("preview", of):
        return True
    st.caption("The ledger knows a table by all of its rows, so all of them are read, once.")
    reservation = result_of(ASKING, of, KIND, partial(_ask_aside, table.large, ready, ledger), "Read it again")
    if reservation is None:
        return False
    let_go(ASKING)
    session().memo("preview", of, lambda: reservation)
    return True


def _ask_aside(large: Large, ready: PreparedRelease, ledger: Path | None, work: Work) -> Reservation | InputError:
    ledger_content = (
        NOTHING
        if ledger is None or is_new(ledger)
        else LedgerSource(large.source, large, counting_job.told(work, large))
    )
    return _ask(replace(ready, request=replace(ready.request, frame=ledger_content)), ledger)


def key(ready: PreparedRelease, table: Table, ledger: Path | None, sets: Sequence[DataSet]) -> tuple:
    """All that makes one plan another: its settings, the table's version and where the ledger stands."""
    request = ready.request
    ledger_state = tuple((d.name, len(d.versions), len(d.releases)) for d in sets)
    return (
        str(ledger),
        ledger_state,
        table.version,
        request.dataset,
        request.total,
        request.new_version,
        request.workload.domain.names,
        tuple(request.asked),
        request.algorithm,
        request.budget,
        request.unit,
        ready.plan.exact,
        getattr(ready, "division", None),
    )


def _reservation(ready: PreparedRelease, ledger: Path | None, of: tuple) -> Reservation:
    """What reserving would give, asked once a plan: a ledger reads the whole table to know it again."""
    reservation = session().memo("preview", of, lambda: _ask(ready, ledger))
    if isinstance(reservation, InputError):
        raise reservation
    return reservation


def _ask(ready: PreparedRelease, ledger: Path | None) -> Reservation | InputError:
    try:
        if ledger is not None and not is_new(ledger):
            return ready.reserve(Store(ledger), preview=True)
        with tempfile.TemporaryDirectory() as empty:  # the ledger itself is made by the first release
            return ready.reserve(Store(Path(empty) / FILE, create=True), preview=True)
    except InputError as error:
        return error
