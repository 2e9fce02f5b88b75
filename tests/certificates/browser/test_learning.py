"""Learning in a real browser: the law follows the slider."""

import re

from playwright.sync_api import expect

from pages._ui.learning.quantile import PARTS


def test_the_law_follows_the_slider_and_the_address_keeps_it(page, server):
    page.goto(f"{server}/learning?part={next(iter(PARTS)).replace(' ', '%20')}")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    tile = page.get_by_text("Private value, for example")
    before = tile.inner_text().split("\n")[-1]
    page.get_by_role("slider", name="Privacy budget (ε)").press("ArrowLeft")
    expect(page.get_by_text(before)).to_have_count(0)
    expect(page).to_have_url(re.compile("epsilon=0.7"))
    page.reload()
    expect(tile).to_be_visible()
    expect(page.get_by_text(before)).to_have_count(0)
