"""What was typed last is in force, is shown and comes back, however quickly it was typed."""

import pytest

from tests.random_typist import Typist

SEED = 48
EDITS = 12
QUICK = 0.2, 0.7  # seconds between two edits


def test_of_quick_edits_on_all_pages_the_last_of_each_control_is_in_force_shown_and_back(
    page, server
):
    typist = Typist(page, server, SEED)
    try:
        typist.begins()
        typist.hurries(EDITS, QUICK)
        typist.checks("Release", "Compare", "Explore", "Data")
        typist.returns()
        typist.checks("Data", "Explore", "Compare")
    except Exception as error:
        pytest.fail(f"{typist.words()}\n{error}")
