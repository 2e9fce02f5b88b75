r"""Make one real release that keeps the promise: use the budget, draw noise once, write the files.

The budget is used in the ledger before anything is drawn. The noise cannot be repeated once the folder is there, and
no error is computed. The folder holds synthetic rows, weights, answers with standard errors, tests of links between
columns, a card, release.json, which holds the whole claim, and verify.py, which checks it. It computes ε again from
every use of the budget, follows all releases about the data set, and checks the signature of the ledger's owner (exit
code 1 when something was changed). Whoever changes a folder may change the verify.py in it, so readers keep a copy of
their own: python -I verify.py FOLDER --key HEX. The private key is beside the ledger. The public one is in
signature.json: publish it elsewhere too.

The first release of a data set fixes its total budget, who is protected, and how releases add up. A release that
fails later has still used its budget. One that was stopped, as by a full disk, is finished by the same command: it
draws the same noise, whose key lies beside the ledger until then, and uses no more budget. Changed content needs
--new-version, which keeps the old budget. Exit code 3: the budget does not allow it. Noise is drawn without rounding
where it can be; release.json names each law. For what TABLE and --queries may be, see: python -m dpcore run --help

Two examples:
  python -m dpcore release people.csv --schema s.json --queries marginals:2 --algorithm aim --epsilon 1 --delta 1e-9 \
      --ledger l.sqlite --total-epsilon 3 --total-delta 1e-9 --out first
  python -m dpcore release people.csv --schema s.json --queries ranges:age --algorithm residual --epsilon 0.5 \
      --delta 1e-9 --ledger l.sqlite --person id --most-rows 4 --out second
"""

from argparse import Namespace
from functools import partial
from pathlib import Path

from ... import QueryRelease
from ...core.errors import written_out
from ...core.numbers import brief
from ...release.ledger.drafts import check_folder
from ...release.ledger.ledger_store import Store
from ...release.preparation import prepare, prepare_open
from ...release.publish import publish
from ...release.request import NOISES, ReleaseRequest
from ..arguments import algorithm, argument, budget, budget_of, flag, ledger, rows
from ..output_files import of_ledger, warn
from ..table_arguments import TASK, asked, choose, open_table, queries_in, start_table, table_fields

NOISE = "exact noise, float (delta > 0), or auto: exact where it can be"
ARGUMENTS = (
    *TASK,
    *algorithm(QueryRelease),
    *budget(),
    rows(),
    *ledger(required=True),
    argument("--out", "DIR", "a new folder for what leaves", required=True),
    argument("--reason", "TEXT", "why a schema is used that was filled in from the data", default=""),
    argument("--noise", None, NOISE, choices=NOISES, default=NOISES[0]),
    flag("--neutralize", "disarm texts that a spreadsheet takes for formulas"),
)


def execute(chosen: Namespace) -> None:
    """Check what is public, use the budget, draw the release once, write its folder and print what it promises."""
    ledger_fields = of_ledger(chosen)
    check_folder(Path(chosen.out))
    budget = budget_of(chosen)
    algorithm = choose(chosen.algorithm, chosen.set, QueryRelease)
    schema, workload = asked(chosen)
    domain = workload.domain
    start = start_table(chosen, domain)
    table = open_table(chosen, domain.file, whole=schema is not None)
    request = ReleaseRequest(
        **table_fields(table, chosen.table, domain.file),
        workload=workload,
        asked=chosen.queries,
        algorithm=algorithm,
        budget=budget,
        start=start,
        reason=chosen.reason,
        rows=chosen.rows,
        neutralize=chosen.neutralize,
        noise=chosen.noise,
        **ledger_fields,
    )
    if schema is None:
        ready = prepare(request)
    else:
        ready = prepare_open(request, schema, partial(queries_in, chosen), chosen.schema_share)
    warn([budget], ready.problem.n)
    number, facts = publish(ready, Store(chosen.ledger, create=True), Path(chosen.out))
    for finding in facts["measured"]:
        print(f"measured {finding['column']!r}: {finding['found']}")
    dataset, folder = facts["dataset"], written_out(chosen.out)
    print(f"release {number} of {dataset['name']!r}, version {dataset['version']}: {folder}")
    print(f"promise: epsilon={budget.epsilon:g} delta={brief(budget.delta)} ({facts['promise']['accounting']})")
    spent, total = dataset["spent"], dataset["total"]
    print(f"all releases: epsilon={spent['epsilon']:.6g} of {total['epsilon']:g} at delta={brief(total['delta'])}")
    print(f"noise: {facts['made_by']['noise']}")
