"""Evolution in a real browser: the player moves the points, parts open by address, a figure can be
cancelled.
"""

from playwright.sync_api import expect


def test_the_keyboard_moves_and_plays_the_points_and_nothing_has_to_be_scrolled_meanwhile(
    page, server
):
    page.goto(f"{server}/evolution?pe-n=100&pe-seeds=1&pe-rounds=3")
    page.get_by_text("Done: the map is").wait_for()
    expect(page.get_by_role("slider", name="Step")).to_have_attribute(
        "aria-valuetext", "3"
    )  # it played by itself
    dots = (
        page.locator(".js-plotly-plot")
        .first.locator(".scatterlayer .trace")
        .nth(2)
        .locator("path.point")
    )
    first = dots.count()
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "0")
    expect(dots).not_to_have_count(first)
    play = page.get_by_role("button", name="Play")
    play.focus()
    page.keyboard.press("Enter")
    expect(slider).to_have_attribute("aria-valuetext", "3")
    expect(play).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(500)
    boxes = [part.bounding_box() for part in (play, slider, page.locator(".js-plotly-plot").first)]
    assert max(b["y"] + b["height"] for b in boxes) - min(b["y"] for b in boxes) <= 844, (
        "in view together on a phone"
    )
