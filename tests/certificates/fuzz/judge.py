"""Run one case of the command line in this process, and say what is wrong with how it went."""

import contextlib
import io
import os
import signal
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

from dpcore.cli import main
from dpcore.errors import LONGEST
from tests.certificates.fuzz.strategies import PLANTED, Case

CODES = {0, 2, 3}  # of a command that ran, was refused, or was not paid for
SECONDS, REFUSAL = 30, 10  # of the processor: a hang, and a refusal that takes too long
WALL = 6  # times that by the clock, where others use the machine too


class SlowError(BaseException):
    """Raised by the clock."""


def fall(case: Case, seconds: float = SECONDS) -> str:
    """Why a case fell, in words; empty where it stood."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, content in case.files.items():
            (Path(folder) / name).write_bytes(content)
        for name in ("f", "f.csv", "f.xlsx", "f.parquet"):
            os.mkfifo(Path(folder) / name)
        os.mkdir(Path(folder) / "d.csv")
        os.chdir(folder)
        try:
            return _judge(case, seconds)
        finally:
            os.chdir(before)


def _judge(case: Case, seconds: float) -> str:
    out, err, begun = io.StringIO(), io.StringIO(), time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            with _clock(seconds):
                code = main(case.arguments)
        except SlowError:
            return f"took more than {seconds:g} s: {traceback.format_exc(limit=-3)}"
        except BaseException:
            return f"raised {traceback.format_exc()}"
    codes = CODES | ({1} if case.arguments[0] == "audit" else set())
    if code == 2 and (took := time.process_time() - begun) > REFUSAL:
        return f"refused after {took:.0f} s: {err.getvalue()[-500:]!r}"
    return wrong(code, out.getvalue(), err.getvalue(), codes, peeks="--peek" in case.arguments or case.mixed)


def wrong(code: int, out: str, err: str, codes: set[int], *, peeks: bool = False) -> str:
    """What is wrong with an exit code and what was printed; empty if nothing is."""
    lines = err.splitlines()
    if code not in codes:
        return f"exit code {code}: {err[-500:]}"
    if code in (2, 3) and (out or not lines or not lines[-1].startswith("error: ")):
        return f"exit code {code} without its one line: {out[:200]!r}, {err[-500:]!r}"
    if code in (2, 3) and sum(line.startswith("error: ") for line in lines) != 1:
        return f"several errors: {err[:500]!r}"
    if code == 0 and "error: " in err:
        return f"an error and exit code 0: {err[-500:]!r}"
    if any(len(line) > LONGEST + 20 for line in lines):
        return f"a line of {max(map(len, lines))} characters"
    if not all(c.isprintable() or c == "\n" for c in err):
        return f"control characters on stderr: {err[-500:]!r}"
    if "Traceback" in err or (PLANTED in out + err and not peeks):
        return f"what nobody asked for was said: {err[-500:]!r}"
    return ""


@contextlib.contextmanager
def _clock(seconds: float):
    """Raise SlowError after so many seconds, where a signal can be taken."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def rung(*_):
        raise SlowError

    clocks = ((signal.SIGALRM, signal.ITIMER_REAL, WALL), (signal.SIGPROF, signal.ITIMER_PROF, 1))
    before = [signal.signal(name, rung) for name, _, _ in clocks]
    for _, clock, times in clocks:
        signal.setitimer(clock, seconds * times)
    try:
        yield
    finally:
        for (name, clock, _), handler in zip(clocks, before, strict=True):
            signal.setitimer(clock, 0)
            signal.signal(name, handler)
