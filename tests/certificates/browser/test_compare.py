"""Compare in a real browser: dots appear, a click shows the run and restores it, solve, report, phone."""

import re

import pytest
from playwright.sync_api import expect

RUN = "Run the comparison"
MAXENT, DPFW = "compared=Gaussian+%2B+maximum+entropy", "compared=DPFW"


def open_compare(page, server, query="sample=berkeley"):
    page.goto(f"{server}/compare?{query}")
    page.get_by_role("button", name=RUN).wait_for(timeout=90_000)  # a sample runs at once


def compare(page):
    page.locator(".js-plotly-plot").first.wait_for()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=90_000)
    expect(page.get_by_role("tab", name="Report")).to_be_visible()


def small(page, server):
    """Two algorithms, two budgets, one seed."""
    query = f"sample=berkeley&{MAXENT}&{DPFW}&epsilons=0.1&epsilons=1&sweep-seeds=1"
    open_compare(page, server, query)
    compare(page)


def dots(page):
    """The middles of the drawn dots, those of the legend left out."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.js-plotly-plot')[0].querySelectorAll('.scatterlayer .points path')]
        .map(e => e.getBoundingClientRect()).filter(r => r.width > 3)
        .map(r => [r.x + r.width / 2, r.y + r.height / 2])"""
    )


def test_the_frontier_shows_every_run_and_a_click_shows_and_restores_one(page, server):
    page.set_viewport_size({"width": 1440, "height": 2200})
    small(page, server)
    expect(page.get_by_text(re.compile("At ε = 1 the best is as exact as asking"))).to_be_visible()
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot .scatterlayer .points path').length >= 5")
    assert len(dots(page)) == 5, "four runs, and the star of the budget that is enough"
    page.mouse.click(*dots(page)[0])
    link = page.get_by_role("link", name="Open exactly this run on Explore")
    link.wait_for()
    heading = page.get_by_role("heading", name=re.compile("at ε = .*, repeat number 0")).inner_text()
    shown = float(re.search(r"max_error ([\d.e-]+)", page.get_by_text(re.compile("max_error")).inner_text())[1])
    assert f"epsilon={heading.split('ε = ')[1].split(',')[0]}" in link.get_attribute("href")
    link.click()
    verdict = page.get_by_text(re.compile(r"Largest error\s.*people")).inner_text()
    assert float(re.search(r"([\d.]+) points", verdict)[1]) == pytest.approx(100 * shown, rel=0.06), "two digits shown"


def test_on_a_phone_the_smallest_budget_a_waterfall_and_a_report_and_nothing_is_cut_off(page, server, tmp_path):
    page.set_viewport_size({"width": 390, "height": 844})
    small(page, server)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    figures = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')].map(e => e.getBoundingClientRect().right)"
    )
    assert figures
    assert max(figures) <= 390
    page.get_by_role("button", name="Check with simulated releases").click()
    expect(page.get_by_text(re.compile(r"in 95% of 20 runs, δ"))).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=60_000)
    page.get_by_role("tab", name="Where from").click()
    page.get_by_role("button", name="Take this error apart").click()
    expect(page.get_by_text(re.compile("The largest part, .* points, is "))).to_be_visible(timeout=60_000)
    page.get_by_role("tab", name="Report").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="One-page report").click()
    download.value.save_as(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<svg" in text
    assert "Gaussian + maximum entropy" in text
    assert "gaussian_maxent" not in text
    assert "uses real data" in text
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org", "").replace("http-equiv", "")
