"""What is seen is what is meant: by link, menu, button, Back, Forward and reload, and however
quickly one clicks.
"""

import json
import re

from playwright.sync_api import expect

from tests.browser_actions import (
    click,
    epsilon_slider,
    open_from_menu,
    wait_for_heading,
    wait_for_text,
    wait_until_still,
)
from tests.small_problems import integer, parametrize

MEANT = "What does this ε mean?"
OFF = "?sample=berkeley&epsilon=0.3&delta=1e-6"


def says(page, name, value):
    wait_for_heading(page, name)
    expect(epsilon_slider(page)).to_have_attribute("aria-valuetext", value)


def in_address(page, *parts):
    for part in parts:
        expect(page).to_have_url(re.compile(re.escape(part)))


def test_settings_survive_the_menu_back_forward_and_reload(page, server):
    page.goto("about:blank")
    page.goto(f"{server}/explore{OFF}")
    says(page, "Explore", "0.3")
    open_from_menu(page, "Compare")
    wait_for_heading(page, "Compare")
    open_from_menu(page, "Explore")
    says(page, "Explore", "0.3")
    click(page, "link", MEANT)
    says(page, "Guarantee", "0.3")
    epsilon_slider(page).press("ArrowRight")
    in_address(page, "/guarantee?", "epsilon=0.5", "delta=1e-6", "sample=berkeley")
    says(page, "Guarantee", "0.5")
    page.go_back()
    says(page, "Explore", "0.3")
    in_address(page, "/explore?", "epsilon=0.3", "delta=1e-6", "sample=berkeley")
    page.go_forward()
    says(page, "Guarantee", "0.5")
    page.reload()
    says(page, "Guarantee", "0.5")
    in_address(page, "/guarantee?", "epsilon=0.5", "delta=1e-6", "sample=berkeley")
    for name in ("Explore", "Compare", "Explore"):
        page.go_back()
        wait_for_heading(page, name)
    says(page, "Explore", "0.3")
    page.go_back()
    assert page.url == "about:blank"


@parametrize("way", ["link", "menu"])
def test_a_click_before_the_page_has_settled_takes_the_settings_along(page, server, way):
    page.goto(f"{server}/explore{OFF}", wait_until="commit")
    if way == "link":
        click(page, "link", MEANT)
    else:
        open_from_menu(page, "Compare")
        open_from_menu(page, "Explore")
    says(page, "Guarantee" if way == "link" else "Explore", "0.3")
    settings = ("epsilon=0.3", "delta=1e-6", "sample=berkeley")
    in_address(page, *settings)
    page.go_back()
    wait_for_heading(page, "Explore" if way == "link" else "Compare")
    in_address(page, *settings)


def test_what_the_hand_just_moved_is_what_a_click_takes_along(page, server):
    page.goto(server)
    slider = page.locator(".drag input")
    expect(slider).to_be_visible()
    click(page, "link", MEANT)
    says(page, "Guarantee", "0.1")  # as Start opens
    page.goto(f"{server}/explore{OFF}")
    says(page, "Explore", "0.3")
    link = page.get_by_role("link", name=MEANT)
    expect(link).to_be_visible()
    epsilon_slider(page).press("ArrowRight")
    link.click(no_wait_after=True)
    says(page, "Guarantee", "0.5")
    open_from_menu(page, "Start")
    expect(slider).to_have_value("9")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    link.click()
    says(page, "Guarantee", "1")
    page.go_back()
    expect(slider).to_have_value("11")
    page.go_back()
    says(page, "Guarantee", "0.5")


CELLS = "city,age\n" + "\n".join(f"planted-{i % 3},{20 + i % 60}" for i in range(300))
TYPED = {"columns": {"age": integer(0, 119, bins=12)}}


def bring(page, name, content, place=0):
    wait_until_still(page)  # a page that is drawn anew takes its uploader away
    page.locator("input[type=file]").nth(place).set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content.encode()}
    )


def test_what_was_typed_about_columns_is_back_after_a_reload_and_no_cell_was_kept(page, server):
    page.goto(f"{server}/data")
    bring(page, "people.csv", CELLS)
    wait_for_text(page, "2 columns to decide")
    click(page, "tab", "File and schema")
    bring(page, "schema.json", json.dumps(TYPED), 1)
    wait_for_heading(page, "Ready, if each row is another person")
    kept = page.wait_for_function("localStorage.getItem('columns')").json_value()
    assert json.loads(kept)[0]["said"]["entries"] == TYPED["columns"] | {"city": None}
    assert "planted" not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    page.reload()
    wait_for_text(page, "Your table is gone")
    bring(page, "people.csv", CELLS)
    wait_for_text(page, "What you typed about these columns is back")
    wait_for_heading(page, "Ready, if each row is another person")
    bring(page, "empty.csv", "city,age\n")
    wait_for_text(page, re.compile("no rows.*The table is still the one before.*people.csv"))
    click(page, "button", "Forget my table")
    page.wait_for_function("localStorage.getItem('columns') === null")
