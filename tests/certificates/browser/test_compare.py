"""Compare in a real browser: dots appear, a click shows the run and restores it."""

import re

from playwright.sync_api import expect

from tests.browser_actions import set_screen_size, wait_for_text, wait_until_idle


def dots(page):
    """The middles of the drawn dots, those of the legend left out."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.js-plotly-plot')[0].querySelectorAll('.scatterlayer .points path')]
        .map(e => e.getBoundingClientRect()).filter(r => r.width > 3)
        .map(r => [r.x + r.width / 2, r.y + r.height / 2])"""
    )


def test_the_frontier_shows_every_run_and_a_click_shows_and_restores_one(page, server):
    set_screen_size(page, 1440, 2200)
    algorithms = "compared=Gaussian+%2B+maximum+entropy&compared=DPFW"
    page.goto(
        f"{server}/compare?sample=berkeley&{algorithms}&epsilons=0.1&epsilons=1&sweep-seeds=1"
    )
    expect(page.get_by_role("tab", name="Report")).to_be_visible(
        timeout=90_000
    )  # a sample runs at once
    wait_until_idle(page, timeout=90_000)
    wait_for_text(page, re.compile("at ε = .* is best"))
    page.wait_for_function(
        "document.querySelectorAll('.js-plotly-plot .scatterlayer .points path').length >= 5"
    )
    assert len(dots(page)) == 5
    page.mouse.click(*dots(page)[0])
    link = page.get_by_role("link", name="Open exactly this run on Explore")
    link.wait_for()
    heading = page.get_by_role(
        "heading", name=re.compile("at ε = .*, repeat number 0")
    ).inner_text()
    caption = page.get_by_text(re.compile("^Measured: .* in a wrong cell")).inner_text()
    shown = re.search(r"largest error [\d.]+ points ≈ ([\d.,]+ people)", caption)[1]
    assert f"epsilon={heading.split('ε = ')[1].split(',')[0]}" in link.get_attribute("href")
    link.click()
    verdict = page.get_by_text(re.compile(r"Largest error.*\s.*people")).inner_text()
    assert shown in verdict
