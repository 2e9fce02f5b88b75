"""Many tabs that change page at the same moment: how long after the last click each has its page.

python -m tests.benchmarks.clicks --tabs 30
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.benchmarks.frame import main
from tests.serving import Tab, serving

GOAL = 10.0  # seconds
EMPTY = 3000  # bytes: a page has more
PAGES = ("explore", "guarantee", "data", "compare", "release", "learning", "glossary", "audit", "lessons", "evolution")


class Light(Tab):
    """A tab that counts what it gets instead of reading it, as 30 readers would keep a core busy themselves."""

    def wait(self, seconds: float = 300) -> int:
        """Read to the end of a run; how many bytes it sent."""
        size, until = 0, time.monotonic() + seconds
        while True:
            data = self.line.recv(timeout=max(until - time.monotonic(), 0.01))
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind in ("new_session", "navigation"):
                size = 0 if kind == "new_session" else size
                pages = getattr(message, kind).app_pages
                self.hashes |= {p.url_pathname: p.page_script_hash for p in pages}
            size += len(data) if kind == "delta" else 0
            if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return size


def processor(process: int) -> float:
    """Seconds of a core that the server has used: what is left of the answer on a machine that others use too."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def together(process: int, tabs: list[Light], pages: Callable[[int], list[str]]) -> dict[str, float | int]:
    """All tabs click at once."""

    def one(number: int) -> tuple[float, int]:
        clicked = pages(number)
        for page in clicked[:-1]:
            tabs[number].ask(page)
            time.sleep(0.2)
        tabs[number].ask(clicked[-1])
        begun = time.monotonic()
        size = tabs[number].wait()
        return time.monotonic() - begun, size

    before = processor(process)
    with ThreadPoolExecutor(len(tabs)) as pool:
        found = list(pool.map(one, range(len(tabs))))
    seconds = sorted(s for s, _ in found)
    empty = sum(size < EMPTY for _, size in found)
    used = round(processor(process) - before, 1)
    return {
        "processor": used,
        "median": round(seconds[len(tabs) // 2], 1),
        "slowest": round(seconds[-1], 1),
        "empty": empty,
    }


def measure(number: int, folder: Path) -> dict[str, object]:
    """Every pattern of clicks on one server."""
    patterns: dict[str, Callable[[int], list[str]]] = {f"all to {page}": lambda _, p=page: [p] for page in PAGES}
    patterns["each to another"] = lambda i: [PAGES[i % len(PAGES)]]
    patterns["four quick clicks"] = lambda i: [PAGES[(i + k) % len(PAGES)] for k in range(4)]
    with serving(folder / "log") as server, ExitStack() as stack:
        tabs = [stack.enter_context(Light(server.port)) for _ in range(number)]
        for tab in tabs:
            tab.ask("lessons")
        for tab in tabs:
            tab.wait()
        found = {name: together(server.process.pid, tabs, pages) for name, pages in patterns.items()}
    return {"tabs": number, "goal": GOAL, "seconds": found}


if __name__ == "__main__":
    main(measure, "tabs", 30)
