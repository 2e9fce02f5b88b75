"""Whatever is done to a ledger: verify and release see it, or nothing that is read has changed. One clear line."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.certificates.fuzz import ledgers
from tests.certificates.fuzz.ledgers import BROKEN

MASKS = (0x01, 0x80, 0xFF)


@pytest.fixture(scope="module")
def sound():
    with ledgers.sound() as made:
        yield made


def test_a_change_of_any_byte_is_seen_or_changes_nothing_that_is_read(sound):
    told = {"seen": 0, "unread": 0}
    for place in range(len(sound.bytes)):
        content = bytearray(sound.bytes)
        content[place] ^= MASKS[place % 3]
        told[sound.judge_reading(bytes(content))] += 1
    assert told["seen"] > 5000, "most bytes of a small ledger are read"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BROKEN)
def test_a_broken_ledger_or_one_with_other_company_is_refused_or_reads_as_before(sound, broken):
    broken.judge(sound)
