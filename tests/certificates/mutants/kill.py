"""Run each killer on a copy of the package with its bug in it.

From the root: `python -m tests.certificates.mutants.kill`. The copies lie in a temporary folder, and nothing of the
checkout is changed. What is slow to load is loaded once; a killer then runs in a fork, which finds only the copy.
Prints a line of JSON for every mutant: the exit code of pytest for its killer, 1 where the test failed as it should;
and first, as "", that of all killers with no bug.
"""

import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest

from tests.certificates.mutants.planted import MUTANTS, Mutant

ROOT = Path(__file__).parents[3]
COPIED = ("dpcore", "tests", "pyproject.toml")
LOADED = (
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "pandas",
    "hypothesis",
    "dp_accounting",
    "randomgen",
)
ATONCE = 2
LIMIT = 60  # seconds for a killer; a bug may also make its test run for ever, which kills it too
REWRITE = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # what was loaded before pytest began is no test
QUIET = [*REWRITE, "-q", "-x", "-p", "no:cacheprovider", "-n0", "-o", "addopts=--import-mode=importlib"]


def plant(place: Path, mutant: Mutant) -> None:
    """Put a bug into a copy; ValueError where the text that it replaces does not stand there exactly once."""
    file = place / "dpcore" / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.file}: found {text.count(mutant.old)} times: {mutant.old}")
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def copied(folder: Path) -> Path:
    """A copy of what the killers need."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "browser"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def begin(place: Path, killers: list[str]) -> int:
    """Start pytest in a fork that knows the copy only; its process number."""
    if child := os.fork():
        return child
    code = 70
    try:
        os.chdir(place)
        sys.path[:] = [str(place), *(p for p in sys.path if Path(p or ".").resolve() != ROOT)]
        for name in [n for n in sys.modules if n.split(".")[0] in ("dpcore", "tests")]:
            del sys.modules[name]
        with open(place / "told", "w") as told:
            os.dup2(told.fileno(), 1)
            os.dup2(told.fileno(), 2)
        code = int(pytest.main([*QUIET, f"--rootdir={place}", *killers]))
        used = sys.modules["dpcore"].__file__ or ""
        code = code if Path(used).is_relative_to(place) else 71
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(child: int, since: float, limit: float) -> int | None:
    """The exit code; None while it runs, and 1 where it takes too long."""
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        return os.waitstatus_to_exitcode(status)
    if time.monotonic() - since < limit:
        return None
    os.kill(child, 9)
    os.waitpid(child, 0)
    return 1


def main() -> None:
    """All of them, or those whose names are given; two at a time."""
    for name in LOADED:
        __import__(name)
    wanted = {name: MUTANTS[name] for name in sys.argv[1:] or MUTANTS}
    killers = sorted({mutant.killer for mutant in wanted.values()})
    waiting: list[tuple[str, list[str], float]] = [("", killers, 10 * LIMIT)]
    waiting += [(name, [mutant.killer], LIMIT) for name, mutant in wanted.items()]
    running: dict[str, tuple[int, Path, float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            if waiting and len(running) < ATONCE:
                name, asked, limit = waiting.pop(0)
                place = copied(Path(folder) / str(len(waiting)))
                if name:
                    plant(place, wanted[name])
                running[name] = (begin(place, asked), place, time.monotonic(), limit)
            for name, (child, place, since, limit) in list(running.items()):
                if (code := ended(child, since, limit)) is not None:
                    print(json.dumps([name, code, (place / "told").read_text()[-1500:]]), flush=True)
                    shutil.rmtree(place)
                    del running[name]
            time.sleep(0.02)


if __name__ == "__main__":
    main()
