"""As many tabs as the demo lets in, on every page and sample, fit into one gigabyte together."""

import re
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from pages._ui.server import demo
from pages._ui.session.current_table import SAMPLES
from tests.running_app import Tab, handshake_status, serve_app
from tests.size import ROOT

MAX_MEGABYTES = 1000
MAX_POLLS = 3
PAGES = ["", *sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "start")]
HEAVY = [  # all columns of the largest sample, and answers that keep many distributions
    ("explore", "sample=census&algorithm=pep&columns-census=*&epsilon=3"),
    ("explore", "sample=census&algorithm=dualquery&epsilon=10"),
    ("compare", "sample=census&epsilon=10"),
]


def descendants(process):
    """The process, and all that it has started."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has just ended
            continue
        parents[int(status.parent.name)] = int(fields[1])
    found = {process}
    while len(found) < len(
        found := found | {p for p, parent in parents.items() if parent in found}
    ):
        pass
    return found


def peak_megabytes(process):
    """The most that a process and each of its descendants has held, added up.

    What they share is counted for each, and no two peaks need be at once: it is never too little.
    """
    total = 0
    for each in descendants(process):
        with suppress(OSError):
            status = Path(f"/proc/{each}/status").read_text()
            total += int(re.search(r"VmHWM:\s+(\d+)", status)[1])
    return total // 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no such counts here")
def test_a_full_demo_stays_below_a_gigabyte(tmp_path):
    command = ("streamlit", "run", ".deploy/demo/streamlit_app.py")
    with serve_app(tmp_path / "log", command=command) as server, ExitStack() as stack:
        for i in range(demo.MAX_TABS):
            tab = stack.enter_context(Tab(server.port))
            if i < len(SAMPLES):
                for page in PAGES:
                    tab.open(page, f"sample={list(SAMPLES)[i]}")
            for page, query in HEAVY if i < len(SAMPLES) else HEAVY[:1]:
                tab.open(page, query)
                for _ in range(MAX_POLLS):  # as the page asks itself, until its runs are finished
                    if "Cancel" in tab.text and i < len(SAMPLES):
                        time.sleep(0.5)
                        tab.open(page, query)
        assert handshake_status(server.port) == 403, "one tab more is refused"
        peak = peak_megabytes(server.process.pid)
        print(f"{demo.MAX_TABS} tabs: {peak} MB at most")
        assert 100 < peak < MAX_MEGABYTES
        assert "Traceback" not in server.said()
