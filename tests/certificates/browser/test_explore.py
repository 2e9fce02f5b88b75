"""The journey in a real browser: Data, Explore; upload, run, read the charts, take along, come back, cancel."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.certificates.browser.test_looks import still

PEOPLE = "sex,age,note\n" + "\n".join(f"{'FM'[i % 2]},{20 + i % 60},x" for i in range(3000))
SCHEMA = {
    "columns": {
        "sex": {"kind": "categorical", "values": ["F", "M"]},
        "age": {"kind": "integer", "low": 0, "high": 99},
    }
}


def visit(page, server, path, heading):
    page.goto(server + path)
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()


def verdict(page):
    return page.get_by_text(re.compile(r"Typical error\s*[\d.,]+ people\s*[\d.e-]+ points"))


def upload(page, path, schema):
    page.locator(".st-key-upload input[type=file]").set_input_files(path)
    expect(page.get_by_text("They are public: fill them in below")).to_be_visible()
    page.get_by_role("tab", name="File and schema").click()
    field = page.locator("[class*=st-key-schema-file] input[type=file]")
    expect(field).to_have_count(1)
    field.set_input_files(schema)
    expect(page.get_by_role("link", name="Explore it")).not_to_have_attribute("disabled", "")


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path / "people.csv", tmp_path / "schema.json"


def test_upload_schema_run_chart_download_come_back_and_cancel(page, server, people):
    visit(page, server, "/data", "Data")
    upload(page, *people)
    said = page.get_by_text("people.csv: 3,000 rows, 3 columns. Read as UTF-8, separated by commas.")
    expect(said.first).to_be_visible()
    page.get_by_role("link", name="Explore it").click()
    expect(verdict(page)).to_be_visible()
    expect(page.locator(".st-key-marginal .bars path").first).to_be_visible()
    assert "sample" not in page.url
    assert "people" not in page.url
    page.get_by_role("tab", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Synthetic rows (CSV)").click()
    lines = download.value.path().read_text().splitlines()
    assert (lines[0], len(lines)) == ("sex,age", 3001)
    with page.expect_download() as download:
        page.get_by_role("button", name="Settings (JSON)").click()
    settings = json.loads(download.value.path().read_text())
    assert (settings["columns"], settings["queries"]) == (["sex", "age"], ["marginals:2"])
    assert "--queries marginals:2" in settings["command"]
    page.get_by_role("link", name="Data", exact=True).click()
    page.get_by_role("tab", name="For experts").click()
    expect(page.get_by_text("2 columns in use, 200 combinations")).to_be_visible()
    page.get_by_role("link", name="Explore", exact=True).click()
    expect(page.get_by_text("people.csv · ")).to_be_visible()
    page.get_by_role("combobox", name="Algorithm").click()
    page.get_by_role("option", name="Frank-Wolfe").click()
    page.locator("summary", has_text="More").click()
    page.get_by_role("slider", name="rounds T").press("End")  # a million rounds
    expect(page.get_by_text(re.compile(r"step [\d,]+ of at most 1,000,000"))).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled: what is shown below")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(verdict(page)).to_be_visible()


def test_hostile_names_and_values_are_shown_not_interpreted(page, server, tmp_path, hostile):
    frame, schema = hostile
    table, file = tmp_path / "![z](http:__evil.example_z.png).csv", tmp_path / "s.json"
    frame.to_csv(table, index=False)
    file.write_text(json.dumps(schema))
    visit(page, server, "/data", "Data")
    upload(page, table, file)
    page.get_by_role("link", name="Explore it").click()
    expect(page.locator(".st-key-tiles")).to_contain_text(" and ")
    expect(page.locator(".st-key-marginal .bars path").first).to_be_visible()
    page.wait_for_timeout(500)
    assert page.locator("img[src*=evil], img[src=x], a[href*=evil], .katex").count() == 0


def test_a_link_opens_the_same_state(page, server, chromium):
    visit(page, server, "/explore?sample=titanic", "Explore")
    page.get_by_role("slider", name="Privacy budget (ε)").press("ArrowLeft")
    page.get_by_role("combobox", name="Algorithm").click()
    page.get_by_role("option", name="Frank-Wolfe").click()
    expect(page.get_by_text("50 · ε = 0.7").first).to_be_visible()
    page.wait_for_url(re.compile("algorithm=.*Frank"))
    still(page)
    before = verdict(page).inner_text()
    other = chromium.new_context().new_page()
    other.goto(page.url)
    expect(other.get_by_text("titanic · 2,201 rows")).to_be_visible()
    expect(verdict(other)).to_have_text(before)
    other.context.close()


def test_two_sessions_do_not_see_each_other(page, server, chromium, people):
    visit(page, server, "/data", "Data")
    upload(page, *people)
    other = chromium.new_context().new_page()
    visit(other, server, "/data", "Data")
    expect(other.get_by_text("Invented census (20,000 people): 20,000 rows")).to_be_visible()
    assert other.get_by_text("people.csv").count() == 0
    other.context.close()
