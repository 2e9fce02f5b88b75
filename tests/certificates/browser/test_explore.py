"""The journey in a real browser: Data, Explore; upload, run, read the charts, take along, come
back, cancel.
"""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser_actions import (
    click,
    open_from_menu,
    wait_for_heading,
    wait_for_text,
    wait_until_idle,
)
from tests.small_problems import categorical, integer, write_json

PEOPLE = "sex,age,note\n" + "\n".join(f"{'FM'[i % 2]},{20 + i % 60},x" for i in range(3000))
SCHEMA = {"columns": {"sex": categorical("F", "M"), "age": integer(0, 99)}}


def visit(page, server, path, heading):
    page.goto(server + path)
    wait_for_heading(page, heading)


def verdict(page):
    return page.get_by_text(re.compile(r"People in a wrong cell\s*[\d.,]+ of [\d,]+\s*measured"))


def upload(page, path, schema):
    page.locator(".st-key-upload input[type=file]").set_input_files(path)
    wait_for_text(page, "Type them below")
    click(page, "tab", "File and schema")
    field = page.locator("[class*=st-key-schema-file] input[type=file]")
    expect(field).to_have_count(1)
    field.set_input_files(schema)
    expect(page.get_by_role("link", name="Explore it")).not_to_have_attribute("disabled", "")


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    write_json(tmp_path / "schema.json", SCHEMA)
    return tmp_path / "people.csv", tmp_path / "schema.json"


def test_upload_schema_run_chart_download_come_back_and_cancel(page, server, people):
    visit(page, server, "/data", "Data")
    upload(page, *people)
    wait_for_text(page, "Read as UTF-8, separated by commas.")
    click(page, "link", "Explore it")
    expect(verdict(page)).to_be_visible()
    expect(page.locator(".st-key-marginal .bars path").first).to_be_visible()
    assert "sample" not in page.url
    assert "people" not in page.url
    click(page, "tab", "Download")
    with page.expect_download() as download:
        click(page, "button", "Synthetic rows (CSV)")
    lines = download.value.path().read_text().splitlines()
    assert (lines[0], len(lines)) == ("sex,age", 3001)
    with page.expect_download() as download:
        click(page, "button", "Share")
        click(page, "button", "Save project")
    settings = json.loads(download.value.path().read_text())
    assert (settings["columns"], settings["queries"]) == (["sex", "age"], ["marginals:2"])
    assert "--queries marginals:2" in settings["command"]
    open_from_menu(page, "Data")
    click(page, "tab", "For experts")
    wait_for_text(page, "2 columns in use, 200 combinations")
    open_from_menu(page, "Explore")
    wait_for_text(page, "people.csv · ")
    click(page, "combobox", "Algorithm")
    click(page, "option", "Frank-Wolfe")
    page.locator("summary", has_text="More").click()
    page.get_by_role("slider", name="rounds T").press("End")  # a million rounds
    wait_for_text(page, re.compile(r"step [\d,]+ of at most 1,000,000"))
    click(page, "button", "Cancel")
    wait_for_text(page, "Cancelled: what is shown below")
    wait_until_idle(page)
    expect(verdict(page)).to_be_visible()


def test_two_sessions_do_not_see_each_other(page, server, chromium, people):
    visit(page, server, "/data", "Data")
    upload(page, *people)
    other = chromium.new_context().new_page()
    visit(other, server, "/data", "Data")
    wait_for_text(other, "20,000 people drawn from known probabilities")
    assert other.get_by_text("people.csv").count() == 0
    other.context.close()
