"""The verifier of a release: what it accepts, that no digit can change, and that its accounting is
right on its own.
"""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cryptography
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import Budget, PrivacyUnit, read_json
from dpcore.privacy.accounting import (
    ACCOUNTANT_BY_NAME,
    ACCOUNTANTS,
    Drawn,
    LifetimeBudget,
    LossDistributionAccountant,
    OptimalAccountant,
    conversions,
    events_from_json,
)
from dpcore.privacy.accounting.events import events_to_json
from dpcore.release.evidence import content_checks, recount, registry, verifier
from dpcore.release.evidence.card import card_page
from dpcore.release.evidence.facts_label import label_svg
from dpcore.release.evidence.review import board_page, review_page
from dpcore.release.evidence.standalone_verifier import VERIFIER_SOURCE
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from dpcore.release.ledger.signing import load_signing_key
from tests.cli.command_files import write_files
from tests.cli.test_release import order
from tests.release.ledger.ledger_charges import new_ledger
from tests.release.ledger.test_ledger_file import EVENT
from tests.small_problems import (
    approx,
    check_command_refused,
    expect_error,
    module_fixture,
    parametrize,
    run_command,
    time_limit,
    write_json,
)
from tests.source_map import Source

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(Path(cryptography.__file__).parents[1]),
}


def release(place, out, algorithm, *more):
    paths = {
        "schema": place / "s.json",
        "ledger": place / "l.sqlite",
        "table": str(place / "t.csv"),
    }
    return order(
        place / out,
        "--rows=20",
        *more,
        algorithm=algorithm,
        queries="marginals:1",
        total=None,
        **paths,
    )


@module_fixture
def made(tmp_path_factory):
    """A folder with a ledger and two releases about one data set."""
    place = tmp_path_factory.mktemp("releases")
    write_files(place)
    run_command(
        release(place, "a", "mwem", "--epsilon=.3", "--total-epsilon=2", "--total-delta=1e-6")
    )
    run_command(release(place, "b", "gaussian_maxent", "--epsilon=.2"))
    return place


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the second release, to be tampered with."""
    return shutil.copytree(made / "b", tmp_path / "b")


def wrong(folder, **options):
    """The checks that do not hold."""
    return {name for holds, name, _ in verifier.run_checks(folder, **options) if not holds}


def trusted(folder):
    """A copy of the verifier that lies elsewhere."""
    place = folder.with_name(f"{folder.name}-trusted")
    place.mkdir(exist_ok=True)
    (place / "verify.py").write_text(VERIFIER_SOURCE, encoding="utf-8")
    return place / "verify.py"


def run(folder, *options):
    command = [sys.executable, str(trusted(folder)), str(folder), *map(str, options)]
    return subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT, cwd="/", timeout=120
    )


def test_a_release_verifies_itself_without_this_program(made):
    key = read_json(made / "b" / "signature.json")["key"]
    assert not wrong(made / "a", key=key, ledger=made / "l.sqlite")
    done = run(made / "b", "--key", key, "--earlier", made / "a", "--ledger", made / "l.sqlite")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok   ") == 14
    assert "FAIL" not in done.stdout
    assert done.stdout.splitlines()[-1] == "sound: this release is as its owner signed it"
    last = run(made / "b", "--ledger", made / "l.sqlite").stdout.splitlines()[-1]
    assert (
        last
        == f"sound, but the key was not checked: compare {key} with the one published elsewhere"
    )
    verifier = (made / "b" / "verify.py").read_text()
    assert not foreign(verifier)
    assert foreign(f"{verifier}\nimport pandas\nfrom dpcore.core.errors import InputError") == {
        "pandas",
        "dpcore",
    }


def foreign(code):
    """The packages that a verifier imports and that it may not need."""
    named = Source({"verify.py": code}).packages("verify.py")
    return named - {*sys.stdlib_module_names, "numpy", "scipy", "cryptography"}


def flips(content, most):
    """The content with one digit changed, or a byte of what is no text, at up to so many places."""
    text = b"\xff" not in content  # which UTF-8 never holds, and a packed file does
    places = [m.start() for m in re.finditer(rb"[0-9]" if text else rb"(?s).", content)]
    step = max(1, len(places) // most)
    other = [b"%d" % ((content[i] - 47) % 10) if text else bytes([content[i] ^ 1]) for i in places]
    return [
        content[:i] + b + content[i + 1 :] for i, b in list(zip(places, other, strict=True))[::step]
    ]


def test_a_changed_digit_fails_wherever_it_stands(folder):
    assert not wrong(folder)
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        changed = flips(content, 100 if path.name == "signature.json" else 15)
        assert changed
        for other in changed:
            path.write_bytes(other)
            assert wrong(folder) & {"files", "signature"}, f"{path.name}: {other[:80]!r}"
        path.write_bytes(content)
    assert not wrong(folder)


def test_its_own_digits_cannot_change_either(folder, monkeypatch, capsys):
    """Run by itself, as whatever decides the exit code stands in it too."""
    path = trusted(folder)
    content = path.read_bytes()
    monkeypatch.setattr(sys, "argv", ["verify.py", str(folder)])
    monkeypatch.setattr(sys, "path", [*sys.path])

    def left(source):
        for place in (path, folder / "verify.py"):
            place.write_bytes(source)
        try:
            exec(compile(source, path, "exec"), {"__name__": "__main__", "__file__": str(path)})
        except SystemExit as end:
            return end.code
        except Exception as error:
            return error
        return None

    with time_limit(120):
        assert left(content) is None
        assert not [i for i, other in enumerate(flips(content, 250)) if left(other) in (None, 0)]
    assert "FAIL files: changed, missing or added: verify.py" in capsys.readouterr().out


@parametrize("name", ["synthetic.csv", "verify.py"])
def test_missing_and_added_files_are_named(folder, name):
    (folder / name).rename(folder / "other")
    assert "files" in wrong(folder)
    (folder / "other").rename(folder / name)
    (folder / "more").write_text("x")
    assert wrong(folder) == {"files"}


# What even the owner's own signature does not carry

NEED_FACTS = {
    "claim",
    "charges",
    "reserved",
    "promise",
    "account",
    "receipt",
    "total",
    "answers",
    "documents",
}


def resigned(folder, made, name, change):
    """What is found when the owner changes a file and signs again."""
    content = read_json(folder / name)
    change(content)
    write_json(folder / name, content)
    load_signing_key(made / "l.sqlite").sign(folder)
    return wrong(folder)


def set_at(path, value):
    """A change of what stands there: keys and places of a list, each behind the one that holds it."""
    *where, last = (int(step) if step.isdigit() else step for step in path.split("/"))

    def change(content):
        for step in where:
            content = content[step]
        content[last] = value

    return change


@parametrize(
    "path, value, caught",
    [
        ("promise/epsilon", 0.1, "charges reserved receipt promise"),
        ("promise/delta", 1e-9, "charges reserved receipt promise"),
        ("promise/charges/0/mu", 2.0, "charges reserved promise"),
        ("promise/charges/0/mu", -1.0, "fields"),
        ("promise/charges/0/times", 40, "charges reserved promise"),
        ("promise/reserved/0/times", 0, "fields"),
        ("promise/reserved/0/mu", 9.0, "reserved receipt promise"),
        ("promise/reserved/0/mu", 1e-3, "reserved receipt promise"),
        ("promise/accounting", "faith", "fields"),
        ("promise/accounting", recount.PURE, "charges reserved promise"),
        ("promise/means/guess", 0.501, "promise"),
        ("promise/means/odds", 1.01, "promise"),
        ("promise/means/except", 1e-12, "promise"),
        ("promise/cost", "μ²=0.001", "promise"),
        ("schema_sha256", "0" * 64, "claim"),
        ("files/answers.csv", "0" * 64, "claim"),
        ("queries/count", 3, "answers"),
        ("utility/smallest_group", 3, "answers"),
        ("utility/sentence", "Good for: all.", "answers"),
        ("utility/promised", 1e-9, "answers"),
        ("utility/predicted/misplaced", [0.3, 0.1], "answers"),
        ("utility/predicted/largest", [0, 2], "fields"),
        ("utility/predicted/basis", "faith", "fields"),
        ("protects/rows_per_person", 400, "claim answers"),
        ("protects/count", "people", "claim"),
        ("protects/count", "rows", "fields"),
        ("protects/row_limit", 3, "claim"),
        ("protects/neighbours", "tables that differ in a cell", "claim"),
        ("bounds", "measured from the data, protected, with this release: age", "claim"),
        ("ledger/entry", 4, "receipt"),
        ("ledger/hash", "0" * 64, "receipt"),
        ("time", "1999-01-01T00:00:00+00:00", "receipt"),
        ("dataset/version", 3, "receipt"),
        ("dataset/spent/epsilon", 0.1, "receipt"),
        ("dataset/spent/delta", 1e-9, "receipt"),
        ("dataset/total/epsilon", 9.0, "receipt"),
        ("releases/0/events", [], "fields"),
        ("releases/0/events/0/times", 2, "account total"),
        ("releases/0/time", "1999", "fields"),
        ("opened/epsilon", 0.1, "account receipt total"),
        ("opened/failure", 1e-9, "account receipt total"),
        ("releases", [], "fields"),
    ],
)
def test_a_lie_that_its_owner_signs_is_named(made, folder, path, value, caught):
    name = "account.json" if path.startswith(("opened", "releases")) else "release.json"
    found = resigned(folder, made, name, set_at(path, value))
    if caught == "fields":  # nothing is computed from what may be anything
        assert "fields" in found
        assert found <= {"fields", *NEED_FACTS}
    else:
        assert found - {"documents"} == {*caught.split()}, "and the card may show another number"


ONCE = PrivacyUnit("id", 3, counts_people=True)
SEVERAL = PrivacyUnit("id", 3)
PEOPLE_CLAIM = {
    "unit": ONCE.protected_text,
    "neighbours": ONCE.neighbours_text,
    "records": 20,
    "rows_per_person": 1,
    "count": "people",
    "row_limit": 3,
    "row_totals": True,
    "person_columns": ["a"],
    "successions": ["a"],
    "time_column": "b",
}
PEOPLE_SCHEMA = {
    "a": {},
    "b": {},
    "earlier a": {},
    "next a": {"values": ["only one row"]},
    "rows": {"low": 1, "high": 3},
}


@parametrize(
    "claim, columns",
    [
        ({"unit": SEVERAL.protected_text}, {}),
        ({"unit": SEVERAL.protected_text, "neighbours": SEVERAL.neighbours_text}, {}),
        (
            {
                "unit": SEVERAL.protected_text,
                "neighbours": f"tables that differ in {SEVERAL.protected_text}, replaced by any "
                "others, and have as many people; n is public, the number of rows is not",
            },
            {},
        ),
        ({"neighbours": SEVERAL.neighbours_text}, {}),
        ({"count": None}, {}),
        ({"row_limit": 2}, {"rows": {"low": 1, "high": 2}}),
        ({"rows_per_person": 3}, {}),
        ({"person_columns": ["c"]}, {}),
        ({"successions": ["b"]}, {}),
        ({"successions": []}, {}),
        ({"time_column": "c"}, {}),
        ({"time_column": None}, {}),
        ({}, {"next a": {"values": ["x"]}}),
        ({}, {"rows": {"low": 1, "high": 2}}),
        ({}, {"rows": {"low": 0, "high": 3}}),
        ({}, {"rows": {}}),
    ],
)
def test_a_claim_that_everyone_counts_once_agrees_with_itself(claim, columns):
    content_checks._check_unit(PEOPLE_CLAIM, PEOPLE_SCHEMA)
    with pytest.raises(recount.WrongError):
        content_checks._check_unit(PEOPLE_CLAIM | claim, PEOPLE_SCHEMA | columns)


PEOPLE_ROWS = ["synthetic-1,0,x,2", "synthetic-1,1,x,2", "synthetic-2,1,y,1"]


def check_people(lines=PEOPLE_ROWS, header="id,a,sex,rows", count=2, **protects):
    """Judge synthetic people as verify.py does, of columns a, sex and rows."""
    facts = {
        "protects": {"row_totals": True, "row_limit": 3, "person_columns": ["sex"]} | protects,
        "schema": {"columns": {"a": {}, "sex": {}, "rows": {}}},
    }
    folder: Any = SimpleNamespace(facts=facts, lines=lambda _: [f"{header}\n", *lines])
    verifier._check_synthetic_people(folder, {"count": count, "column": "id"})


@parametrize(
    "change",
    [
        {"lines": ["synthetic-1,0,x,2", "synthetic-1,1,y,2", PEOPLE_ROWS[2]]},
        {"lines": ["synthetic-1,0,x,2", "synthetic-1,1,x,1", PEOPLE_ROWS[2]]},
        {"lines": [*PEOPLE_ROWS, "synthetic-2,0,y,1"]},
        {"lines": [*PEOPLE_ROWS, "synthetic-3,0,y,2"]},
        {"lines": [*PEOPLE_ROWS[:2], "17,1,y,1"]},
        {"lines": [*PEOPLE_ROWS[:2], "synthetic-1,1,x,1"]},
        {"lines": [*PEOPLE_ROWS[:2], "synthetic-2,1,y,0"]},
        {"lines": [*PEOPLE_ROWS[:2], "synthetic-2,1,y"]},
        {"count": 3},
        {"header": "id,a,rows,sex"},
        {"header": "name,a,sex,rows"},
        {"row_limit": 1},
        {"row_totals": False},
    ],
)
def test_synthetic_people_are_as_many_and_have_the_rows_that_they_say(change):
    check_people([f"{row}\n" for row in PEOPLE_ROWS])
    check_people([f"{row}\n" for row in PEOPLE_ROWS], header="'id,a,sex,rows")
    lines = [f"{row}\n" for row in change.pop("lines", PEOPLE_ROWS)]
    with pytest.raises(recount.WrongError):
        check_people(lines, **change)


def test_an_account_linked_anew_shows_beside_an_earlier_folder_and_the_ledger(made, folder):
    def anew(content):
        previous = ""
        content["releases"][0]["time"] = "1999-01-01T00:00:00+00:00"
        for row in [content["opened"], *content["releases"]]:
            row["link"] = previous = verifier.link(previous, row)

    assert resigned(folder, made, "account.json", anew) == {"receipt"}
    link = read_json(folder / "account.json")["releases"][-1]["link"]
    assert resigned(folder, made, "release.json", set_at("ledger/link", link)) == set()
    assert wrong(folder, earlier=made / "a") == {"earlier"}
    ledger = shutil.copy(made / "l.sqlite", folder.with_name("l.sqlite"))
    assert wrong(folder, ledger=ledger) == {"ledger"}, "not as it left"
    assert not wrong(made / "b", ledger=ledger)
    content = bytearray(ledger.read_bytes())
    content[content.index(b"Gaussian")] ^= 1
    ledger.write_bytes(content)
    assert wrong(made / "b", ledger=ledger) == {"ledger"}


def test_another_key_signs_another_release(made, folder):
    key = load_signing_key(folder.with_name("other.sqlite"))
    key.sign(folder)
    assert not wrong(folder)
    assert wrong(folder, key=load_signing_key(made / "l.sqlite").public) == {"signature"}
    assert wrong(folder, key="") == {"signature"}
    assert not wrong(folder, key=key.public.upper())


def rewrite(folder, name, change):
    """Change a JSON file of a release."""
    content = read_json(folder / name)
    change(content)
    write_json(folder / name, content)
    return content


def forge(folder, name):
    """Exchange what two lines of a data file say, and tell release.json and the card."""
    path = folder / name
    head, first, second, *rest = path.read_text().splitlines()
    (label, one), (other, two) = (
        re.match(r'("[^"]*"|[^,]*),(.*)', line).groups() for line in (first, second)
    )
    path.write_text("\n".join([head, f"{label},{two}", f"{other},{one}", *rest]) + "\n")
    facts = rewrite(
        folder, "release.json", lambda facts: facts["files"].update({name: verifier.digest(path)})
    )
    (folder / "card.html").write_text(card_page(facts, 1))


def invent(folder):
    """Say that there was one more release than in truth, which cost next to nothing."""
    account = read_json(folder / "account.json")
    events = [{"kind": "Concentrated", "rho": 1e-9, "failure": 0.0, "times": 1}]
    fixed = account["opened"]
    every = [e for r in account["releases"] for e in r["events"]] + events
    total = LifetimeBudget(
        Budget(fixed["epsilon"], fixed["delta"]),
        ACCOUNTANT_BY_NAME[fixed["accounting"]],
        fixed["failure"],
    )
    row = account["releases"][-1] | {
        "entry": account["releases"][-1]["entry"] + 9,
        "hash": "ab" * 32,
    }
    row |= {
        "events": events,
        "total_epsilon": total.total_epsilon(events_from_json(every)),
        "epsilon": 0.01,
    }
    row["link"] = verifier.link(account["releases"][-1]["link"], row)
    account["releases"].append(row)
    write_json(folder / "account.json", account)

    def told(facts):
        facts["ledger"].update({name: row[name] for name in ("entry", "hash", "link")})
        facts["promise"].update({"epsilon": 0.01, "charges": events, "reserved": events})
        facts["promise"].update({"accounting": recount.ZCDP, "cost": "ρ=1e-09"})
        odds, rarely = recount.odds_bound(0.01, facts["promise"]["delta"])
        guess = recount.right_guess_chance(events, 0.01, facts["promise"]["delta"])
        facts["promise"]["means"] = {"guess": guess, "odds": odds, "except": rarely}
        facts["dataset"]["spent"]["epsilon"] = row["total_epsilon"]

    facts = rewrite(folder, "release.json", told)
    (folder / "card.html").write_text(card_page(facts, 1))
    (folder / "review.html").write_text(review_page(facts, 1))
    (folder / "board.html").write_text(board_page(facts, 1))
    (folder / "label.svg").write_text(label_svg(facts, 1))
    (folder / "registry.yaml").write_text(registry.registry_entry(facts, 3))
    proof = (folder / "proof.html").read_text()
    (folder / "proof.html").write_text(re.sub(r"≤ [\d.]+ at", "≤ 0.01 at", proof))


ATTACKS = {
    "rows": lambda folder: forge(folder, "synthetic.csv"),
    "answers": lambda folder: forge(folder, "answers.csv"),
    "noise": lambda folder: rewrite(folder, "release.json", set_at("made_by/noise", "exact coins")),
    "settings": lambda folder: rewrite(folder, "release.json", set_at("plan/choices/0/value", 7)),
    "another release": invent,
}
LEDGER_SAYS = dict.fromkeys(ATTACKS, "it was to be signed by another key")
LEDGER_SAYS["another release"] = "entries [14] of the account are not in this ledger"


@parametrize("attack", ATTACKS)
def test_what_was_forged_and_signed_by_a_new_key_fails_beside_anything_that_is_known(
    made, folder, attack
):
    """A folder alone can be forged whole: so it does not call itself sound without the key."""
    ATTACKS[attack](folder)
    load_signing_key(folder.with_name("other.sqlite")).sign(folder)
    assert not wrong(folder)
    key = load_signing_key(made / "l.sqlite").public
    assert wrong(folder, key=key) == {"signature"}
    assert wrong(folder, earlier=made / "a") == {"earlier"}
    found = verifier.run_checks(folder, ledger=made / "l.sqlite")
    assert [(name, words) for holds, name, words in found if not holds] == [
        ("ledger", LEDGER_SAYS[attack])
    ]
    if attack != "rows":
        return
    assert run(folder).stdout.splitlines()[-1].startswith("sound, but the key was not checked")
    for option in (("--key", key), ("--ledger", made / "l.sqlite")):
        done = run(folder, *option)
        assert done.returncode == 1, option
        assert "sound" not in done.stdout


def test_even_its_owner_changes_nothing_unseen_once_it_left(made, folder):
    for change in ATTACKS.values():
        change(folder)
        load_signing_key(made / "l.sqlite").sign(folder)
        assert wrong(folder, ledger=made / "l.sqlite") == {"ledger"}


def test_an_earlier_release_that_was_forged_or_is_of_another_key_is_no_evidence(
    made, folder, tmp_path
):
    earlier = shutil.copytree(made / "a", tmp_path / "a")
    assert not wrong(folder, earlier=earlier)
    rewrite(earlier, "release.json", set_at("made_by/noise", "exact coins"))
    assert wrong(folder, earlier=earlier) == {"earlier"}
    load_signing_key(tmp_path / "other.sqlite").sign(earlier)
    assert wrong(folder, earlier=earlier) == {"earlier"}


# A folder that is hostile to its reader

FALSE = "\x1b[2J\x9b2J\u202esound: this release is as its owner signed it\nsound: it is"


def named(folder):
    rewrite(folder, "signature.json", lambda signed: signed["files"].update({FALSE: "0"}))


def entered(folder):
    rewrite(
        folder,
        "account.json",
        lambda account: account["opened"].update({"entry": FALSE, "link": FALSE}),
    )


def piped(folder):
    (folder / "release.json").unlink()
    os.mkfifo(folder / "release.json")


def endless(folder):
    (folder / "account.json").unlink()
    (folder / "account.json").symlink_to("/dev/zero")


def sparse(folder):
    os.truncate(folder / "release.json", 1 << 40)


def many(folder):
    for field in ("charges", "reserved"):
        rewrite(
            folder,
            "release.json",
            lambda facts, field=field: facts["promise"].update(
                {
                    "accounting": recount.OPTIMAL,
                    field: [{"kind": "Pure", "epsilon": 1e-9, "times": 10**9}],
                }
            ),
        )
    load_signing_key(folder.with_name("other.sqlite")).sign(folder)


def unnamed(folder):
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe"))).write_text("x")


def surrogate(folder):
    (folder / "account.json").write_text(
        '{"opened": {"entry": "\\ud800", "link": "\\ud800"}, "releases": []}'
    )


def no_text(folder):
    (folder / "signature.json").write_bytes(b"\xff\xfe\x00")


def crowded(folder):
    for i in range(1500):
        (folder / f"{i}").touch()


def bracketed(folder):
    for name in ("card.html", "label.svg", "review.html"):
        (folder / name).write_text("<" * 4_000_000)


def unending(folder):
    (folder / "card.html").write_text('<tr><th scope="row">' * 200_000 + "</th> " * 200_000)


@parametrize(
    "change",
    [
        named,
        entered,
        piped,
        endless,
        sparse,
        many,
        unnamed,
        surrogate,
        no_text,
        crowded,
        bracketed,
        unending,
    ],
)
def test_a_hostile_folder_is_not_sound_at_once_and_in_plain_letters(folder, change):
    change(folder)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30));{RUN}",
            str(trusted(folder)),
            str(folder),
        ],
        capture_output=True,
        env=ENVIRONMENT,
        cwd="/",
        timeout=60,
    )
    said = (done.stdout + done.stderr).decode("utf-8")
    assert done.returncode == 1, said
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert all(c.isprintable() for line in said.split("\n") for c in line)
    assert not any(line.startswith("sound") for line in said.split("\n"))


RUN = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


# The key


def test_the_key_is_made_once_and_is_for_its_owner_only(tmp_path):
    path = tmp_path / "l.sqlite"
    with ThreadPoolExecutor(8) as pool:
        keys = {key.public for key in pool.map(load_signing_key, [path] * 16)}
    assert len(keys) == 1
    assert os.stat(f"{path}-key").st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["l.sqlite-key"]
    (public,) = keys
    assert public not in repr(load_signing_key(path)._private)
    assert Path(f"{path}-key").read_text().strip() not in repr(load_signing_key(path))


@parametrize("content", [b"12", b"\xff" * 64, b"0" * 66, b"G" * 64])
def test_a_damaged_key_is_told_before_anything_is_charged(tmp_path, content):
    write_files(tmp_path)
    (tmp_path / "l.sqlite-key").write_bytes(content)
    check_command_refused(
        "signing key cannot be used: it holds no key",
        release(tmp_path, "a", "dpfw", "--epsilon=.3", "--total-epsilon=2", "--total-delta=1e-6"),
    )
    assert LedgerStore(tmp_path / "l.sqlite").list_datasets() == []


def test_a_pipe_or_a_link_is_no_key(tmp_path):
    os.mkfifo(tmp_path / "p-key")
    (tmp_path / "q-key").symlink_to(tmp_path / "p-key")
    for name in ("p", "q"):
        with expect_error("signing key cannot be used"):
            load_signing_key(tmp_path / name)


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    with expect_error("pip install cryptography"):
        load_signing_key(tmp_path / "l.sqlite")


def test_a_ledger_from_before_there_were_keys_goes_on(made, tmp_path):
    path = new_ledger(tmp_path).path  # whose release was not signed
    assert verify_ledger(path) == []
    assert LedgerStore(path).signing_public_key() == ""
    write_files(tmp_path)
    run_command(release(tmp_path, "c", "dpfw", "--epsilon=.2", "--new-version", "--dataset=people"))
    assert not wrong(tmp_path / "c", ledger=path)
    assert wrong(tmp_path / "c", earlier=made / "b") == {"earlier"}, "of another key"
    assert (
        load_signing_key(path).public
        == LedgerStore(path).signing_public_key()
        != load_signing_key(made / "l.sqlite").public
    )


# Its own accounting


@given(st.floats(1e-3, 20), st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3, 0.1]))
def test_its_conversions_are_those_of_the_package(size, delta):
    assert recount.gdp_epsilon(size, delta) == approx(
        conversions.gdp_epsilon(size, delta), rel=1e-7, abs=1e-9
    )
    rho = size**2 / 2
    assert recount.zcdp_epsilon(rho, delta) == approx(
        conversions.zcdp_epsilon(rho, delta), rel=1e-7, abs=1e-9
    )
    each = min(size, 3.0)
    ours = recount.optimal_epsilon(each, 7, delta)
    assert ours == approx(conversions.pure_composition_epsilon(each, 7, delta), rel=1e-7, abs=1e-9)


@given(
    st.lists(st.tuples(EVENT, st.integers(1, 20)), min_size=1, max_size=4),
    st.sampled_from(ACCOUNTANTS),
)
def test_its_totals_are_those_of_the_package(events, accounting):
    if accounting in (OptimalAccountant, LossDistributionAccountant):
        return
    lifetime = LifetimeBudget(Budget(3, 1e-6), accounting, 5e-7)
    stored = json.loads(json.dumps(events_to_json(events)))
    added = math.fsum(e["times"] * recount.event_cost(e, accounting.name) for e in stored)
    lost = math.fsum(e["times"] * recount.event_failure_delta(e, 3) for e in stored)
    assert lost == approx(lifetime.failure_delta(events))
    if lost <= lifetime.failure * (1 - 1e-9):
        expected = lifetime.total_epsilon(events)
        ours = recount.epsilon_of_cost(added, 5e-7, accounting.name)
        assert ours == expected or ours == approx(expected)
        assert (
            not math.isfinite(expected)
            or abs(ours - expected) <= recount.RELATIVE_TOLERANCE * expected
        )
    if not any(isinstance(event, Drawn) for event, _ in events) and lost < 9e-7:
        kept = [(e, t) for e, t in events if e.failure == 0]
        theirs = accounting.of_events(kept).epsilon(1e-6)
        if (
            kept and theirs < math.inf
        ):  # a plan's own GDP takes Gaussian spends only, a ledger's all kinds
            ours = recount.composed_epsilon(
                json.loads(json.dumps(events_to_json(kept))), 3, 1e-6, accounting.name
            )
            assert ours == approx(theirs)
