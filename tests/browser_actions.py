"""What a person does and sees in a browser's page."""

from playwright.sync_api import expect


def click(page, role, name, **how):
    """Click what has this role and name."""
    page.get_by_role(role, name=name, **how).click()


def epsilon_slider(page):
    """The slider of ε."""
    return page.get_by_role("slider", name="Privacy budget (ε)")


def set_screen_size(page, width, height):
    """Look at a page on a screen of this size."""
    page.set_viewport_size({"width": width, "height": height})


def open_from_menu(page, name):
    """Go to another page by its link in the menu."""
    click(page, "link", name, exact=True)


def wait_for_text(page, words, **how):
    """Wait until these words are in sight; what fades out meanwhile may say them too."""
    expect(page.get_by_text(words).filter(visible=True).first).to_be_visible(**how)


def wait_until_idle(page, **how):
    """Wait until nothing runs that could be cancelled."""
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, **how)


def wait_for_heading(page, name, **how):
    """Wait until a page or a part with this heading is in sight."""
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible(**how)


def wait_until_still(page):
    """Wait until no run of the page is on its way and nothing of an earlier one is left."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator("[data-stale=true]")).to_have_count(0)
