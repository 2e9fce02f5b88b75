#!/usr/bin/env python3
"""Verify the release that this file lies in: its files, its signature, its account and what it says it costs.

    python verify.py [--key HEX] [--earlier FOLDER] [--ledger L.sqlite]

One line a check; exit code 0 where all hold. It needs scipy and cryptography and nothing of the program that made the
release: its accounting is its own. Whoever changes this folder may change this file too: take it from a place that you
trust, and compare the key with the one that the owner of the ledger publishes elsewhere (`--key`).

`--earlier` is the folder of an earlier release about the same data set, signed by the same key, which this one's
account must continue; `--ledger` is for the owner: the whole chain of the ledger, and this release's entry in it, with
the key that was to sign and the signature that was noted when it left.
"""

import argparse
import hashlib
import hmac
import io
import json
import math
import os
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import written_out
from .recount import NEAR, PURE, ROOM, WrongError, composed, cost, lost, need, stated

SIGNED = "signature.json"
LONGEST_TEXT, LONGEST_FILE, MOST_FILES = 1 << 26, 1 << 34, 1000  # bytes of a JSON file and of any, files of a release
MOST_ROWS = 100_000  # most rows of an account
CHAINED = ("datasets", "versions", "releases", "states")  # tables of a ledger whose rows are chained


# What is signed


def statement(files: dict, key: str) -> bytes:
    """The bytes that a ledger's owner signs: every file's SHA-256, and the public key."""
    return json.dumps({"files": files, "format": 1, "key": key}, sort_keys=True).encode()


def hashes(folder: Path) -> dict:
    """The SHA-256 of every file of a release except the signature."""
    names = sorted(name for name in os.listdir(folder) if name != SIGNED)
    need(len(names) <= MOST_FILES, f"{len(names)} files are there, more than the {MOST_FILES} that a release may have")
    return {name: digest(folder / name) for name in names}


def digest(path: Path) -> str:
    """The SHA-256 of a file; "no file" for a link, a pipe, a device or a folder."""
    with opened_regular(path) as file:
        return "no file" if file is None else hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


@contextmanager
def opened_regular(path: Path, longest: int = LONGEST_FILE) -> Iterator[BinaryIO | None]:
    """The opened file, or None for anything that is not a regular file, or longer than `longest` bytes."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            yield None
            return
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise WrongError(f"{path.name}: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if found.st_size > longest:
            raise WrongError(f"{path.name}: larger than {longest >> 20} MB")
        yield file if stat.S_ISREG(found.st_mode) else None


def link(previous: str, row: dict) -> str:
    """The hash that links a release to the one before in its data set's account."""
    kept = {name: value for name, value in row.items() if name != "link"}
    return hashlib.sha256(f"{previous}{json.dumps(kept, sort_keys=True)}".encode()).hexdigest()


_in_json = json.JSONEncoder(default=repr).encode


def keyed(key: bytes, previous: str, place: str, row: Iterable) -> str:
    """The keyed hash of a ledger's row and of the hash before it."""
    text = _in_json([previous, place, list(row)])
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def broken(key: bytes, previous: str, entries: Iterable, rows: dict) -> list:
    """Descriptions of changed, removed or inserted rows of a ledger, found by following its chain.

    `entries` are those of the chain, `rows` those of each table by their number.
    """
    found = []
    left = {place: dict(own) for place, own in rows.items()}
    for number, (seq, place, entry) in enumerate(entries, start=1):
        if seq != number:
            return [*found, f"entry {number} of the chain was removed"]
        row = left.get(place, {}).pop(seq, None)
        if row is None:
            found.append(f"row {seq} of {str(place)[:40]} was removed")
        elif keyed(key, previous, place, row) != entry:
            found.append(f"row {seq} of {place}, or its entry in the chain, was changed")
        previous = entry
    return found + [f"row {seq} of {place} was inserted" for place, own in left.items() for seq in own]


# What is checked


def _json(folder: Path, name: str) -> dict:
    return json.loads(_text(folder / name))


def _text(path: Path) -> str:
    with opened_regular(path, LONGEST_TEXT) as file:
        if file is None:
            raise WrongError(f"{path.name}: no regular file")
        return file.read(LONGEST_TEXT).decode("utf-8")


def _files(folder: Path) -> str:
    signed, found = _json(folder, SIGNED)["files"], hashes(folder)
    wrong = sorted(name for name in signed.keys() | found.keys() if signed.get(name) != found.get(name))
    need(not wrong, f"changed, missing or added: {', '.join(wrong)[:300]}")
    return f"{len(found)} files are as they were signed"


def _signature(folder: Path, key: str | None = None) -> str:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    kept = _json(folder, SIGNED)
    if _text(folder / SIGNED) != json.dumps(kept, indent=1, sort_keys=True) + "\n":
        raise WrongError(f"{SIGNED} is not as it was written")
    if kept.keys() != {"files", "format", "key", "signature"} or kept["format"] != 1:
        raise WrongError(f"{SIGNED} is of another format")
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(kept["key"]))
        public.verify(bytes.fromhex(kept["signature"]), statement(kept["files"], kept["key"]))
    except (InvalidSignature, ValueError):
        raise WrongError("not signed by the key that it names") from None
    if key is not None and key.strip().lower() != kept["key"]:
        raise WrongError(f"signed by {kept['key']}, which is not the key that was given")
    hint = "the key that was given" if key is not None else "compare this key with the owner's"
    return f"signed by {kept['key']} ({hint})"


def _claim(folder: Path) -> str:
    facts, found = _json(folder, "release.json"), hashes(folder)
    wrong = [name for name, digest in facts["files"].items() if found.get(name) != digest]
    if wrong or not facts["files"]:
        raise WrongError(f"release.json names other files: {', '.join(wrong)[:300]}")
    schema = json.dumps(facts["schema"], sort_keys=True).encode()
    if hashlib.sha256(schema).hexdigest() != facts["schema_sha256"]:
        raise WrongError("the schema is not the one of its SHA-256")
    return "release.json names the data files and the schema that are here"


def _charges(folder: Path, which: str) -> str:
    told = _json(folder, "release.json")["promise"]
    found = composed(told[which], told["epsilon"], told["delta"], told["accounting"])
    need(
        found <= told["epsilon"] * (1 + NEAR),
        f"together ε = {found:.8g} at δ = {told['delta']:g}; promised is {told['epsilon']:g}",
    )
    return f"together ε = {found:.6g} of the promised {told['epsilon']:g} at δ = {told['delta']:g}"


def _account(folder: Path) -> str:
    account, previous = _json(folder, "account.json"), ""
    for row in [account["opened"], *account["releases"]]:
        if link(previous, row) != row["link"]:
            raise WrongError(f"the link of entry {row.get('entry', 'one')} does not follow from the entry before it")
        previous = row["link"]
    need(len(account["releases"]) <= MOST_ROWS, f"more than {MOST_ROWS} releases")
    entries = [row["entry"] for row in account["releases"]]
    need(bool(entries) and entries == sorted(set(entries)), "its entries are missing or not in order")
    return f"{len(entries)} release(s) of this data set, linked without a gap"


def _receipt(folder: Path) -> str:
    facts, account = _json(folder, "release.json"), _json(folder, "account.json")
    receipt, last = facts["ledger"], account["releases"][-1]
    mine = {"id": account["opened"]["ledger"], **{name: last[name] for name in ("entry", "hash", "link")}}
    need({name: receipt.get(name) for name in mine} == mine, "release.json is a receipt for another entry")
    told, dataset = facts["promise"], facts["dataset"]
    charged = (last["epsilon"], last["delta"], last["events"], last["total_epsilon"])
    if charged != (told["epsilon"], told["delta"], told["reserved"], dataset["spent"]["epsilon"]):
        raise WrongError("the use of the budget in the ledger is not what release.json says")
    fixed = {"accounting": dataset["accounting"], "failure": dataset["failure"], **dataset["total"]}
    need(
        {name: account["opened"][name] for name in fixed} == fixed,
        "the total budget is not the one that was fixed at first use",
    )
    return f"entry {last['entry']} of ledger {receipt['id']} holds exactly this use of the budget"


def _total(folder: Path) -> str:
    account = _json(folder, "account.json")
    fixed, added, failed = account["opened"], 0.0, 0.0
    for row in account["releases"]:
        events = row["events"]
        composed(events, fixed["epsilon"], 1.0, PURE)  # what no event can be is named
        added += math.fsum(e["times"] * cost(e, fixed["accounting"]) for e in events)
        failed += math.fsum(e["times"] * lost(e, fixed["epsilon"]) for e in events)
        left = fixed["delta"] - fixed["failure"] if fixed["accounting"] != PURE else 0.0
        found = stated(added, left, fixed["accounting"]) if failed <= fixed["failure"] * ROOM else math.inf
        if not abs(found - row["total_epsilon"]) <= NEAR * found:
            raise WrongError(f"after entry {row['entry']}: ε = {found:.8g}; {row['total_epsilon']:.8g} is stated")
        need(
            found <= fixed["epsilon"] * (1 + NEAR),
            f"after entry {row['entry']} ε = {found:.8g} is used of {fixed['epsilon']:g}",
        )
    need(bool(account["releases"]), "no budget was used")
    return f"all releases so far: ε = {found:.6g} of {fixed['epsilon']:g} at δ = {fixed['delta']:g}"


def _earlier(folder: Path, other: Path) -> str:
    for check in (_files, _signature, _claim, _account, _receipt):
        try:
            check(other)
        except WrongError as error:
            raise WrongError(f"the earlier release itself is not sound: {error}") from None
    need(_json(other, SIGNED)["key"] == _json(folder, SIGNED)["key"], "the earlier release was signed by another key")
    then, now = _json(other, "account.json"), _json(folder, "account.json")
    if then["opened"] != now["opened"] or then["releases"] != now["releases"][: len(then["releases"])]:
        raise WrongError("this account does not continue the earlier one")
    return f"continues the account of entry {then['releases'][-1]['entry']}"


def _ledger(folder: Path, path: Path) -> str:
    """The check against the owner's own ledger file, the only one with the key of the chain."""
    need(stat.S_ISREG(os.stat(path).st_mode), "the ledger is no regular file")
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        ((seq, ledger, key, time),) = db.execute("SELECT seq, ledger, key, time FROM meta").fetchall()
        chain = db.execute("SELECT seq, place, hash FROM chain ORDER BY seq").fetchall()
        rows = {place: {r[0]: r for r in db.execute(f"SELECT * FROM {place}").fetchall()} for place in CHAINED}
        entry = _json(folder, "release.json")["ledger"]["entry"]
        settings = db.execute("SELECT settings FROM releases WHERE seq = ?", (entry,)).fetchone()
        noted = db.execute("SELECT note FROM states WHERE release = ? AND state = 'released'", (entry,)).fetchall()
    finally:
        db.close()
    for problem in broken(key, keyed(key, "1", "meta", (seq, ledger, time)), chain, rows):
        raise WrongError(problem)
    account = _json(folder, "account.json")
    known = {number: entry for number, place, entry in chain if place == "releases"}
    gone = [r["entry"] for r in account["releases"] if known.get(r["entry"]) != r["hash"]]
    need(
        ledger == account["opened"]["ledger"] and not gone, f"entries {gone[:5]} of the account are not in this ledger"
    )
    if settings is None or json.loads(settings[0]).get("signed_by") != _json(folder, SIGNED)["key"]:
        raise WrongError("it was to be signed by another key")
    need(bool(noted), "the ledger does not note that this release left")
    found = {**hashes(folder), SIGNED: digest(folder / SIGNED)}
    wrong = [name for name, kept in json.loads(noted[-1][0]).items() if found.get(name) != kept]
    need(not wrong, f"not as they were noted when it left: {', '.join(wrong)[:300]}")
    return f"{len(chain)} entries are chained; the account's {len(account['releases'])} are among them, this as it left"


def checks(folder: Path, key: str | None = None, earlier: Path | None = None, ledger: Path | None = None) -> list:
    """The result (holds, name, finding) of every check; no fault of a folder stops the later checks."""
    asked: dict[str, tuple[Callable[..., str], Any]] = {
        "files": (_files, ()), "signature": (_signature, (key,)), "claim": (_claim, ()),
        "charges": (_charges, ("charges",)), "reserved": (_charges, ("reserved",)), "account": (_account, ()),
        "receipt": (_receipt, ()), "total": (_total, ()),
        **({"earlier": (_earlier, (earlier,))} if earlier else {}),
        **({"ledger": (_ledger, (ledger,))} if ledger else {}),
    }  # fmt: skip
    found = []
    for name, (check, more) in asked.items():
        try:
            found.append((True, name, check(folder, *more)))
        except ImportError as error:
            found.append((False, name, f"cannot be checked: {error}; pip install scipy cryptography"))
        except Exception as error:  # a changed folder may hold anything
            found.append((False, name, (str(error) or type(error).__name__)[:300]))
    return found


def main() -> None:
    """Print one line for each check; exit with 1 unless all hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--key", metavar="HEX", help="the owner's public key, from another place than this folder")
    parser.add_argument("--earlier", type=Path, metavar="FOLDER", help="an earlier release about the same data set")
    parser.add_argument("--ledger", type=Path, metavar="L.sqlite", help="the ledger itself, for its owner")
    given = parser.parse_args()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that has no ε
    folder = Path(__file__).resolve().parent
    found = checks(folder, given.key, given.earlier, given.ledger)
    for holds, name, words in found:
        sys.stdout.write(f"{'ok  ' if holds else 'FAIL'} {name}: {written_out(words)}\n")
    if not all(holds for holds, _, _ in found):
        sys.exit("NOT SOUND")
    key = json.loads(_text(folder / SIGNED))["key"]
    unchecked = f", but the key was not checked: compare {key} with the one published elsewhere"
    sys.stdout.write(f"sound{': this release is as its owner signed it' if given.key is not None else unchecked}\n")


if __name__ == "__main__":
    main()
