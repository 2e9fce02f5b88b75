"""What a person set survives a click before the page has settled, and a reload."""

import re

from playwright.sync_api import expect


def expect_promise(page, epsilon):
    expect(page).to_have_url(re.compile(rf"/guarantee\?.*epsilon={re.escape(epsilon)}(&|$)"))
    expect(page.get_by_role("slider", name="ε, privacy budget")).to_have_attribute("aria-valuetext", epsilon)


def test_a_click_on_a_link_that_has_just_opened_explains_the_promise_that_is_meant(page, server):
    page.goto(f"{server}/explore?epsilon=0.3")
    page.get_by_role("link", name="What does this ε mean?").click()  # as soon as it is there
    expect_promise(page, "0.3")
    page.reload()
    expect_promise(page, "0.3")
