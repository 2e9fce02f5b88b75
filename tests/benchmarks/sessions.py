"""Many browser sessions at once, each with a table of its own: what crosses over, and what the server's memory does.

python -m tests.benchmarks.sessions --sessions 20
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.benchmarks.frame import live, main

PAGES = ("Explore", "Guarantee", "Release")
ROWS = 20_011  # not those of a sample, to be waited for
PATIENCE = 120_000  # milliseconds
FORGOTTEN = 150  # seconds after which the server has dropped sessions that nobody came back to


def marker(number: int) -> str:
    """What stands in one session's table and in no other's."""
    return f"only{number:02d}here"


def table(number: int) -> tuple[bytes, bytes]:
    """A CSV file of ROWS rows and its schema."""
    mine = marker(number)
    values = [f"{mine}{letter}" for letter in "abc"]
    lines = [f"{values[(i * (number + 2)) % 3]},{i % 5}" for i in range(ROWS)]
    columns = {mine: {"kind": "categorical", "values": values}, "n": {"kind": "integer", "low": 0, "high": 4}}
    return "\n".join([f"{mine},n", *lines]).encode(), json.dumps({"columns": columns}).encode()


def memory(process: subprocess.Popen) -> int:
    """Megabytes that the server and its workers hold, shared pages divided among them."""
    total, wanted = 0, {process.pid}
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda f: int(f.name)):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if int(folder.name) in wanted or parent in wanted:
                wanted.add(int(folder.name))
                rollup = (folder / "smaps_rollup").read_text()
                total += int(rollup.split("Pss:", 1)[1].split()[0])
        except (OSError, IndexError, ValueError):
            continue
    return total // 1024


def upload(page: Page, address: str, number: int) -> None:
    """Bring the session's own table and schema."""
    content, schema = table(number)
    page.goto(f"{address}/data")
    inputs = page.locator("input[type=file]")
    inputs.first.set_input_files({"name": f"{marker(number)}.csv", "mimeType": "text/csv", "buffer": content})
    expect(page.get_by_text(f"{ROWS:,} rows").first).to_be_visible(timeout=PATIENCE)
    page.locator("input[type=file]").nth(1).set_input_files(
        {"name": "s.json", "mimeType": "application/json", "buffer": schema}
    )
    expect(page.get_by_text("The schema of this table is not complete")).to_have_count(0, timeout=PATIENCE)
    time.sleep(1)


def read(page: Page, name: str, number: int) -> str:
    """All text of a page of this session, once its table is named on it."""
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text(marker(number)).first).to_be_visible(timeout=PATIENCE)
    return page.locator("body").inner_text()


def visit(sessions: int, folder: Path) -> dict[str, object]:
    """Open all, go from page to page in turns, close all; markers of others seen, and megabytes over time."""
    held, crossed = {}, []
    with live(folder, DPCORE_LEDGER=str(folder / "ledger.sqlite")) as (server, browser):
        for turn in range(2):  # the second shows whether memory that was freed is used again
            begun = time.monotonic()
            contexts = [browser.new_context() for _ in range(sessions)]
            pages = [context.new_page() for context in contexts]
            held[f"before, turn {turn}"] = memory(server.process)
            for number, page in enumerate(pages):
                upload(page, server.address, number)
            for name in PAGES:
                for number, page in enumerate(pages):
                    text = read(page, name, number)
                    crossed += [(number, n, name) for n in range(sessions) if n != number and marker(n) in text]
                held[f"{name}, turn {turn}"] = memory(server.process)
            for context in contexts:
                context.close()
            time.sleep(FORGOTTEN)
            held[f"closed, turn {turn}"] = memory(server.process)
            print(json.dumps({"crossed": crossed, "megabytes": held}), file=sys.stderr, flush=True)
            held[f"seconds, turn {turn}"] = round(time.monotonic() - begun)
    return {"sessions": sessions, "crossed": crossed, "megabytes": held}


if __name__ == "__main__":
    main(visit, "sessions", 20)
