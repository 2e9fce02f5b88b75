"""What was typed last is in force, is shown and comes back, however quickly it was typed."""

import pytest

from tests.browser_actions import open_from_menu, wait_for_heading
from tests.random_typist import CELLS, EDITOR, Typist

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


def test_an_edit_is_kept_where_the_page_is_left_at_once(page, server):
    """Streamlit sends it 150 ms later: with the click the edit was lost, or the page came back."""
    cell = CELLS[0]
    typist = Typist(page, server, SEED)
    typist.begins()
    cell.type(page, "0 to 120")
    open_from_menu(page, "Explore")
    wait_for_heading(page, "Explore")
    open_from_menu(page, "Data")
    cell.shows(page, "0 to 120")
    cell.opens(page)
    page.locator(EDITOR).fill("0 to 121")
    open_from_menu(page, "Explore")
    wait_for_heading(page, "Explore")
    open_from_menu(page, "Data")
    cell.shows(page, "0 to 121")
