"""Run one case of the command line in this process, and say what is wrong with how it went."""

import contextlib
import io
import os
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from dpcore.cli import main
from dpcore.core.errors import MAX_MESSAGE_CHARS
from tests.certificates.fuzz.strategies import PLANTED
from tests.small_problems import time_limit

CODES = {0, 2, 3}  # of a command that ran, was refused, or was not paid for
SECONDS = 180  # by the clock, as others use the machine too: a hang
REFUSAL = 10  # seconds of the processor: a refusal that takes too long


def describe_failure(case):
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
            return _judge(case)
        finally:
            os.chdir(before)


def _judge(case):
    out = io.StringIO()
    err = io.StringIO()
    begun = time.process_time()
    clock = time.monotonic()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        try:
            with time_limit(SECONDS):
                code = main(case.arguments)
        except BaseException:
            return f"raised {traceback.format_exc()}"
    if (
        time.monotonic() - clock >= SECONDS
    ):  # also where the program took the alarm for an error of the system
        return f"took more than {SECONDS} s: {err.getvalue()[-500:]!r}"
    codes = CODES | ({1} if case.arguments[0] == "audit" else set())
    if code == 2 and (took := time.process_time() - begun) > REFUSAL:
        return f"refused after {took:.0f} s: {err.getvalue()[-500:]!r}"
    return describe_fault(
        code, out.getvalue(), err.getvalue(), codes, peeks="--peek" in case.arguments or case.mixed
    )


def describe_fault(code, out, err, codes, *, peeks=False):
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
    if any(len(line) > MAX_MESSAGE_CHARS + 20 for line in lines):
        return f"a line of {max(map(len, lines))} characters"
    if not all(c.isprintable() or c == "\n" for c in err):
        return f"control characters on stderr: {err[-500:]!r}"
    if "Traceback" in err or (PLANTED in out + err and not peeks):
        return f"what nobody asked for was said: {err[-500:]!r}"
    return ""
