"""The attack that the Alternatives page shows: precomputed for samples, else run in a thread."""

import json
import time
from dataclasses import asdict
from functools import cache
from pathlib import Path

import streamlit as st

from dpcore import Domain, InputError, Marginals, Rows
from dpcore.accuracy.work_forecast import format_seconds
from dpcore.core.job import Job, StatusCallback
from dpcore.core.types import Array, Json, by_name, frozen
from dpcore.evaluation.reconstruction.asked_tables import (
    AskedTables,
    counts_of_rows,
    draw_block,
    rows_of_group,
)
from dpcore.evaluation.reconstruction.private_releases import PrivatePoint, private_curve
from dpcore.evaluation.reconstruction.rule_outcomes import (
    RuleOutcome,
    attack_rules,
    costs_from_json,
)

from ..jobs import job_result
from ..session import Table, session
from .attack_settings import RULES, AttackSettings

# made by `python -m tests.make_assets alternatives`
STORED_ATTACKS_FILE = Path(__file__).parents[3] / "assets" / "alternatives.json"
JOB_NAME = "attack"
# kept until it is served: the run that hears a press may end early for a newer one
PRESSED_KEY = "attack-pressed"
SEED = 0  # of the rows drawn, and of what rules leave to chance
RULES_SHARE = 0.9  # of the work, about; the rest are the private releases


@frozen
class AttackTask:
    """The rows whose tables are attacked, with another sample of as many, if there is one."""

    asked_tables: AskedTables
    block: Rows
    other_counts: Array | None
    unattacked_rows: int


@by_name
class AttackResult:
    """What came of the rules, and the private releases of the same tables by ε."""

    outcomes: tuple[RuleOutcome, ...]
    curve: tuple[PrivatePoint, ...]

    def to_json(self) -> Json:
        """Return the result as a dictionary."""
        curve = [asdict(point) for point in self.curve]
        return {"outcomes": [outcome.to_json() for outcome in self.outcomes], "curve": curve}

    @classmethod
    def from_json(cls, document: Json) -> "AttackResult":
        """Return the result that `to_json` wrote."""
        curve = []
        for point in document["curve"]:
            fields: Json = point | {"costs": costs_from_json(point["costs"])}
            curve.append(PrivatePoint(**fields))
        outcomes = tuple(RuleOutcome.from_json(outcome) for outcome in document["outcomes"])
        return cls(outcomes=outcomes, curve=tuple(curve))


def make_task(
    domain: Domain, rows: Rows, settings: AttackSettings, rows_per_person: int = 1
) -> AttackTask:
    """Return what is attacked: the rows of the group, or some of them, and their tables.

    Args:
        domain: All columns of the rows.
        rows: Of the whole table.
        settings: What a person chose.
        rows_per_person: How many rows a person can have; a private release protects all of them.

    """
    group_rows = rows
    if settings.group is not None:
        group_rows = rows_of_group(domain, rows, settings.group, settings.value or "")
    block, other = draw_block(group_rows, settings.people, SEED)
    projected_domain = domain.project(settings.columns)
    axes = list(domain.axes(settings.columns))
    projected = project_rows(projected_domain, block, axes)
    workload = Marginals.all(projected_domain, settings.ways)
    asked_tables = AskedTables.of(workload, projected, rows_per_person)
    other_counts = None
    if other is not None:
        other_counts = counts_of_rows(projected_domain, project_rows(projected_domain, other, axes))
    return AttackTask(asked_tables, projected, other_counts, rows.n - block.n)


def project_rows(domain: Domain, rows: Rows, axes: list[int]) -> Rows:
    """Return rows in some of their columns, each as often as it is there."""
    return domain.group_rows(rows.values[:, axes].repeat(rows.weights.astype(int), axis=0))


def run_attack(task: AttackTask, settings: AttackSettings, report: StatusCallback) -> AttackResult:
    """Return what each rule reveals and costs, and the private releases beside them.

    `report` receives the share of the work that is done, and how long the rest will take.
    """
    start = time.monotonic()

    def report_share(share: float, step: str) -> None:
        seconds = time.monotonic() - start
        left_text = ""
        if share > 0.02:
            left_text = f", about {format_seconds(seconds * (1 - share) / share)} left"
        report(share, f"{step}{left_text}")

    def rules_progress(done: float, total: float | None) -> None:
        count = total or 1
        name = settings.rules[min(int(done), len(settings.rules) - 1)]
        report_share(RULES_SHARE * done / count, f"Attacking: {name}")

    def curve_progress(done: float, total: float | None) -> None:
        share = RULES_SHARE + (1 - RULES_SHARE) * done / (total or 1)
        report_share(share, "Making private releases")

    outcomes = attack_rules(
        task.asked_tables,
        [RULES[name] for name in settings.rules],
        seed=SEED,
        max_seconds=settings.seconds,
        other_counts=task.other_counts,
        progress=rules_progress,
    )
    curve = private_curve(task.asked_tables, task.block, settings.delta, progress=curve_progress)
    return AttackResult(outcomes=outcomes, curve=curve)


def table_task(table: Table, domain: Domain, settings: AttackSettings) -> AttackTask:
    """Return what is attacked of the session's table, made once for the same choice."""
    key = table.version, settings.columns, settings.ways, settings.group, settings.value
    return session().memoize(
        "attacked-tables",
        (*key, settings.people),
        lambda: make_task(domain, _single_rows(table, domain), settings, table.unit.most_rows),
    )


def _single_rows(table: Table, domain: Domain) -> Rows:
    """Return the rows that are attacked: also where people count, each row that is kept counts."""
    rows = table.encoded_rows(domain.names)
    if rows.votes_per_unit == 1:
        return rows
    if table.large_table is not None:
        raise InputError("single rows are attacked; let each row count on the Data page")
    return domain.encode(table.unit.bound_contributions(table.frame, domain.names))


def stored_result(table: Table, settings: AttackSettings) -> AttackResult | None:
    """Return the precomputed result for a sample as the page opens with it; None for all else."""
    if table.uploaded or table.unit.person is not None:
        return None
    entry = stored_attacks().get(table.name)
    definition = [table.schema, table.unit.most_rows, settings.to_json()]
    if entry is None or entry["asked"] != definition:
        return None
    return AttackResult.from_json(entry["result"])


@cache
def stored_attacks() -> Json:
    """Return the precomputed results by sample, as they were made."""
    return json.loads(STORED_ATTACKS_FILE.read_text(encoding="utf-8"))


def may_start(table: Table, settings: AttackSettings) -> bool:
    """Return whether an attack may run: of a sample at once, of an upload once it was asked for.

    Draws the button that asks for it.
    """
    if not table.uploaded or st.session_state.pop(PRESSED_KEY, False):
        return True
    job = session().find_resource(JOB_NAME)
    if isinstance(job, Job) and job.key == (table.version, settings):
        return True
    st.button(
        "Attack these tables",
        icon=":material/play_arrow:",
        type="primary",
        key="attack-run",
        help="Nothing is written to disk. What is shown uses the real rows.",
        on_click=_keep_press,
    )
    st.caption(
        f"At most {format_seconds(settings.seconds * len(settings.rules))} for "
        f"{len(settings.rules)} rules; you can cancel."
    )
    return False


def _keep_press() -> None:
    st.session_state[PRESSED_KEY] = True


def attack_in_thread(
    table: Table, task: AttackTask, settings: AttackSettings
) -> AttackResult | None:
    """Return the attack's result; None while it runs, with its progress, and Cancel, drawn."""

    def attack(job: Job) -> AttackResult:
        return run_attack(task, settings, job.report_progress)

    return job_result(JOB_NAME, (table.version, settings), "attack", attack, "Attack again")
