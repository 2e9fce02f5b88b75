"""The memory of one run, where a server's owner says how much that is."""

import math
import subprocess
import sys

import pytest

from dpcore.core import run_memory
from tests.size import ROOT
from tests.small_problems import expect_error, parametrize

CODE = """
import numpy as np
from dpcore.core.run_memory import limit_process_memory
limit_process_memory()
np.ones({megabytes} * 2**17).sum()
"""


@parametrize("text, size", [("", math.inf), (" 200 ", 200 * 2**20)])
def test_what_the_environment_says_is_megabytes(monkeypatch, text, size):
    monkeypatch.setenv(run_memory.MEMORY_VARIABLE, text)
    assert run_memory.stated_run_bytes() == size


@parametrize("text", ["0", "-1", "1e3", "1 GB", "²"])
def test_what_is_no_number_of_megabytes_is_refused(monkeypatch, text):
    monkeypatch.setenv(run_memory.MEMORY_VARIABLE, text)
    with expect_error("is not a number of megabytes"):
        run_memory.stated_run_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing limits a process so")
@parametrize("megabytes, fits", [(20, True), (400, False)])
def test_a_process_that_asks_for_more_gets_a_memory_error(monkeypatch, megabytes, fits):
    monkeypatch.setenv(run_memory.MEMORY_VARIABLE, "50")
    code = CODE.format(megabytes=megabytes)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode == 0) == fits
    assert fits or "MemoryError" in done.stderr
