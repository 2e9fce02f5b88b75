"""A program that makes a real release: it uses budget of the ledger that it names, for good."""

from dataclasses import dataclass

from ...algorithms import Algorithm
from ...privacy.accounting import Budget
from ..experiment import (
    Experiment,
    LearningTask,
    algorithm_arguments,
    command_text,
    option_arguments,
    query_task_arguments,
)
from .program import CodeCell, Program, literal
from .query_program import algorithm_code, budget_code, has_code, table_cell, unit_code

IMPORTS = """from dpcore import domain_from_json
from dpcore.data.readers import load_table"""
READ_CODE = "table = load_table(TABLE, format=domain.file)"
REQUEST_CODE = """from dpcore import ALGORITHMS, Budget, PrivacyUnit, read_queries
from dpcore.release.preparation import prepare_release
from dpcore.release.request import ReleaseRequest

workload, notes = read_queries({queries}, domain)
request = ReleaseRequest(
    frame=table.frame,
    sha256=table.sha256,
    workload=workload,
    query_texts={queries},
    algorithm={algorithm},
    budget={budget},
    unit={unit},
    dataset={dataset},
    total={total},
    new_version={new_version},
    reason={reason},
    rows={rows},
    neutralize={neutralize},
    noise={noise},
)
ready = prepare_release(request)
print("promises ε =", ready.plan.accountant.epsilon(request.budget.delta))"""
PUBLISH_CODE = """from pathlib import Path

from dpcore.release.ledger.ledger_store import LedgerStore
from dpcore.release.publish import publish_release

LEDGER = {ledger}
FOLDER = {folder}
number, facts = publish_release(ready, LedgerStore(LEDGER, create=True), Path(FOLDER))
print("release", number, "of", facts["dataset"]["name"], "in", FOLDER)
print("all releases:", facts["dataset"]["spent"], "of", facts["dataset"]["total"])"""


@dataclass(frozen=True, kw_only=True)
class ReleaseSettings:
    """What a release says beside its experiment.

    Args:
        ledger: the file of the ledger.
        folder: a new folder for what leaves.
        dataset: the name of the data set in the ledger.
        total: the budget of all releases; None for a data set that the ledger knows.
        new_version: whether the rows are others than those of earlier releases.
        reason: why the table may be released after a look at it.
        rows: how many synthetic rows.
        neutralize: whether formulas in texts are disarmed.
        noise: how noise is drawn.

    """

    ledger: str
    folder: str
    dataset: str
    total: Budget | None
    new_version: bool = False
    reason: str = ""
    rows: int | None = None
    neutralize: bool = False
    noise: str = "auto"


def release_program(experiment: Experiment, settings: ReleaseSettings) -> Program:
    """Return the program that makes one release of an experiment's task; its seeds do not count."""
    task = experiment.task
    title = "One real release: running this uses budget, permanently"
    commands = (_release_command(experiment, settings),)
    if not has_code(task):
        return Program(title, commands, ())
    request_code = REQUEST_CODE.format(
        queries=literal(list(task.queries)),
        algorithm=algorithm_code(experiment.algorithm),
        budget=budget_code(experiment.budget),
        unit=unit_code(task.unit),
        dataset=literal(settings.dataset),
        total="None" if settings.total is None else budget_code(settings.total),
        new_version=settings.new_version,
        reason=literal(settings.reason),
        rows=settings.rows,
        neutralize=settings.neutralize,
        noise=literal(settings.noise),
    )
    publish_code = PUBLISH_CODE.format(
        ledger=literal(settings.ledger), folder=literal(settings.folder)
    )
    cells = (
        table_cell(task.planning_domain, task.table, IMPORTS, READ_CODE),
        CodeCell("What is released, and its plan", request_code),
        CodeCell("The release: it uses the budget", publish_code),
    )
    return Program(title, commands, cells)


def _release_command(experiment: Experiment, settings: ReleaseSettings) -> str:
    """Return the command line that makes the release."""
    arguments = [*query_task_arguments("release", experiment.task), *experiment.choice_arguments()]
    arguments += _ledger_arguments(settings)
    if settings.rows is not None:
        arguments += ["--rows", str(settings.rows)]
    return command_text([*arguments, "--noise", settings.noise])


def learning_release_command(
    task: LearningTask, algorithm: Algorithm, budget: Budget, settings: ReleaseSettings
) -> str:
    """Return the command line that releases what is learned; of the settings none are of rows."""
    task_arguments = task.command_arguments("learn-release")
    choice_arguments = algorithm_arguments(algorithm, budget)
    return command_text([*task_arguments, *choice_arguments, *_ledger_arguments(settings)])


def _ledger_arguments(settings: ReleaseSettings) -> list[str]:
    """Return the arguments of a command that say whose budget is used, and where the files go."""
    arguments = option_arguments("--ledger", settings.ledger)
    arguments += option_arguments("--dataset", settings.dataset)
    if settings.total is not None:
        arguments += ["--total-epsilon", repr(settings.total.epsilon)]
        arguments += ["--total-delta", repr(settings.total.delta)]
    if settings.new_version:
        arguments += ["--new-version"]
    if settings.reason:
        arguments += option_arguments("--reason", settings.reason)
    if settings.neutralize:
        arguments += ["--neutralize"]
    return arguments + option_arguments("--out", settings.folder)
