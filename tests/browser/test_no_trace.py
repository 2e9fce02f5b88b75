"""Broken files of every kind leave nothing of their cells in the log, on the disk, in the address
or in the browser.
"""

import io
import json
import zipfile
from pathlib import Path

import pandas as pd
from playwright.sync_api import expect

from tests.browser_actions import open_from_menu, wait_for_heading, wait_for_text, wait_until_still
from tests.running_app import serve_app
from tests.small_problems import categorical, integer

PLANTED, TYPED = (
    "planted-4711",
    "typed-4711",
)  # in a cell; and in a schema, which the browser may keep
LARGE = 2 * 2**20  # bytes: uploads of this size pass through a temporary file


def parquet():
    out = io.BytesIO()
    pd.DataFrame({"a": [PLANTED, "x"] * 50, PLANTED: range(100)}).to_parquet(out)
    return out.getvalue()


def packed(name):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr(name, f"<worksheet>{PLANTED}</worksheet")
    return out.getvalue()


def tables():
    whole = parquet()
    rows = f"a,b\n{PLANTED},1\n"
    return {
        "wide.csv": f"{rows}{PLANTED * 20_000},2\n".encode(),
        "ragged.csv": f"{rows}1,2,{PLANTED}\n".encode(),
        "quote.csv": f'{rows}"{PLANTED},2\n'.encode(),
        "utf16.csv": b"\xff\xfe" + rows.encode("utf-16-le")[:-1],
        "cut.parquet": whole[:-40] + whole[-8:],
        "letters.parquet": whole.replace(PLANTED.encode(), b"\xff\xfe" + PLANTED.encode()[2:]),
        "empty.xlsx": packed("xl/worksheets/sheet1.xml"),
        "large.csv": (f"a,b\n{PLANTED},1\n" * (LARGE // 20)).encode(),
    }


SCHEMAS = {
    "broken.json": f'{{"columns": {{"a": "{PLANTED}"'.encode(),
    "other.json": json.dumps({"columns": {"a": integer(0, 4)}}).encode(),
    "list.json": json.dumps([PLANTED]).encode(),
    "values.json": json.dumps({"columns": {"a": categorical(TYPED, [TYPED])}}).encode(),
}


def test_no_trace_of_a_cell_is_left(chromium, tmp_path):
    place = tmp_path / "temporary"
    place.mkdir()
    with serve_app(tmp_path / "log", TMPDIR=str(place)) as server:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{server.address}/data")
        for name, content in tables().items():
            send(page, 0, name, content)
        wait_for_text(page, f"{LARGE // 20 * 2 - 1:,} rows")
        for name, content in SCHEMAS.items():
            send(page, 1, name, content)
        addresses = [page.url]
        for link in ("Explore", "Release", "Compare", "Data"):
            open_from_menu(page, link)
            wait_for_heading(page, link)
            addresses.append(page.url)
        kept = page.evaluate(
            "JSON.stringify([localStorage, sessionStorage, document.cookie, document.title])"
        )
        seen = json.dumps([addresses, kept, context.cookies()]), server.said()
        context.close()
        files = {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert PLANTED not in "".join(seen)
    log = Path(tmp_path / "log").read_text(errors="replace")
    assert not [mark for mark in (PLANTED, TYPED) if mark in log]
    assert not [
        path for path, content in files.items() if PLANTED.encode() in content or PLANTED in path
    ]


def send(page, place, name, content):
    """Upload through the page, and wait until it has been taken or refused."""
    field = page.locator("input[type=file]").nth(place)
    with page.expect_response(
        lambda r: "/_stcore/upload_file/" in r.url and r.request.method == "PUT"
    ):
        field.set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        )
    page.wait_for_timeout(300)  # in which the browser asks for a run
    wait_until_still(page)
    expect(field).to_be_attached()  # nothing ends the page
