"""Show what a release ledger holds, or verify that nothing in it was changed.

`verify` names changed, removed or inserted rows (exit code 1). With --receipt it also finds a
ledger that was set back.

Two examples:
  python -m dpcore ledger show --ledger l.sqlite
  python -m dpcore ledger verify --ledger l.sqlite --receipt first/release.json
"""

import json
from argparse import Namespace
from pathlib import Path

from ... import InputError, read_json
from ...core.numbers import format_short_number
from ...release.ledger.drafts import tidy_stopped_releases
from ...release.ledger.ledger_store import DataSet, LedgerStore, verify_ledger
from ..arguments import argument, flag
from ..output_files import print_message

ARGUMENTS = (
    argument(
        "what",
        None,
        "show data sets and releases, or verify every entry",
        choices=("show", "verify"),
    ),
    argument("--ledger", "L.sqlite", "the release ledger", required=True),
    argument("--receipt", "release.json", "verify: a release that the ledger must hold"),
    flag("--json", "machine-readable"),
)


def execute(args: Namespace) -> int:
    """Print the ledger or its check; exit code 1 when verification finds something wrong."""
    if args.what == "show":
        for message in tidy_stopped_releases(Path(args.ledger)):
            print_message("note", message)
        datasets = LedgerStore(args.ledger).list_datasets()
        print(
            json.dumps([d.to_json() for d in datasets], indent=1)
            if args.json
            else "\n\n".join(map(_dataset_text, datasets))
        )
        return 0
    receipt = None
    if args.receipt is not None:
        receipt_json = read_json(args.receipt)
        receipt = receipt_json.get("ledger") if isinstance(receipt_json, dict) else None
        if receipt is None:
            raise InputError(f'{args.receipt}: no release.json: it has no "ledger"')
    problems = verify_ledger(args.ledger, receipt)
    if args.json:
        print(json.dumps({"sound": not problems, "problems": problems}, indent=1))
    else:
        print(
            "\n".join(problems)
            if problems
            else "sound: every row, total and trigger is as it was written"
        )
    if problems:
        print_message("unsound", f"{args.ledger}: {len(problems)} thing(s) wrong")
    return 1 if problems else 0


def _dataset_text(dataset: DataSet) -> str:
    budget = dataset.lifetime.budget
    accounting = dataset.lifetime.accounting.name
    header = (
        f"{'release':>7} {'entry':>6} {'version':>7} {'epsilon':>9} {'delta':>9} "
        f"{'rho':>10} {'total':>9}"
    )
    lines = [
        f"{dataset.name!r} protects each {dataset.unit}; {len(dataset.versions)} version(s)",
        f"used: epsilon={dataset.spent:.6g} of {budget.epsilon:g} at "
        f"delta={format_short_number(budget.delta)} ({accounting})",
        f"left: one release of epsilon={dataset.remaining:.6g} at that delta",
        f"{header}  time, algorithm, state",
    ]
    for r in dataset.releases:
        numbers = (
            f"{r['epsilon']:>9.4g} {r['delta']:>9.2g} {r['rho']:>10.4g} {r['total_epsilon']:>9.4g}"
        )
        positions = f"{r['number']:>7} {r['seq']:>6} {r['version']:>7}"
        lines.append(f"{positions} {numbers}  {r['time']}, {r['algorithm']}, {r['state']}")
        lines += [f"{'':>18}reason: {r['reason']!r}"] if r["reason"] else []
    return "\n".join(lines)
