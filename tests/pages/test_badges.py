"""Badges, as they are read, where data is peeked at, asked about or released."""

from dpcore.tags import Tag
from tests.pages.headless import open_page, said
from tests.pages.test_pages import badges
from tests.pages.test_release import SCHEMA, go, opened, release, uploaded


def test_where_bounds_were_filled_in_from_the_data_no_page_about_the_table_says_that_no_data_was_used():
    app = uploaded(schema=SCHEMA | {"peeked": True})
    for page in ("data", "explore", "compare", "release", "guarantee", "learning"):
        assert badges(go(app, page)) == [Tag.PEEK], page
    assert badges(go(app, "audit")) == [Tag.PUBLIC], "which plays on tables of its own"


def test_what_was_released_is_called_protected(tmp_path):
    assert badges(release(opened(tmp_path)))[0] is Tag.PAID, "no badge says that no data was used"


def test_a_question_of_an_exploration_is_not_called_protected():
    app = open_page("explore", question="sex = Female", view="stakeholder")
    assert "synthetic" in said(app)
    assert Tag.PAID not in badges(app)
