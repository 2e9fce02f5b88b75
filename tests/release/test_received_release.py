"""A release that somebody brings is hostile until it is verified, and only a copy is judged."""

import io
import os
import shutil
import zipfile
from functools import partial

import pytest

from dpcore import InputError, read_json
from dpcore.release import received_release
from dpcore.release.received_release import copy_folder, receive_release, unpack_release
from tests.cli.test_release import release_in
from tests.small_problems import expect_error, module_fixture, parametrize


@module_fixture
def folder(tmp_path_factory):
    return release_in(tmp_path_factory.mktemp("releases"))


def packed(parts, method=zipfile.ZIP_DEFLATED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, text in parts:
            archive.writestr(name, text)
    content.seek(0)
    return content


def parts_of(folder, before=""):
    return [(f"{before}{path.name}", path.read_bytes()) for path in sorted(folder.iterdir())]


@parametrize("before", ["", "out/", "../../../tmp/", "/"])
def test_a_release_is_read_from_a_folder_or_an_archive_and_nothing_is_written_beside_the_copy(
    folder, tmp_path, before
):
    target = tmp_path / "copy"
    target.mkdir()
    added = [("__MACOSX/out/._card.html", b"x"), (f"{before}.DS_Store", b"x")]
    unpack_release(packed([*parts_of(folder, before), *added]), target)
    assert dict(parts_of(target)) == dict(parts_of(folder))
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_only_a_sound_release_has_files_and_the_key_is_compared(folder):
    key = read_json(folder / "signature.json")["key"]
    received = receive_release(partial(copy_folder, folder), key.upper())
    assert received.is_sound
    assert received.key == key
    assert received.files == dict(parts_of(folder))
    other = receive_release(partial(copy_folder, folder), "ab" * 32)
    assert [check.name for check in other.checks if not check.holds] == ["signature"]
    assert not other.files
    with expect_error("is not 64 of the characters", InputError):
        receive_release(partial(copy_folder, folder), "--ledger=/etc/passwd")


def test_a_changed_release_has_no_files_and_every_fault_is_named(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "answers.csv").write_text("query,answer\n")
    received = receive_release(partial(copy_folder, tmp_path / "copy"))
    assert not received.is_sound
    faults = {check.name for check in received.checks if not check.holds}
    assert {"files", "claim", "answers"} <= faults


def doubled(folder):
    with pytest.warns(UserWarning, match="Duplicate name"):
        return packed([*parts_of(folder), ("card.html", b"another")])


def locked(folder):
    content = bytearray(packed(parts_of(folder)).getvalue())
    for at in range(len(content) - 4):  # the flags of every part, in its head and in the list
        if content[at : at + 4] == b"PK\3\4":
            content[at + 6] |= 1
        if content[at : at + 4] == b"PK\1\2":
            content[at + 8] |= 1
    return io.BytesIO(bytes(content))


HOSTILE = {
    "no archive": (lambda folder: io.BytesIO(b"no archive"), "not readable as ZIP"),
    "cut off": (
        lambda folder: io.BytesIO(packed(parts_of(folder)).getvalue()[:-40]),
        "not readable as ZIP",
    ),
    "empty": (lambda folder: packed([]), "holds nothing"),
    "another file": (
        lambda folder: packed([*parts_of(folder), ("x.exe", b"")]),
        "holds 'x.exe', which is no file of a release",
    ),
    "two releases": (
        lambda folder: packed([*parts_of(folder, "a/"), *parts_of(folder, "b/")]),
        "several folders",
    ),
    "twice": (doubled, "holds a file twice"),
    "locked": (locked, "locked by a password"),
    "packed oddly": (
        lambda folder: packed(parts_of(folder), zipfile.ZIP_LZMA),
        "packed in a way that is not read",
    ),
    "a large page": (
        lambda folder: packed([("card.html", b"<" * (received_release.MAX_DOCUMENT_BYTES + 1))]),
        "card.html: too large",
    ),
}


@parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_in_words(folder, tmp_path, name):
    make, words = HOSTILE[name]
    with expect_error(words, InputError):
        unpack_release(make(folder), tmp_path)


def test_all_files_together_and_packed_tables_are_bounded(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(received_release, "MAX_RELEASE_BYTES", 10_000)
    with expect_error("too large", InputError):
        unpack_release(packed(parts_of(folder)), tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(received_release, "MAX_TABLE_BYTES", 100)
    with expect_error("tables.npz: unpacks into", InputError):
        receive_release(partial(copy_folder, folder))


@parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_folder_s_links_and_pipes_are_not_followed(folder, tmp_path, make):
    source = tmp_path / "source"
    shutil.copytree(folder, source)
    (source / "card.html").unlink()
    make(source / "card.html")
    target = tmp_path / "copy"
    target.mkdir()
    with expect_error("card.html: a link, a folder or a device", InputError):
        copy_folder(source, target)


def test_a_check_without_an_end_is_ended(folder, monkeypatch):
    monkeypatch.setattr(received_release, "VERIFIER_SOURCE", "while True:\n    pass\n")
    monkeypatch.setattr(received_release, "MAX_VERIFICATION_SECONDS", 1)
    with expect_error("no end within 1 seconds", InputError):
        receive_release(partial(copy_folder, folder))


def test_the_verifier_is_not_told_of_this_server_s_secrets(folder, monkeypatch):
    monkeypatch.setenv("DPCORE_LEDGER_KEY", "secret")
    program = "import os; print('ok   files:', *os.environ)"
    monkeypatch.setattr(received_release, "VERIFIER_SOURCE", program)
    received = receive_release(partial(copy_folder, folder))
    assert "PATH" in received.checks[0].finding
    assert "DPCORE" not in received.checks[0].finding


@parametrize(
    "program",
    [
        "import sys; print('ok   files: fine'); sys.exit(1)",
        "print('FAIL files: other')",
        "print('sound')",
    ],
)
def test_a_check_that_contradicts_itself_opens_nothing(folder, monkeypatch, program):
    monkeypatch.setattr(received_release, "VERIFIER_SOURCE", program)
    with expect_error("could not be run", InputError):
        receive_release(partial(copy_folder, folder))
