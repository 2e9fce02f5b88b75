"""Learning in a real browser: the law follows the slider, rivals run and can be cancelled."""

import re

from playwright.sync_api import expect

from pages._ui.learning.quantile import PARTS


def visit(page, server, part, query=""):
    page.goto(f"{server}/learning?part={part.replace(' ', '%20')}{query}")
    expect(page.locator("h1")).to_have_text("Learning")


def test_the_law_follows_the_slider_and_the_address_keeps_it(page, server):
    visit(page, server, PARTS[0])
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    tile = page.get_by_text("Private value, for example")
    before = tile.inner_text().split("\n")[-1]
    page.get_by_role("slider", name="Privacy budget (ε)").press("ArrowLeft")
    expect(page.get_by_text(before)).to_have_count(0)
    expect(page).to_have_url(re.compile("epsilon=0.7"))
    page.reload()
    expect(tile).to_be_visible()
    expect(page.get_by_text(before)).to_have_count(0)


def test_learning_can_be_cancelled_and_taken_up_again(page, server):
    visit(page, server, PARTS[2], "&table-seeds=20")
    page.get_by_role("button", name="Learn", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    page.get_by_role("button", name="Learn", exact=True).click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
