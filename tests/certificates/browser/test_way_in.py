"""A table as it comes, 30 columns of messy kinds: from upload to frontier by clicks alone; its
times are printed.
"""

import csv
import re
import time

import numpy as np
from playwright.sync_api import expect

from tests.browser_actions import (
    click,
    open_from_menu,
    set_screen_size,
    wait_for_heading,
    wait_for_text,
    wait_until_idle,
    wait_until_still,
)
from tests.certificates.browser.test_explore import visit
from tests.certificates.browser.test_looks import serious
from tests.conftest import HOSTILE
from tests.small_problems import parametrize, seeded

ROWS = 2000
ASIDE = ["[data-testid=stSidebar]"]
READ = "Fill in from my data (not protected)"
SPELLINGS = "Count its spellings as one value"
OWN = "Make them values of their own"
MISSING = ["", "NA", "n/a", "-", "?", "null", "None", "NaN", "missing", "N/A"]


def messy(path, rows=ROWS):
    """Write the table; the names of its columns."""
    rng = seeded(0)

    def one(*values):
        return rng.choice(values, rows).tolist()

    def holed(cells):
        return [
            cell if rng.random() > 0.1 else MISSING[i % len(MISSING)]
            for i, cell in enumerate(cells)
        ]

    days = [(1 + i % 28, 1 + i * 7 % 12, 2015 + i * 3 % 9) for i in range(rows)]
    age = rng.integers(18, 90, rows)
    columns = {
        "": range(rows),
        "record_id": [f"r{i:06d}" for i in rng.permutation(rows)],
        "customerNo": rng.permutation(rows) * 7919 + 10,
        "e-mail": [f"person{i}@mail.example" for i in range(rows)],
        "created": [f"{y}-{m:02d}-{d:02d}" for d, m, y in days],
        "admitted at": [f"{y}-{m:02d}-{d:02d}T08:{d:02d}:00" for d, m, y in days],
        "born (d/m/y)": [f"{d}/{m}/{y - 50}" for d, m, y in days],
        "left": holed([f"{d:02d}.{m:02d}.{y}" for d, m, y in days]),
        "height": [f"{v:.1f}".replace(".", ",") for v in rng.normal(170, 9, rows)],
        "fee": [f"€ {v:,.2f}" for v in rng.lognormal(6, 1, rows)],
        "share": [f"{v} %" for v in rng.integers(0, 101, rows)],
        "salary": [f"${v:,}" for v in rng.integers(15, 140, rows) * 1000],
        "consent": one("yes", "Yes", " yes ", "no", "NO"),
        "sex": one("F", "M", "f", "m "),
        "remark": [
            f"Came on day {i} and said that everything was as it had been" for i in range(rows)
        ],
        "nickname": [f"nick{i % 700}" for i in range(rows)],
        "country": ["Utopia"] * rows,
        "version": [3] * rows,
        "unused": [MISSING[i % len(MISSING)] for i in range(rows)],
        "age": [*age[:-1], 99999],
        "balance": [-987654321, *np.round(rng.normal(100, 30, rows - 1), 2)],
        "children": [f"{v}.0" for v in rng.integers(0, 6, rows)],
        "score": holed(rng.integers(1, 6, rows)),
        "zip code": [f"{v:05d}" for v in rng.integers(0, 30, rows) * 1003],
        "smoker": one("True", "False"),
        HOSTILE[0]: one("<b>bold</b>", "**stars**", "&lt;i&gt;"),
        HOSTILE[1]: one("![y](http://evil.example/y.png)", "b"),
        HOSTILE[2]: rng.integers(0, 4, rows),
        HOSTILE[3]: holed(one("a", "b", "c")),
        "grade;level": one("A; first", "B; second", "C, third"),
    }
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return list(columns)


def press(page, label):
    page.get_by_role("button", name=label, exact=True).first.click()
    wait_until_still(page)


def bring(page, server, path):
    visit(page, server, "/data", "Data")
    page.locator(".st-key-upload input[type=file]").set_input_files(path)
    wait_for_text(page, f"{path.name} · ")
    wait_for_text(page, "values or a range")
    wait_until_still(page)


def test_a_messy_table_goes_from_upload_to_explore_in_six_clicks_and_a_minute_and_on_to_the_frontier(
    page, server, tmp_path
):
    table = tmp_path / "![z](http:__evil.example_z.png).csv"
    assert len(messy(table)) == 30
    start = time.perf_counter()
    clicks = [READ, SPELLINGS, OWN]
    bring(page, server, table)
    wait_for_text(page, re.compile("may identify people.*record_id, customerNo, e-mail, born"))
    explore = page.get_by_test_id("stPageLink-NavLink").filter(has_text="Explore it")
    expect(explore).to_have_text(re.compile("first decide about 20 columns"))
    uploaded = time.perf_counter() - start
    for label in clicks:
        press(page, label)
        expect(page.get_by_role("button", name=label, exact=True)).to_have_count(0)
    wait_for_heading(page, "Ready, if each row is another person")
    wait_for_text(page, "is outside the promise")
    explore.click()
    wait_for_text(page, "columns to begin with")
    ready = time.perf_counter() - start
    assert len([page, *clicks, explore]) <= 6, "the upload, each decision, and the way on"
    assert ready < 60, "seconds, of which a person has most"
    open_from_menu(page, "Compare")
    wait_for_heading(page, "Compare")
    wait_for_text(page, "columns to begin with")
    click(page, "button", "Run the comparison")
    expect(page.locator(".js-plotly-plot .points path").first).to_be_visible(timeout=90_000)
    first = time.perf_counter() - start
    wait_until_idle(page, timeout=600_000)
    whole = time.perf_counter() - start
    print(
        f"\nuploaded {uploaded:.1f} s, ready {ready:.1f} s, first dots {first:.1f} s, frontier "
        f"{whole:.1f} s"
    )
    assert page.locator("img[src*=evil], img[src=x], a[href*=evil], .katex").count() == 0


TRY = ["Measure them privately", "Try it: measure with noise that can be repeated"]


@parametrize(
    "width, scheme, clicks, then",
    [(1440, "light", [READ], "is outside the promise"), (390, "dark", TRY, "What the trial found")],
)
def test_the_steps_are_readable_and_a_schema_is_tried_by_two_clicks(
    page, server, tmp_path, width, scheme, clicks, then
):
    messy(tmp_path / "messy.csv", 300)
    set_screen_size(page, width, 844)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    bring(page, server, tmp_path / "messy.csv")
    assert serious(page, ASIDE) == [], "before anything is read off"
    for label in clicks:
        press(page, label)
    wait_for_text(page, then)
    page.wait_for_timeout(500)
    assert serious(page, ASIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
