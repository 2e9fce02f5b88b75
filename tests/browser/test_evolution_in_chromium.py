"""Evolution in a real browser: the player moves the points, parts open by address, a figure can be cancelled."""

from urllib.parse import quote

from playwright.sync_api import expect


def open_part(page, server, part):
    page.goto(f"{server}/evolution?part={quote(part)}")
    page.locator("h1").wait_for()


def test_the_player_moves_the_synthetic_points(page, server):
    page.goto(f"{server}/evolution?pe-n=100&pe-seeds=1&pe-rounds=3")
    page.get_by_text("What was chosen, and what was spent").wait_for()
    dots = page.locator(".js-plotly-plot").first.locator(".scatterlayer .trace").nth(2).locator("path.point")
    before = dots.count()
    page.locator(".updatemenu-button").first.click()
    expect(page.locator(".slider-label").first).to_have_text("step t = 3")
    page.wait_for_function(
        "n => document.querySelectorAll('.js-plotly-plot')[0].querySelectorAll('.scatterlayer .trace')[2]"
        ".querySelectorAll('path.point').length !== n",
        arg=before,
    )


def test_a_figure_can_be_cancelled_and_run_again(page, server):
    open_part(page, server, "The paper's figures")
    page.get_by_role("button", name="Run the figure").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled: what is shown below")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    page.locator("input[aria-label='Runs of each setting']").fill("2")
    page.locator("input[aria-label='Runs of each setting']").press("Enter")
    page.get_by_role("button", name="Run the figure").click()
    expect(page.get_by_text("means lie within four standard errors")).to_be_visible(timeout=90_000)
