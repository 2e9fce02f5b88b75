"""Broken files of every kind leave nothing of their cells in the log, on the disk, in the address or in the browser."""

import io
import json
import zipfile
from pathlib import Path

import pandas as pd
from playwright.sync_api import expect

from tests.serving import serving

PLANTED, TYPED = "planted-4711", "typed-4711"  # in a cell; and in a schema, which the browser may keep
LARGE = 2 * 2**20  # bytes: uploads of this size pass through a temporary file


def parquet() -> bytes:
    out = io.BytesIO()
    pd.DataFrame({"a": [PLANTED, "x"] * 50, PLANTED: range(100)}).to_parquet(out)
    return out.getvalue()


def packed(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr(name, f"<worksheet>{PLANTED}</worksheet")
    return out.getvalue()


def tables() -> dict[str, bytes]:
    whole = parquet()
    rows = f"a,b\n{PLANTED},1\n"
    return {
        "wide.csv": f"{rows}{PLANTED * 20_000},2\n".encode(),
        "ragged.csv": f"{rows}1,2,{PLANTED}\n".encode(),
        "doubled.csv": f"{PLANTED},{PLANTED}\n1,2\n".encode(),
        "quote.csv": f'{rows}"{PLANTED},2\n'.encode(),
        "zero.tsv": f"a\tb\n{PLANTED}\x00\t1\n".encode(),
        "utf16.csv": b"\xff\xfe" + rows.encode("utf-16-le")[:-1],
        "cut.parquet": whole[:-40] + whole[-8:],
        "letters.parquet": whole.replace(PLANTED.encode(), b"\xff\xfe" + PLANTED.encode()[2:]),
        "empty.xlsx": packed("xl/worksheets/sheet1.xml"),
        "cut.xlsx": packed("a")[:-10],
        "large.csv": (f"a,b\n{PLANTED},1\n" * (LARGE // 20)).encode(),
    }


SCHEMAS = {
    "broken.json": f'{{"columns": {{"a": "{PLANTED}"'.encode(),
    "other.json": json.dumps({"columns": {"a": {"kind": "integer", "low": 0, "high": 4}}}).encode(),
    "list.json": json.dumps([PLANTED]).encode(),
    "values.json": json.dumps({"columns": {"a": {"kind": "categorical", "values": [TYPED, [TYPED]]}}}).encode(),
}


def test_no_trace_of_a_cell_is_left(chromium, tmp_path):
    place = tmp_path / "temporary"
    place.mkdir()
    with serving(tmp_path / "log", TMPDIR=str(place)) as server:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{server.address}/data")
        for name, content in tables().items():
            send(page, 0, name, content)
        expect(page.get_by_text(f"{LARGE // 20 * 2 - 1:,} rows").first).to_be_visible()
        for name, content in SCHEMAS.items():
            send(page, 1, name, content)
        addresses = [page.url]
        for link in ("Explore", "Release", "Compare", "Data"):
            page.get_by_role("link", name=link, exact=True).click()
            expect(page.get_by_role("heading", name=link, exact=True)).to_be_visible()
            addresses.append(page.url)
        kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, document.title])")
        seen = json.dumps([addresses, kept, context.cookies()]), server.said()
        context.close()
        files = {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert PLANTED not in "".join(seen)
    log = Path(tmp_path / "log").read_text(errors="replace")
    assert not [mark for mark in (PLANTED, TYPED) if mark in log]
    assert not [path for path, content in files.items() if PLANTED.encode() in content or PLANTED in path]


def send(page, place, name, content):
    """Upload through the page, and wait until it has been taken or refused."""
    with page.expect_response(lambda r: "/_stcore/upload_file/" in r.url and r.request.method == "PUT"):
        page.locator("input[type=file]").nth(place).set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        )
    page.wait_for_timeout(300)
    expect(page.locator("[data-testid=stStatusWidget]")).to_have_count(0)
    expect(page.locator("input[type=file]").nth(place)).to_be_attached()  # nothing ends the page
