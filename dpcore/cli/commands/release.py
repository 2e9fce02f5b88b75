r"""Make one real release that keeps the promise: use the budget, draw noise once, write the files.

The budget is used in the ledger before anything is drawn. The noise cannot be repeated once the
folder is there, and no error is computed. The folder holds synthetic rows, weights, answers with
standard errors, tests of links between columns, a card, release.json, which holds the whole claim,
and verify.py, which checks it. It computes ε again from every use of the budget, follows all
releases about the data set, and checks the signature of the ledger's owner (exit code 1 when
something was changed). Whoever changes a folder may change the verify.py in it, so readers keep a
copy of their own: python -I verify.py FOLDER --key HEX. The private key is beside the ledger. The
public one is in signature.json: publish it elsewhere too.

The first release of a data set fixes its total budget, who is protected, and how releases add up. A
release that fails later has still used its budget. One that was stopped, as by a full disk, is
finished by the same command: it draws the same noise, whose key lies beside the ledger until then,
and uses no more budget. Changed content needs --new-version, which keeps the old budget. Exit code
3: the budget does not allow it. Noise is drawn without rounding where it can be; release.json names
each law. For what TABLE and --queries may be, see: python -m dpcore run --help

Two examples:
  python -m dpcore release people.csv --schema s.json --queries marginals:2 --algorithm aim --epsilon 1 --delta 1e-9 \
      --ledger l.sqlite --total-epsilon 3 --total-delta 1e-9 --out first
  python -m dpcore release people.csv --schema s.json --queries ranges:age --algorithm residual --epsilon 0.5 \
      --delta 1e-9 --ledger l.sqlite --person id --most-rows 4 --out second
"""

from argparse import Namespace
from pathlib import Path

from ... import QueryRelease
from ...algorithms.schema_measurement.hidden_rows import predict_hidden_rows
from ...release.ledger.drafts import check_release_folder
from ...release.ledger.ledger_store import LedgerStore
from ...release.preparation import prepare_release, prepare_with_partial_schema
from ...release.publish import publish_release
from ...release.request import NOISE_MODES, ReleaseRequest
from ..arguments import (
    RELEASE_ARGUMENTS,
    algorithm_arguments,
    argument,
    budget_arguments,
    ledger_arguments,
    privacy_unit_of,
    rows_argument,
    stated_budget,
)
from ..output_files import (
    ledger_request_fields,
    print_budget_warnings,
    print_hidden_rows,
    print_promise,
)
from ..table_arguments import (
    TASK_ARGUMENTS,
    build_algorithm,
    load_workload,
    open_table,
    read_start_table,
    table_request_fields,
    task_from_arguments,
)

NOISE_HELP = "exact noise, float (delta > 0), or auto: exact where it can be"
ARGUMENTS = (
    *TASK_ARGUMENTS,
    *algorithm_arguments(QueryRelease),
    *budget_arguments(),
    rows_argument(),
    *ledger_arguments(required=True),
    *RELEASE_ARGUMENTS,
    argument("--noise", None, NOISE_HELP, choices=NOISE_MODES, default=NOISE_MODES[0]),
)


def execute(args: Namespace) -> None:
    """Charge the budget, draw the release once, write its folder and print its promise.

    What is public is checked first.
    """
    ledger_fields = ledger_request_fields(args, privacy_unit_of(args))
    check_release_folder(Path(args.out))
    budget = stated_budget(args)
    algorithm = build_algorithm(args.algorithm, args.set, QueryRelease)
    task = task_from_arguments(args)
    schema = task.partial_schema
    workload = load_workload(task)
    domain = workload.domain
    start = read_start_table(task, domain)
    table = open_table(task, domain.file, in_memory=schema is not None)
    request = ReleaseRequest(
        **table_request_fields(table, task.table, domain.file),
        workload=workload,
        query_texts=task.queries,
        algorithm=algorithm,
        budget=budget,
        start=start,
        reason=args.reason,
        rows=args.rows,
        neutralize=args.neutralize,
        noise=args.noise,
        **ledger_fields,
    )
    if schema is None:
        ready = prepare_release(request)
    else:
        ready = prepare_with_partial_schema(request, schema, task.read_workload, task.schema_share)
    print_budget_warnings([budget], ready.problem.n)
    measurement = ready.schema_measurement
    if measurement is not None:
        print_hidden_rows(predict_hidden_rows(measurement.problem, measurement.plan))
    number, facts = publish_release(ready, LedgerStore(args.ledger, create=True), Path(args.out))
    for finding in facts["measured"]:
        print(f"measured {finding['column']!r}: {finding['found']}")
    print_promise(number, facts, budget, args.out)
