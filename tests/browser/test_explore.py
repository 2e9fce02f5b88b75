"""The main job in a real browser: upload, say what is public, run, read the charts, cancel."""

import json
import re

import pytest
from playwright.sync_api import expect


def explore(page, server):
    page.goto(server + "/explore")
    expect(page.get_by_role("heading", name="Explore")).to_be_visible()


def verdict(page):
    return page.get_by_text(re.compile(r"Typical error [\d.e-]+ points; worst"))


def upload(page, path, schema=None):
    page.locator(".st-key-upload input[type=file]").set_input_files(path)
    expect(page.get_by_text("Fill in the schema above")).to_be_visible()
    if schema:
        page.locator("[class*=st-key-schema-file] input[type=file]").set_input_files(schema)


def test_a_newcomer_gets_from_start_to_a_chart(page, server):
    page.goto(server)
    page.get_by_role("link", name="Explore a sample").click()
    expect(verdict(page)).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    assert page.locator(".st-key-convergence .scatterlayer path.js-line").count() >= 2


def test_upload_schema_run_chart_cancel(page, server, tmp_path):
    table, schema = tmp_path / "people.csv", tmp_path / "schema.json"
    table.write_text("sex,age,note\n" + "\n".join(f"{'FM'[i % 2]},{20 + i % 60},x" for i in range(3000)))
    columns = {
        "sex": {"kind": "categorical", "values": ["F", "M"]},
        "age": {"kind": "integer", "low": 0, "high": 99},
    }
    schema.write_text(json.dumps({"columns": columns}))
    explore(page, server)
    upload(page, table, schema)
    expect(page.get_by_text("people.csv: 3,000 rows, 3 columns.")).to_be_visible()
    expect(verdict(page)).to_be_visible()
    expect(page.locator(".st-key-marginal .bars path").first).to_be_visible()

    page.get_by_label("Algorithm").click()
    page.get_by_role("option", name="Frank-Wolfe").click()
    page.get_by_text("More: δ, parameters, seed, repeats").click()
    page.get_by_role("spinbutton", name="Repeats").fill("20")
    page.get_by_role("spinbutton", name="Repeats").press("Enter")
    slider = page.get_by_role("slider", name="rounds T")
    slider.press("End")  # a million rounds
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled: what is shown below")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(verdict(page)).to_be_visible()


def test_bounds_are_only_read_off_the_records_when_asked_and_then_marked(page, server, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "\n".join(f"{i % 7},{'xyz'[i % 3]}" for i in range(500)))
    explore(page, server)
    upload(page, table)
    expect(page.get_by_text("a person must fill them in")).to_be_visible()
    page.get_by_role("button", name="Read bounds and values off the records").click()
    expect(page.get_by_text("not covered by the guarantee")).to_be_visible()
    expect(verdict(page)).to_be_visible()


def test_a_bad_upload_is_named_and_keeps_the_table_that_was_there(page, server, tmp_path):
    table = tmp_path / "bad.csv"
    table.write_text("a,a\n1,2\n3,4\n")
    explore(page, server)
    expect(verdict(page)).to_be_visible()
    page.locator(".st-key-upload input[type=file]").set_input_files(table)
    expect(page.get_by_text("column 'a' stands twice in the header")).to_be_visible()
    expect(page.get_by_text("Invented census (20,000 people): 20,000 rows")).to_be_visible()


def test_hostile_names_and_values_are_shown_not_interpreted(page, server, tmp_path, hostile):
    frame, schema = hostile
    table, file = tmp_path / "![z](http:__evil.example_z.png).csv", tmp_path / "s.json"
    frame.to_csv(table, index=False)
    file.write_text(json.dumps(schema))
    explore(page, server)
    upload(page, table, file)
    expect(verdict(page)).to_contain_text("and")
    expect(page.locator(".st-key-marginal .bars path").first).to_be_visible()
    page.wait_for_timeout(500)
    assert page.locator("img[src*=evil], img[src=x], a[href*=evil], .katex").count() == 0


@pytest.mark.parametrize("width", [390])
def test_nothing_is_cut_off_on_a_phone(page, server, width):
    page.set_viewport_size({"width": width, "height": 844})
    explore(page, server)
    expect(verdict(page)).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(6)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for box in page.locator(".js-plotly-plot").all():
        area = box.bounding_box()
        assert area["x"] >= 0
        assert area["x"] + area["width"] <= width
