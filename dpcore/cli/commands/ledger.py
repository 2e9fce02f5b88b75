"""Show what a release ledger holds, or verify that nothing in it was changed.

`verify` names changed, removed or inserted rows (exit code 1). With --receipt it also finds a ledger that was set back.

Two examples:
  python -m dpcore ledger show --ledger l.sqlite
  python -m dpcore ledger verify --ledger l.sqlite --receipt first/release.json
"""

import json
from argparse import Namespace
from pathlib import Path

from ... import InputError, read_json
from ...core.numbers import brief
from ...release.ledger.drafts import tidied
from ...release.ledger.ledger_store import DataSet, Store, verify
from ..arguments import argument, flag
from ..output_files import tell

ARGUMENTS = (
    argument("what", None, "show data sets and releases, or verify every entry", choices=("show", "verify")),
    argument("--ledger", "L.sqlite", "the release ledger", required=True),
    argument("--receipt", "release.json", "verify: a release that the ledger must hold"),
    flag("--json", "machine-readable"),
)


def execute(chosen: Namespace) -> int:
    """Print the ledger or its check; exit code 1 when verification finds something wrong."""
    if chosen.what == "show":
        for message in tidied(Path(chosen.ledger)):
            tell("note", message)
        datasets = Store(chosen.ledger).show()
        print(
            json.dumps([d.to_json() for d in datasets], indent=1) if chosen.json else "\n\n".join(map(_table, datasets))
        )
        return 0
    receipt = None
    if chosen.receipt is not None:
        receipt_json = read_json(chosen.receipt)
        receipt = receipt_json.get("ledger") if isinstance(receipt_json, dict) else None
        if receipt is None:
            raise InputError(f'{chosen.receipt}: no release.json: it has no "ledger"')
    problems = verify(chosen.ledger, receipt)
    if chosen.json:
        print(json.dumps({"sound": not problems, "problems": problems}, indent=1))
    else:
        print("\n".join(problems) if problems else "sound: every row, total and trigger is as it was written")
    if problems:
        tell("unsound", f"{chosen.ledger}: {len(problems)} thing(s) wrong")
    return 1 if problems else 0


def _table(found: DataSet) -> str:
    budget, accounting = found.lifetime.budget, found.lifetime.accounting
    header = f"{'release':>7} {'entry':>6} {'version':>7} {'epsilon':>9} {'delta':>9} {'rho':>10} {'total':>9}"
    lines = [
        f"{found.name!r} protects each {found.unit}; {len(found.versions)} version(s)",
        f"used: epsilon={found.spent:.6g} of {budget.epsilon:g} at delta={brief(budget.delta)} ({accounting})",
        f"left: one release of epsilon={found.left:.6g} at that delta",
        f"{header}  time, algorithm, state",
    ]
    for r in found.releases:
        numbers = f"{r['epsilon']:>9.4g} {r['delta']:>9.2g} {r['rho']:>10.4g} {r['total_epsilon']:>9.4g}"
        positions = f"{r['number']:>7} {r['seq']:>6} {r['version']:>7}"
        lines.append(f"{positions} {numbers}  {r['time']}, {r['algorithm']}, {r['state']}")
        lines += [f"{'':>18}reason: {r['reason']!r}"] if r["reason"] else []
    return "\n".join(lines)
