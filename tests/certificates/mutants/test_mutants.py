"""Every planted bug is killed by the test that is named beside it, and that test passes where no bug is."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.certificates.mutants.planted import MUTANTS, Mutant

ROOT = Path(__file__).parents[3]
README = Path(__file__).with_name("README.md")
HEAD = """# Planted bugs

Every class of errors that libraries for differential privacy are known for, planted one at a time in a copy of
`dpcore/privacy/` and `dpcore/publishing/`, never in the checkout itself. Each has to make the test fail that is named
beside it; with no bug planted all of these tests pass. `planted.py` holds the bugs, `test_mutants.py` plants them and
says whether they were killed, among the certificates (`python -m pytest tests/certificates/mutants -k "a bug"` for one
of them), and that this table is that of `planted.py` (`python -m tests.certificates.mutants.test_mutants` writes it).

| class | bug | planted in | killed by |
|---|---|---|---|
"""
QUIET = ["-q", "-x", "-p", "no:cacheprovider", "-n0", "-o", "addopts=--import-mode=importlib"]
LIMIT = 120  # seconds for a killer; a bug may also make its test run for ever, which kills it too
FAILED = 1  # the exit code of pytest where a test failed; any other is no kill


def readme() -> str:
    """The table of all bugs and their killers."""
    lines = []
    for name, m in MUTANTS.items():
        path, test = m.killer.split("::")
        lines.append(f"| {m.kind} | {name} | `{m.file}` | `{test}` in `{path.removeprefix('tests/')}` |\n")
    return HEAD + "".join(lines)


@contextmanager
def planted(place: Path, mutant: Mutant) -> Iterator[None]:
    """Put a bug into a copy for that long; ValueError where the text that it replaces does not stand there once."""
    file = place / "dpcore" / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.file}: found {text.count(mutant.old)} times: {mutant.old}")
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of what the killers need."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("dpcore", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "browser"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def outcome(place: Path, *killers: str, limit: int = LIMIT) -> tuple[int, str]:
    """What pytest returns for tests in a copy, and what it says."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", *QUIET, *killers]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=place, env=env, timeout=limit)
    except subprocess.TimeoutExpired:
        return FAILED, "takes too long"
    return done.returncode, done.stdout[-2000:]


def test_with_no_bug_all_killers_pass(copy):
    code, said = outcome(copy, *{m.killer for m in MUTANTS.values()}, limit=10 * LIMIT)
    assert code == 0, said


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_killed(copy, name):
    with planted(copy, MUTANTS[name]):
        code, said = outcome(copy, MUTANTS[name].killer)
    assert code == FAILED, said


def test_the_readme_lists_every_bug_and_its_killer():
    assert README.read_text(encoding="utf-8") == readme()


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
