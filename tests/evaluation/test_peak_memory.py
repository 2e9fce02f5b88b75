"""Peak memory: a large array is seen, what was there before is not."""

import subprocess
import sys

import pytest

from dpcore.evaluation import peak_memory
from dpcore.evaluation.peak_memory import PeakMemory

# In a process of its own: the mark is one for all threads, and other tests' threads allocate and
# free.
WORK = """
import numpy as np
from dpcore.evaluation.peak_memory import PeakMemory
before = np.ones(10_000_000)
print(PeakMemory().bytes_above_start)
busy = PeakMemory()
np.ones(8_000_000)
print(busy.bytes_above_start)
assert before.sum() == 1e7
"""


@pytest.mark.skipif(not peak_memory.PEAK_RESET_FILE.exists(), reason="only Linux tells")
def test_a_large_array_is_seen_and_what_was_there_before_is_not():
    idle, busy = map(
        int,
        subprocess.run(
            [sys.executable, "-c", WORK], capture_output=True, check=True
        ).stdout.split(),
    )
    assert idle < 20e6
    assert 60e6 < busy < 90e6


def test_where_the_system_does_not_tell_nothing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(peak_memory, "PEAK_RESET_FILE", tmp_path / "no" / "such")
    assert PeakMemory().bytes_above_start is None
