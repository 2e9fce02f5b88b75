"""The Guarantee page in a real browser: it renders, sliders change the sentence, ε comes along."""

import re

from playwright.sync_api import expect


def test_sliders_change_the_number_the_picture_and_the_address_and_every_tab_opens(page, server):
    page.goto(f"{server}/guarantee?sample=berkeley")
    expect(page.get_by_role("img", name=re.compile("guesses"))).to_be_visible()
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    number = page.get_by_test_id("stMetricValue")
    expect(number).to_contain_text("54 times in 100")
    picture = page.get_by_role("img", name=re.compile("54 are right"))
    assert picture.evaluate("e => e.complete && e.naturalWidth > 0")
    page.get_by_role("slider", name="Privacy budget (ε)").press("ArrowRight")
    expect(page.get_by_role("img", name=re.compile("56 are right"))).to_be_visible()
    expect(page.get_by_text("A belief of 10% stays within")).to_be_visible()
    page.get_by_role("slider", name="Belief before the release").press("ArrowRight")
    expect(page.get_by_text("A belief of 20% stays within")).to_be_visible()
    assert "epsilon=1.5" in page.url
    page.reload()
    expect(page.get_by_role("img", name=re.compile("56 are right"))).to_be_visible()
    expect(page.get_by_text("A belief of 20% stays within")).to_be_visible()
    for part, there in (("Mistakes", "false alarm"), ("Accountants", "closed forms"), ("Proof", "Total:")):
        page.get_by_role("tab", name=part).click()
        expect(page.get_by_text(re.compile(there)).first).to_be_visible()
    assert page.get_by_role("alert").count() == 0
