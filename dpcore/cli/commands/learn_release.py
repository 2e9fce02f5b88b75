r"""Release what is learned, a quantile, a mean or a prediction, and keep the promise: use the
budget, draw once, write the files.

As `release`: the budget is used in the ledger before anything is drawn, the same command finishes
a release that was stopped, and verify.py checks the folder. What is learned is drawn on a public
grid, without rounding: by rank_exponential a quantile, by exponential with --delta 0 also means,
and a prediction of at most two coefficients, as from one column of numbers. Other algorithms round
their noise and are refused. The schema has to say that no number is missing.

Two examples:
  python -m dpcore learn-release people.csv --schema s.json --task quantile:age:0.5 --epsilon 0.5 --delta 0 \
      --ledger l.sqlite --total-epsilon 3 --total-delta 1e-9 --out median
  python -m dpcore learn-release people.csv --schema s.json --task logistic:income:age --algorithm exponential \
      --epsilon 1 --delta 0 --ledger l.sqlite --person id --most-rows 4 --out prediction
"""

from argparse import Namespace
from pathlib import Path

from ... import RiskMinimisation, domain_from_json, read_json
from ...core.errors import escape_control_chars
from ...core.types import Json
from ...data.readers import load_table
from ...problems.parse_tasks import TASK_FORMS_HELP
from ...release.ledger.drafts import check_release_folder
from ...release.ledger.ledger_store import LedgerStore
from ...release.preparation import prepare_learning
from ...release.publish import publish_release
from ...release.request import LearningRequest
from ..arguments import (
    PERSON_ARGUMENTS,
    RELEASE_ARGUMENTS,
    algorithm_arguments,
    argument,
    budget_arguments,
    finite_number,
    ledger_arguments,
    row_unit_of,
    stated_budget,
)
from ..output_files import ledger_request_fields, print_budget_warnings, print_promise
from ..table_arguments import build_algorithm, table_request_fields

ARGUMENTS = (
    argument("table", "TABLE", "a .csv, .tsv or .parquet file"),
    argument("--schema", "S.json", "the public schema, or a {NAME: size} file", required=True),
    argument("--task", "TASK", TASK_FORMS_HELP, required=True),
    *algorithm_arguments(RiskMinimisation, "rank_exponential"),
    *budget_arguments(),
    argument("--radius", "R", "radius of the region K about its public centre", type=finite_number),
    *PERSON_ARGUMENTS,
    *ledger_arguments(required=True),
    *RELEASE_ARGUMENTS,
)


def execute(args: Namespace) -> None:
    """Charge the budget, draw what is learned once, write its folder and print its promise.

    What is public is checked first.
    """
    ledger_fields = ledger_request_fields(args, row_unit_of(args))
    check_release_folder(Path(args.out))
    budget = stated_budget(args)
    algorithm = build_algorithm(args.algorithm, args.set, RiskMinimisation)
    domain = domain_from_json(read_json(args.schema))
    table = load_table(args.table, format=domain.file)
    request = LearningRequest(
        **table_request_fields(table, args.table, domain.file),
        schema=domain,
        task=args.task,
        algorithm=algorithm,
        budget=budget,
        radius=args.radius,
        reason=args.reason,
        neutralize=args.neutralize,
        **ledger_fields,
    )
    ready = prepare_learning(request)
    print_budget_warnings([budget], ready.problem.n)
    number, facts = publish_release(ready, LedgerStore(args.ledger, create=True), Path(args.out))
    _print_numbers(facts)
    print_promise(number, facts, budget, args.out)


def _print_numbers(facts: Json) -> None:
    """Print what was learned."""
    for number in facts["learned"]["answers"]:
        print(f"learned {escape_control_chars(number['name'])}: {number['value']:.6g}")
