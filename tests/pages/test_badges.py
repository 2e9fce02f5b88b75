"""Badges, as they are read: one a page, none that contradicts it, and none twice."""

import re

import pytest

from dpcore.tags import Tag
from tests.pages.test_pages import button, open_page, settled
from tests.pages.test_release import NOW, SCHEMA, go, opened, uploaded

pytestmark = pytest.mark.usefixtures("tab")
BADGE = re.compile(r":\w+-badge\[:material/\w+: ([^\]]*)\]")


def badges(app):
    return [Tag(words) for element in app.markdown for words in BADGE.findall(element.value)]


PAGES = {
    "start": [], "data": [], "explore": [Tag.PEEK], "compare": [Tag.PEEK], "release": [Tag.PUBLIC],
    "guarantee": [Tag.PUBLIC], "audit": [Tag.PUBLIC], "evolution": [Tag.PUBLIC], "learning": [Tag.PEEK], "lessons": [],
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_a_page_about_a_public_sample_has_one_badge_and_others_only_where_they_differ(page):
    found, many = badges(open_page(f"pages/{page}.py", sample="berkeley")), len(PAGES[page])
    assert found[:many] == PAGES[page]
    assert not set(found[:many]) & set(found[many:]), "no badge repeats the page's"
    assert Tag.PAID not in found, "nothing was released"


def test_where_bounds_were_filled_in_from_the_data_no_page_about_the_table_says_that_no_data_was_used():
    app = uploaded(schema=SCHEMA | {"peeked": True})
    for page in ("data", "explore", "compare", "release", "guarantee", "learning"):
        assert badges(go(app, page)) == [Tag.PEEK], page
    assert badges(go(app, "audit")) == [Tag.PUBLIC], "which plays on tables of its own"


def test_a_question_of_an_exploration_is_not_called_protected():
    app = open_page("pages/explore.py", question="sex = Female")
    assert "Ask a question of your own" in [h.value for h in app.subheader]
    assert Tag.PAID not in badges(app)
    stakeholders = open_page("pages/explore.py", question="sex = Female", view="stakeholder")
    assert "synthetic" in " ".join(m.value for m in stakeholders.markdown)
    assert Tag.PAID not in badges(stakeholders)


def test_what_was_released_is_called_protected(tmp_path):
    app = opened(tmp_path)
    button(app, NOW).click().run()
    assert app.session_state["session"].held["desk"].work.wait(60)
    assert badges(settled(app.run()))[0] is Tag.PAID, "no badge says that no data was used"
