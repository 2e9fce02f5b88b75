"""A lesson's right answer does not hang on the noise of one seed."""

from pages._ui.lessons.lesson import LESSONS, SEEDS
from tests.small_problems import parametrize


@parametrize("key", LESSONS)
def test_every_seed_alone_gives_the_same_answer_as_all_together(key):
    right = LESSONS[key].find_answer().right_answer_index
    assert len(SEEDS) == 5
    assert [LESSONS[key].find_answer((seed,)).right_answer_index for seed in SEEDS] == [right] * 5
