"""On every page, in Presenter too: the menu, the texts and the ring of the focus are in sight and
whole.
"""

from tests.browser.test_in_sight import check_menu, check_rings, check_texts, opened
from tests.small_problems import parametrize

PAGES = [
    "",
    "data",
    "explore",
    "compare",
    "release",
    "ask",
    "guarantee",
    "alternatives",
    "audit",
    "evolution",
    "learning",
    "lessons",
    "glossary",
]


@parametrize("path", ["explore", "compare"])
def test_the_menu_stays_whole_and_opaque_while_the_sidebar_is_scrolled(page, server, path):
    check_menu(page, server, f"{path}?sample=berkeley")


@parametrize("path", PAGES)
@parametrize("query", ["", "&present=true"], ids=["page", "presenter"])
def test_no_text_lies_upon_another(page, server, path, query):
    opened(page, server, f"{path}?sample=berkeley{query}")
    check_texts(page)


@parametrize("path", PAGES)
def test_the_ring_of_the_focus_is_whole_wherever_it_is(page, server, path):
    check_rings(page, server, f"{path}?sample=berkeley")
