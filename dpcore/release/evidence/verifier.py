#!/usr/bin/env python3
"""Verify a release: files, signature, account, claimed cost and what that cost means.

    python -I verify.py FOLDER --key HEX [--earlier FOLDER] [--ledger L.sqlite]

Keep a copy of this file that you trust, outside of what it judges: whoever changes a folder may
change the verify.py in it too. `-I` keeps Python from running files of the folder that you are in.
One line a check; exit code 0 where all hold. It needs scipy and cryptography and nothing of the
program that made the release: its accounting is its own. Compare the key with the one that the
owner of the ledger publishes elsewhere.

`--earlier` is the folder of an earlier release about the same data set, signed by the same key,
which this one's account must continue; `--ledger` is for the owner: the whole chain of the ledger,
and this release's entry in it, with the key that was to sign and the signature that was noted when
it left.
"""

import sys

if (
    __name__ == "__main__"
):  # before anything else is imported: neither this file's place nor any named one is a library
    sys.path[:] = [
        path
        for path in sys.path
        if path not in ("", ".", __file__.replace("\\", "/").rpartition("/")[0])
    ]
    from os.path import abspath, dirname, realpath

    _places = {
        realpath(path)
        for path in (dirname(abspath(__file__)), dirname(realpath(__file__)), ".", *sys.argv[1:])
    }
    sys.path[:] = [path for path in sys.path if realpath(path) not in _places]

import argparse
import csv
import hashlib
import hmac
import io
import json
import math
import sqlite3
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ...core.errors import escape_control_chars
from .content_checks import check_answers, check_claim, check_files, check_promise
from .document_checks import check_documents
from .recount import (
    PURE,
    RELATIVE_TOLERANCE,
    ROUNDING_SLACK,
    WrongError,
    composed_epsilon,
    epsilon_of_cost,
    gdp_epsilon,
    keeps_promise,
    require,
    total_cost,
    total_failure_delta,
    unreserved_cost,
)
from .release_folder import SIGNED, ReleaseFolder, digest, hashes, statement

__all__ = ["SIGNED", "run_checks", "digest", "gdp_epsilon", "hashes", "link", "statement"]
CHAINED_TABLES = (
    "datasets",
    "versions",
    "releases",
    "states",
)  # tables of a ledger whose rows are chained
INSIDE_FOLDER_MESSAGE = (
    "lies in the folder that it is to judge, and whoever changed that may "
    "have changed it; use a copy from elsewhere"
)
UNCHECKED_CLAIMS = (  # what no check can find out from the files
    "who was counted, how many rows there are and how many of one person, how they were read, "
    "which algorithm ran with "
    "which settings, where its noise came from, that nobody looked before, which errors are "
    "predicted, and the words of its pages"
)


# Links and chains


def link(previous: str, row: dict) -> str:
    """Return the hash that links a release to the previous one in its data set's account."""
    hashed_fields = {name: value for name, value in row.items() if name != "link"}
    return hashlib.sha256(
        f"{previous}{json.dumps(hashed_fields, sort_keys=True)}".encode()
    ).hexdigest()


_encode_json = json.JSONEncoder(default=repr).encode


def keyed_row_hash(key: bytes, previous: str, table: str, row: Iterable) -> str:
    """Return the keyed hash of a ledger's row and of the hash before it."""
    text = _encode_json([previous, table, list(row)])
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def chain_problems(key: bytes, previous: str, entries: Iterable, rows: dict) -> list:
    """Return descriptions of changed, removed or inserted rows of a ledger.

    Found by following its chain. `entries` are those of the chain, `rows` those of each table by
    their number.
    """
    problems = []
    remaining_rows = {place: dict(table_rows) for place, table_rows in rows.items()}
    for number, (seq, place, entry) in enumerate(entries, start=1):
        if seq != number:
            return [*problems, f"entry {number} of the chain was removed"]
        row = remaining_rows.get(place, {}).pop(seq, None)
        if row is None:
            problems.append(f"row {seq} of {str(place)[:40]} was removed")
        elif keyed_row_hash(key, previous, place, row) != entry:
            problems.append(f"row {seq} of {place}, or its entry in the chain, was changed")
        previous = entry
    return problems + [
        f"row {seq} of {place} was inserted" for place, own in remaining_rows.items() for seq in own
    ]


# What is checked


def _check_signature(folder: ReleaseFolder, key: str | None = None) -> str:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signed = folder.signature
    canonical_text = json.dumps(signed, indent=1, sort_keys=True) + "\n"
    require(folder.read(SIGNED) == canonical_text.encode(), f"{SIGNED} is not as it was written")
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed["key"]))
        public.verify(bytes.fromhex(signed["signature"]), statement(signed["files"], signed["key"]))
    except (InvalidSignature, ValueError):
        raise WrongError("not signed by the key that it names") from None
    if key is not None and key.strip().lower() != signed["key"]:
        raise WrongError(f"signed by {signed['key']}, which is not the key that was given")
    hint = "the key that was given" if key is not None else "compare this key with the owner's"
    return f"signed by {signed['key']} ({hint})"


def _check_fields(folder: ReleaseFolder) -> str:
    """Check that the JSON files have only known fields, each within its range.

    Reading them raises WrongError for an unknown field, or a value out of its range.
    """
    rows = len(folder.account["releases"])
    columns = len(folder.facts["schema"]["columns"])
    return f"every field is known and within its range; {columns} column(s), {rows} release(s)"


def _check_charges(folder: ReleaseFolder, events_field: str) -> str:
    promise = folder.facts["promise"]
    epsilon = composed_epsilon(
        promise[events_field], promise["epsilon"], promise["delta"], promise["accounting"]
    )
    require(
        epsilon <= promise["epsilon"] * (1 + RELATIVE_TOLERANCE),
        f"together ε = {epsilon:.8g} at δ = {promise['delta']:g}; promised is "
        f"{promise['epsilon']:g}",
    )
    if events_field == "reserved":
        excess = unreserved_cost(promise["reserved"], promise["charges"], promise["epsilon"])
        require(
            excess is None, f"the uses of the data cost more than the ledger reserved: {excess}"
        )
        may_differ = folder.facts["made_by"]["adaptive"] or folder.facts["measured"]
        require(
            bool(may_differ) or promise["reserved"] == promise["charges"],
            "a fixed plan reserves what it uses, and nothing else",
        )
    return (
        f"together ε = {epsilon:.6g} of the promised {promise['epsilon']:g} at δ = "
        f"{promise['delta']:g}"
    )


def _check_account(folder: ReleaseFolder) -> str:
    account = folder.account
    previous = ""
    for row in [account["opened"], *account["releases"]]:
        if link(previous, row) != row["link"]:
            raise WrongError(
                f"the link of entry {row.get('entry', 'one')} does not follow from the entry "
                "before it"
            )
        previous = row["link"]
    entries = [row["entry"] for row in account["releases"]]
    require(entries == sorted(set(entries)), "its entries are not in order")
    entry_hashes = {row["hash"] for row in account["releases"]}
    require(len(entry_hashes) == len(entries), "two entries have one hash")
    return f"{len(entries)} release(s) of this data set, linked without a gap"


def _check_receipt(folder: ReleaseFolder) -> str:
    facts = folder.facts
    account = folder.account
    receipt = facts["ledger"]
    last_entry = account["releases"][-1]
    expected_receipt = {
        "id": account["opened"]["ledger"],
        **{name: last_entry[name] for name in ("entry", "hash", "link")},
    }
    require(receipt == expected_receipt, "release.json is a receipt for another entry")
    promise = facts["promise"]
    dataset = facts["dataset"]
    ledger_values = (
        last_entry["epsilon"],
        last_entry["delta"],
        last_entry["events"],
        last_entry["total_epsilon"],
        last_entry["time"],
    )
    if ledger_values != (
        promise["epsilon"],
        promise["delta"],
        promise["reserved"],
        dataset["spent"]["epsilon"],
        facts["time"],
    ):
        raise WrongError("the use of the budget in the ledger is not what release.json says")
    fixed_budget = {
        "accounting": dataset["accounting"],
        "failure": dataset["failure"],
        **dataset["total"],
    }
    require(
        {name: account["opened"][name] for name in fixed_budget} == fixed_budget,
        "the total budget is not the one that was fixed at first use",
    )
    require(
        dataset["spent"]["delta"] == fixed_budget["delta"],
        "the use of the budget is stated at another δ than the total budget's",
    )
    require(
        dataset["version"] <= len(account["releases"]),
        "there are more versions of the data than releases",
    )
    return (
        f"entry {last_entry['entry']} of ledger {receipt['id']} holds exactly this use of the "
        "budget"
    )


def _check_total_budget(folder: ReleaseFolder) -> str:
    opening_row = folder.account["opened"]
    rows = folder.account["releases"]
    epsilon = opening_row["epsilon"]
    delta = opening_row["delta"]
    accounting = opening_row["accounting"]
    leaves_delta = (
        opening_row["failure"] <= delta if accounting == PURE else opening_row["failure"] < delta
    )
    require(leaves_delta, f"failures may take {opening_row['failure']:g} of δ = {delta:g}")
    remaining_delta = delta - opening_row["failure"] if accounting != PURE else 0.0
    added_cost = 0.0
    failure_delta = 0.0
    spent_epsilon = math.inf
    promises_kept: dict[str, bool] = {}
    for row in rows:
        entry = row["entry"]
        added_cost += total_cost(row["events"], accounting)
        failure_delta += total_failure_delta(row["events"], epsilon)
        spent_epsilon = (
            epsilon_of_cost(added_cost, remaining_delta, accounting)
            if failure_delta <= opening_row["failure"] * ROUNDING_SLACK
            else math.inf
        )
        if not abs(spent_epsilon - row["total_epsilon"]) <= RELATIVE_TOLERANCE * spent_epsilon:
            raise WrongError(
                f"after entry {entry}: ε = {spent_epsilon:.8g}; {row['total_epsilon']:.8g} is "
                "stated"
            )
        require(
            spent_epsilon <= epsilon * (1 + RELATIVE_TOLERANCE),
            f"after entry {entry} ε = {spent_epsilon:.8g} is used of {epsilon:g}",
        )
        promise = json.dumps([row["events"], row["epsilon"], row["delta"]])
        if promise not in promises_kept:
            promises_kept[promise] = keeps_promise(row["events"], row["epsilon"], row["delta"])
        require(
            promises_kept[promise],
            f"entry {entry} costs more than ε = {row['epsilon']:g} at δ = {row['delta']:g}",
        )
    return f"all releases so far: ε = {spent_epsilon:.6g} of {epsilon:g} at δ = {delta:g}"


def _check_earlier_release(folder: ReleaseFolder, path: Path) -> str:
    earlier_folder = ReleaseFolder(path)
    for check in (check_files, _check_signature, check_claim, _check_account, _check_receipt):
        try:
            check(earlier_folder)
        except WrongError as error:
            raise WrongError(f"the earlier release itself is not sound: {error}") from None
    require(
        earlier_folder.signature["key"] == folder.signature["key"],
        "the earlier release was signed by another key",
    )
    earlier_account = earlier_folder.account
    account = folder.account
    if (
        earlier_account["opened"] != account["opened"]
        or earlier_account["releases"] != account["releases"][: len(earlier_account["releases"])]
    ):
        raise WrongError("this account does not continue the earlier one")
    return f"continues the account of entry {earlier_account['releases'][-1]['entry']}"


def _check_ledger(folder: ReleaseFolder, path: Path) -> str:
    """Check the release against the owner's own ledger file.

    That is the only file with the key of the chain.
    """
    require(stat.S_ISREG(path.stat().st_mode), "the ledger is no regular file")
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        ((seq, ledger, key, time),) = db.execute(
            "SELECT seq, ledger, key, time FROM meta"
        ).fetchall()
        chain_rows = db.execute("SELECT seq, place, hash FROM chain ORDER BY seq").fetchall()
        rows = {
            place: {r[0]: r for r in db.execute(f"SELECT * FROM {place}").fetchall()}
            for place in CHAINED_TABLES
        }
        entry = folder.facts["ledger"]["entry"]
        settings = db.execute("SELECT settings FROM releases WHERE seq = ?", (entry,)).fetchone()
        release_notes = db.execute(
            "SELECT note FROM states WHERE release = ? AND state = 'released'", (entry,)
        ).fetchall()
    finally:
        db.close()
    for problem in chain_problems(
        key, keyed_row_hash(key, "1", "meta", (seq, ledger, time)), chain_rows, rows
    ):
        raise WrongError(problem)
    account = folder.account
    release_hashes = {number: entry for number, place, entry in chain_rows if place == "releases"}
    missing_entries = [
        r["entry"] for r in account["releases"] if release_hashes.get(r["entry"]) != r["hash"]
    ]
    require(
        ledger == account["opened"]["ledger"] and not missing_entries,
        f"entries {missing_entries[:5]} of the account are not in this ledger",
    )
    if settings is None or json.loads(settings[0]).get("signed_by") != folder.signature["key"]:
        raise WrongError("it was to be signed by another key")
    require(bool(release_notes), "the ledger does not note that this release left")
    current_hashes = {**folder.hashes, SIGNED: folder.signature_hash}
    changed_files = [
        name
        for name, noted_hash in json.loads(release_notes[-1][0]).items()
        if current_hashes.get(name) != noted_hash
    ]
    require(
        not changed_files, f"not as they were noted when it left: {', '.join(changed_files)[:300]}"
    )
    return (
        f"{len(chain_rows)} entries are chained; the account's {len(account['releases'])} are "
        "among them, this as "
        "it left"
    )


def _check_tables(folder: ReleaseFolder) -> str:
    """Check answers.csv, and synthetic.csv where it holds people; return what was found."""
    found = check_answers(folder)
    stated = folder.facts.get("synthetic_people")
    if stated is None:
        return found
    _check_synthetic_people(folder, stated)
    return f"{found}; {stated['count']} synthetic people"


def _check_synthetic_people(folder: ReleaseFolder, stated: dict) -> None:
    """Raise WrongError unless synthetic.csv holds as many people as stated, each as it must be.

    Their ids are invented, one after the other; each has as many rows as the column rows says, and
    one value in each of the person's columns.
    """
    protects = folder.facts["protects"]
    require(bool(protects.get("row_totals")), "people are there, and no totals of rows")
    names = [stated["column"], *folder.facts["schema"]["columns"]]
    rows = csv.reader(folder.lines("synthetic.csv"), strict=True)
    _check_people_header(next(rows, []), names)
    rows_position = names.index("rows")
    shared = [names.index(name) for name in (*protects.get("person_columns", []), "rows")]
    people = 0
    first: list[str] = []
    remaining = 0
    for row in rows:
        require(len(row) == len(names), f"synthetic.csv: line {rows.line_num} has other columns")
        if remaining == 0:
            people += 1
            first = row
            remaining = int(row[rows_position])
            require(
                1 <= remaining <= protects["row_limit"], f"synthetic.csv: {remaining} rows a person"
            )
        remaining -= 1
        require(
            row[0] == f"synthetic-{people}",
            f"synthetic.csv: line {rows.line_num} is not of the invented person {people}",
        )
        require(
            all(row[position] == first[position] for position in shared),
            f"synthetic.csv: line {rows.line_num} contradicts the person's other rows",
        )
    require(
        people == stated["count"] and remaining == 0,
        f"synthetic.csv has {people} people, and {stated['count']} are stated",
    )


def _check_people_header(header: list, names: list) -> None:
    """Raise WrongError unless a header has these names, as they are or disarmed as formulas."""
    require(names[0] not in names[1:], "the column of invented ids is one of the schema")
    same_names = [text in (name, f"'{name}") for text, name in zip(header, names, strict=False)]
    require(
        len(header) == len(names) and all(same_names), "synthetic.csv has other columns than stated"
    )


def run_checks(
    path: Path, key: str | None = None, earlier: Path | None = None, ledger: Path | None = None
) -> list:
    """Run every check on a folder and return (holds, name, finding) of each.

    No fault of a folder stops the later checks.
    """
    checks_by_name: dict[str, tuple[Callable[..., str], Any]] = {
        "files": (check_files, ()),
        "signature": (_check_signature, (key,)),
        "fields": (_check_fields, ()),
        "claim": (check_claim, ()),
        "charges": (_check_charges, ("charges",)),
        "reserved": (_check_charges, ("reserved",)),
        "promise": (check_promise, ()),
        "account": (_check_account, ()),
        "receipt": (_check_receipt, ()),
        "total": (_check_total_budget, ()),
        "answers": (_check_tables, ()),
        "documents": (check_documents, ()),
        **({"earlier": (_check_earlier_release, (earlier,))} if earlier else {}),
        **({"ledger": (_check_ledger, (ledger,))} if ledger else {}),
    }
    results = []
    try:
        folder = ReleaseFolder(path)
    except Exception as error:  # a changed folder may hold anything
        return [(False, "files", (str(error) or type(error).__name__)[:300])]
    for name, (check, arguments) in checks_by_name.items():
        try:
            results.append((True, name, check(folder, *arguments)))
        except ImportError as error:
            results.append(
                (False, name, f"cannot be checked: {error}; pip install scipy cryptography")
            )
        except Exception as error:  # as above
            results.append((False, name, (str(error) or type(error).__name__)[:300]))
    return results


def main() -> None:
    """Print one line for each check; exit with 1 unless all hold.

    Exit with 2 where nothing can be judged.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the release to judge")
    parser.add_argument(
        "--key", metavar="HEX", help="the owner's public key, from another place than this folder"
    )
    parser.add_argument(
        "--earlier", type=Path, metavar="FOLDER", help="an earlier release about the same data set"
    )
    parser.add_argument(
        "--ledger", type=Path, metavar="L.sqlite", help="the ledger itself, for its owner"
    )
    arguments = parser.parse_args()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that has no ε
    if Path(__file__).resolve().parent == arguments.folder.resolve():
        sys.stderr.write(
            f"{escape_control_chars(__file__)} {INSIDE_FOLDER_MESSAGE}: python -I verify.py "
            "FOLDER --key HEX\n"
        )
        sys.exit(2)
    results = run_checks(arguments.folder, arguments.key, arguments.earlier, arguments.ledger)
    for holds, name, finding in results:
        sys.stdout.write(f"{'ok  ' if holds else 'FAIL'} {name}: {escape_control_chars(finding)}\n")
    if not all(holds for holds, _, _ in results):
        sys.exit("NOT SOUND")
    key = ReleaseFolder(arguments.folder).signature["key"]
    sys.stdout.write(f"on the owner's word alone: {UNCHECKED_CLAIMS}\n")
    unchecked = f", but the key was not checked: compare {key} with the one published elsewhere"
    if arguments.key is not None:
        conclusion = ": this release is as its owner signed it"
    else:
        conclusion = unchecked
    sys.stdout.write(f"sound{conclusion}\n")


if __name__ == "__main__":
    main()
