"""Bars of a lesson in Chromium: they follow ε by the keyboard, are heard, and the page below follows them."""

import re

import pytest
from playwright.sync_api import expect

from pages._ui.lessons import moving
from pages._ui.lessons.lesson import LESSONS
from pages._ui.lessons.runs import SEEDS, Tries
from pages._ui.shell.controls import EPSILONS

LESSON = LESSONS["small-groups"]
DRAWN = """() => Array.from(document.querySelectorAll('.drag-synthetic'))
    .filter(bar => bar.dataset.to).map(bar => Number(bar.dataset.to))"""


@pytest.fixture(scope="module")
def frames():
    """What the bars are, found here and not on the server of the test."""
    return moving.disagreement(Tries(LESSON.settings, SEEDS, lambda *_: None))


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_the_bars_follow_epsilon_and_the_charts_follow_the_bars(page, server, frames, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{server}/{LESSON.link('small-groups')}")
    page.get_by_text(LESSON.answers[2]).click()
    page.get_by_role("button", name="Reveal").click()
    slider = page.get_by_role("slider", name=moving.NAME)
    expect(slider).to_be_visible(timeout=60_000)
    expect(page.get_by_text("5 repeats", exact=True)).to_be_visible(timeout=60_000)
    at = EPSILONS.index(0.3)
    for key, stop in (("ArrowLeft", at - 1), ("ArrowRight", at), ("Home", 0), ("ArrowRight", 1)):
        slider.press(key)
        expect(slider).to_have_attribute(
            "aria-valuetext", re.compile(rf"^ε = {EPSILONS[stop]:g}\. At ε = .* about “Child”")
        )
        assert page.evaluate(DRAWN) == frames.synthetic[0][stop].tolist()
    page.wait_for_url(re.compile(r"epsilon=0\.02"))
    expect(page.get_by_text("· ε = 0.02").first).to_be_visible(timeout=60_000)
    expect(slider).to_be_focused()
    plot, control = page.locator(".drag-plot").bounding_box(), slider.bounding_box()
    assert control["y"] + control["height"] - plot["y"] < size[1], "slider and bars in one view"
