"""A full disk, and a kill, at every single step at which a release changes a file: one charge, one
release, no rest.

A library in C stands between the program and the system. It counts the calls that change a file,
and at the k-th one fails as a full disk does, from then on, or kills the process. k goes over every
STRIDE-th of them, over all of them with the environment variable STRIDE=1, which takes some ten
minutes.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpcore.cli import main
from dpcore.release.evidence import verifier
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from tests.cli.command_files import write_files
from tests.cli.test_release import ENVIRONMENT, order
from tests.small_problems import parametrize

SOURCE = Path(__file__).with_name("faults.c")
MAX_STEPS = 2000  # far more than a release takes
STRIDE = int(os.environ.get("STRIDE", "9"))
ORDER = order("out", queries="marginals:1")
NAMES = {"t.csv", "s.json", "l.sqlite", "l.sqlite-key", "l.sqlite-checked", "out"}


def attempt(faults, log, step=0, *, kill=False):
    """How a release ended in a process of its own that fails at a step, if it comes to it, and how
    many it took.
    """
    pid = os.fork()
    if pid == 0:
        said = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        os.dup2(said, 1)
        os.dup2(said, 2)
        faults.fault_set(step, kill)
        code = main(ORDER)
        steps = faults.fault_count()
        faults.fault_set(0, 0)
        Path(f"{log}.steps").write_text(str(steps))
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, Path(log).read_text(errors="replace")


def charges():
    """The releases that the ledger knows."""
    ledger = Path("l.sqlite")
    if not ledger.exists() or not ledger.stat().st_size:
        return []
    return [release for found in LedgerStore(ledger).list_datasets() for release in found.releases]


def check_first(step, code, said, kill):
    """What a first attempt that failed leaves: no half of a release, and words about what it used."""
    assert code in ((-9,) if kill else (0, 1, 2)), (step, code, said)
    assert "Traceback" not in said
    assert "unexpected" not in said, (step, said)
    if Path("out").exists():
        assert all(holds for holds, *_ in verifier.run_checks(Path("out"))), (
            step,
            "half of a release",
        )
    elif not kill and charges():
        assert (
            "its budget stays used" in said or "whether its budget was used is not known" in said
        ), (step, said)


def check_whole(step):
    """One charge, one release, whole and noted, and nothing else lies there."""
    (release,) = charges()
    assert release["state"] == "released", step
    assert verify_ledger("l.sqlite") == [], step
    found = verifier.run_checks(Path("out"), ledger=Path("l.sqlite"))
    assert all(holds for holds, *_ in found), (step, found)
    names = {path.name for path in Path().iterdir()}
    assert names == NAMES, (step, names)


def go_over_all(faults, root, kill):
    """Fail or kill at every STRIDE-th step in turn; return how many steps there are."""
    for step in range(1, MAX_STEPS, STRIDE):
        place = root / "work"
        log = root / "log"
        shutil.rmtree(place, ignore_errors=True)
        Path(f"{log}.steps").unlink(missing_ok=True)
        place.mkdir()
        write_files(place)
        for other in set(os.listdir(place)) - {"t.csv", "s.json"}:
            (place / other).unlink()
        os.chdir(place)
        os.environ["FAULT_ROOT"] = str(place)
        code, said = attempt(faults, log, step, kill=kill)
        steps = Path(f"{log}.steps")
        if steps.exists() and int(steps.read_text()) < step:
            assert code == 0
            check_whole(step)
            return int(steps.read_text())
        check_first(step, code, said, kill)
        code, said = attempt(faults, log)
        whole = code == 2 and "is there already and not empty" in said
        assert code == 0 or whole, (step, said)
        check_whole(step)
    raise AssertionError("it never ends")


@parametrize("mode", ["full", "kill"])
def test_a_release_is_charged_once_wherever_the_disk_is_full_or_it_is_killed(tmp_path, mode):
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("the calls of a program are counted with a C compiler, on Linux")
    library = tmp_path / "faults.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True, timeout=60
    )
    command = [
        sys.executable,
        "-m",
        "tests.certificates.release.test_faults",
        str(tmp_path),
        mode,
        str(library),
    ]
    done = subprocess.run(
        command,
        env=os.environ | ENVIRONMENT | {"LD_PRELOAD": str(library)},
        cwd=ENVIRONMENT["PYTHONPATH"],
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 40


if __name__ == "__main__":
    root, mode, library = sys.argv[1:]
    print(go_over_all(ctypes.CDLL(library), Path(root), mode == "kill"))
