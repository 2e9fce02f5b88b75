"""A real release in a real browser: pressed twice, reloaded, downloaded, and charged once."""

import json
import re
import zipfile

from playwright.sync_api import expect

from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from tests.browser_actions import (
    click,
    open_from_menu,
    set_screen_size,
    wait_for_heading,
    wait_for_text,
)

NOW = "Release: permanent"


def open_release(page, server, folder):
    page.goto(f"{server}/release?sample=berkeley")
    wait_for_heading(page, "Release")
    field = page.get_by_role("textbox", name="Where is used budget recorded?")
    field.fill(str(folder))
    field.press("Enter")
    expect(page.get_by_role("button", name=NOW)).to_be_enabled()


def zipped(page, place, folder):
    with page.expect_download() as download:
        place.click()
    download.value.save_as(folder / "all.zip")
    with zipfile.ZipFile(folder / "all.zip") as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_one_release_whatever_is_pressed(page, server, tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    open_release(page, server, tmp_path)
    assert not ledger.exists()
    page.get_by_role("button", name=NOW).dblclick()
    wait_for_heading(page, "Release 1 of berkeley")
    files = zipped(page, page.get_by_role("button", name="All files (ZIP)").first, tmp_path)
    assert verify_ledger(ledger, json.loads(files["release.json"])["ledger"]) == []
    with page.expect_download() as download:
        click(page, "button", "Synthetic rows (CSV)")
    assert download.value.path().read_bytes() == files["synthetic.csv"]
    open_from_menu(page, "Explore")
    open_from_menu(page, "Release")
    wait_for_heading(page, "Release 1 of berkeley")

    page.reload()
    open_release(page, server, tmp_path)
    expect(page.get_by_role("img", name=re.compile("Used before 8%"))).to_be_visible()
    assert zipped(page, page.get_by_role("button", name="All files (ZIP)"), tmp_path) == files
    page.get_by_text("Budget record: all releases").click()
    click(page, "button", "Verify the budget record")
    wait_for_text(page, "Sound: every row")
    (found,) = LedgerStore(ledger).list_datasets()
    assert [r["state"] for r in found.releases] == ["released"]


def test_a_game_shows_progress_can_be_cancelled_and_is_drawn(page, server):
    set_screen_size(page, 390, 844)
    page.goto(f"{server}/audit?audit-runs=40%2C000")
    click(page, "button", "Apply and play")
    wait_for_text(page, re.compile("of 40,000 games"))
    click(page, "button", "Cancel")
    wait_for_text(page, "Cancelled.")
    page.goto(f"{server}/audit?audit-runs=500")
    click(page, "button", "Apply and play")
    wait_for_text(page, re.compile("Each was released 500 times"))
    page.get_by_text("For experts: curves").click()
    expect(page.locator(".js-plotly-plot .scatterlayer path.js-line")).to_have_count(8)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
