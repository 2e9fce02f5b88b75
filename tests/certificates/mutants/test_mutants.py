"""Every planted bug is killed by the test that is named beside it, and that test passes where no
bug is.

Bugs go into a copy of the package, one at a time; `-k "part of a bug's name"` plants one of them.
"""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.certificates.mutants.planted import MUTANTS
from tests.size import ROOT
from tests.small_problems import module_fixture

QUIET = ["-q", "-x", "-p", "no:cacheprovider", "-n0", "-o", "addopts=--import-mode=importlib"]
LIMIT = 120  # seconds for a killer; a bug may also make its test run for ever, which kills it too
FAILED = 1  # the exit code of pytest where a test failed; any other is no kill


@contextmanager
def planted(place, name, old, new):
    """Put a bug into a copy for that long; ValueError where the text that it replaces does not
    stand there once.
    """
    file = place / "dpcore" / name
    text = file.read_text()
    if text.count(old) != 1:
        raise ValueError(f"{name}: found {text.count(old)} times: {old}")
    file.write_text(text.replace(old, new))
    try:
        yield
    finally:
        file.write_text(text)


@module_fixture
def copy(tmp_path_factory):
    """A copy of what the killers need."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("dpcore", "tests"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "browser")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def outcome(place, *killers, limit=LIMIT):
    """What pytest returns for tests in a copy, and what it says."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", *QUIET, *killers]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=place, env=env, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return FAILED, "takes too long"
    return done.returncode, done.stdout[-2000:]


def test_with_no_bug_all_killers_pass(copy):
    code, said = outcome(copy, *{killer for *_, killer in MUTANTS.values()}, limit=10 * LIMIT)
    assert code == 0, said


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_killed(copy, name):
    *bug, killer = MUTANTS[name]
    with planted(copy, *bug):
        code, said = outcome(copy, killer)
    assert code == FAILED, said
