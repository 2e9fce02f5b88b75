"""The budget as shares: in whole percent that add up to 100, and never less than what was used."""

import re

from dpcore.release.ledger.gauge import budget_gauge, fitting_release_count
from tests.small_problems import parametrize


@parametrize("used", [0.0, 1e-9, 0.0901, 0.335, 0.5, 0.999, 1.0])
def test_shares_add_up_to_a_hundred_and_none_is_below_the_truth(used):
    for now in (0.0, 1e-4, 0.0901, 0.255, 1 - used):
        picture, words, _ = budget_gauge(used, now)
        said = [int(share) for share in re.findall(r"(\d+)%", words)]
        drawn = [int(width) for width in re.findall(r'"width:(\d+)%', picture)]
        if used + now > 1:
            assert f"needs {said[1]}%" in words
            assert drawn == [said[0], 100 - said[0]]
            continue
        assert sum(said) == 100
        assert said[0] >= 100 * used - 1e-6
        assert sum(said[:-1]) >= 100 * (used + now) - 1e-6
        assert drawn == [said[0], said[1] * bool(now)]
        assert words in picture


def test_a_release_that_does_not_fit_is_said_and_drawn_in_another_colour():
    picture, words, share = budget_gauge(0.9, 0.2)
    assert (words, share) == ("Used before 90% · this release needs 20% · left 10%", "20%")
    assert (
        budget_gauge(0.0, 1.5)[1]
        == "Used before 0% · this release needs more than the whole budget · left 100%"
    )
    fits, words, _ = budget_gauge(0.9, 0.1)
    assert words.endswith("left 0%")
    assert budget_gauge(0.1, 0.3)[1].endswith("left 60%, about 2 more")
    assert (fitting_release_count(1.0, 0.1 / 0.3), fitting_release_count(0.99, 1 / 3)) == (3, 2), (
        "rounding takes none away, and adds none"
    )
    assert set(re.findall("#[0-9a-f]+", picture)) != set(re.findall("#[0-9a-f]+", fits))


def test_where_no_record_is_named_nothing_is_said_of_what_was_used():
    assert budget_gauge(None, 0.1)[1] == "New budget · this release 10% · left 90%, about 9 more"
