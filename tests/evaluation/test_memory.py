"""Peak memory: a large array is seen, what was there before is not."""

import numpy as np
import pytest

from dpcore.evaluation import memory
from dpcore.evaluation.memory import Peak


@pytest.mark.skipif(not memory.RESET.exists(), reason="only Linux tells")
def test_a_large_array_is_seen_and_what_was_there_before_is_not():
    before = np.ones(10_000_000)
    idle = Peak()
    assert idle.bytes < 20e6
    busy = Peak()
    np.ones(8_000_000)
    assert 60e6 < busy.bytes < 90e6
    assert before.sum() == 1e7


def test_where_the_system_does_not_tell_nothing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "RESET", tmp_path / "no" / "such")
    assert Peak().bytes is None
