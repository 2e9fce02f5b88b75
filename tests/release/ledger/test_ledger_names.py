"""A ledger is one file with one signing key, whatever name it goes by."""

import os
import shutil
from pathlib import Path

from dpcore.release.ledger import chain
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from dpcore.release.ledger.signing import load_signing_key
from tests.cli.command_files import write_files
from tests.release.evidence.test_verifier import made, release, wrong
from tests.release.ledger.ledger_charges import TOTAL, charge_events
from tests.small_problems import check_command_refused, expect_error, parametrize, run_command

assert made  # a fixture


def test_an_empty_key_was_never_used_and_is_written_anew(tmp_path):
    (tmp_path / "l.sqlite-key").touch()
    assert (
        load_signing_key(tmp_path / "l.sqlite").public
        == load_signing_key(tmp_path / "l.sqlite").public
    )


@parametrize("other", [None, "0" * 63 + "1"])
def test_a_ledger_is_signed_by_one_key_for_good(made, tmp_path, other):
    path = Path(shutil.copy(made / "l.sqlite", tmp_path / "l.sqlite"))
    if other:
        Path(f"{path}-key").write_text(other)
    write_files(tmp_path)
    more = ["--epsilon=.2", "--new-version", "--dataset=t"]
    check_command_refused(
        "the key that signed this ledger's releases is not here",
        release(tmp_path, "c", "dpfw", *more),
    )
    assert Path(f"{path}-key").exists() is bool(other), "and none is made"
    assert len(LedgerStore(path).list_datasets()[0].releases) == 2
    shutil.copy(made / "l.sqlite-key", f"{path}-key")
    run_command(release(tmp_path, "c", "dpfw", *more))
    assert not wrong(tmp_path / "c", ledger=path, key=load_signing_key(path).public)


NAMES = {
    "a link": lambda place: (place / "n.sqlite").symlink_to("l.sqlite") or place / "n.sqlite",
    "a link to a link": lambda place: (
        (place / "n").symlink_to("l.sqlite") or (place / "m").symlink_to("n") or place / "m"
    ),
    "a link to its folder": lambda place: (
        (place / "f").symlink_to(place) or place / "f" / "l.sqlite"
    ),
    "a way round": lambda place: (place / "sub").mkdir() or place / "sub" / ".." / "l.sqlite",
    "from where it lies": lambda place: "l.sqlite",  # noqa: ARG005
}


@parametrize("name", NAMES)
def test_a_ledger_has_one_key_whatever_name_it_goes_by(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    first = [
        *release(tmp_path, "a", "dpfw", "--epsilon=.2", "--total-epsilon=2", "--total-delta=1e-6")
    ]
    run_command(first)
    other = str(NAMES[name](tmp_path))
    run_command(
        [
            *(o for o in release(tmp_path, "b", "dpfw", "--epsilon=.2") if "--ledger" not in o),
            f"--ledger={other}",
        ]
    )
    assert [p.name for p in tmp_path.rglob("*-key*")] == ["l.sqlite-key"]
    assert [p.name for p in tmp_path.rglob("*-checked")] == ["l.sqlite-checked"]
    key = load_signing_key(tmp_path / "l.sqlite").public
    assert not wrong(tmp_path / "b", key=key, earlier=tmp_path / "a", ledger=Path(other))
    assert verify_ledger(other) == []


def test_a_second_name_of_the_file_itself_is_refused_and_a_link_to_nowhere(made, tmp_path):
    path = Path(shutil.copy(made / "l.sqlite", tmp_path / "l.sqlite"))
    os.link(path, tmp_path / "n.sqlite")
    for name in ("l.sqlite", "n.sqlite"):
        for act in (LedgerStore, verify_ledger):
            with expect_error("2 names"):
                act(tmp_path / name)
    (tmp_path / "n.sqlite").unlink()
    assert verify_ledger(path) == []
    (tmp_path / "gone").symlink_to("nowhere")
    with expect_error("a link that leads to no ledger"):
        LedgerStore(tmp_path / "gone", create=True)
    assert not chain.is_new_ledger(tmp_path / "gone")


def test_two_first_releases_at_once_are_signed_by_one_key(tmp_path):
    """The ledger itself refuses the second key, whoever was faster."""
    store = LedgerStore(tmp_path / "l.sqlite", create=True)
    charge_events(store, dataset="people", total=TOTAL, settings={"signed_by": "1" * 64})
    with expect_error("the key that signed"):
        charge_events(store, settings={"signed_by": "2" * 64})
    charge_events(store, settings={"signed_by": "1" * 64})
