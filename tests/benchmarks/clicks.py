"""Many tabs that change page at the same moment: how long after the last click each has its page.

python -m tests.benchmarks.clicks --tabs 30
"""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tests.benchmarks.measuring import main
from tests.running_app import Tab, cpu_seconds, serve_app

GOAL = 10.0  # seconds
EMPTY = 3000  # bytes: a page has more
PAGES = (
    "explore",
    "guarantee",
    "alternatives",
    "data",
    "compare",
    "release",
    "learning",
    "glossary",
    "audit",
    "lessons",
    "evolution",
)


def together(process, tabs, pages):
    """All tabs click at once; the server's processor time is what is left of it on a machine that
    others use too.
    """

    def one(number):
        clicked = pages(number)
        for page in clicked[:-1]:
            tabs[number].ask(page)
            time.sleep(0.2)
        tabs[number].ask(clicked[-1])
        begun = time.monotonic()
        tabs[number].wait()
        return time.monotonic() - begun, sum(part.ByteSize() for part in tabs[number].parts)

    before = cpu_seconds(process)
    with ThreadPoolExecutor(len(tabs)) as pool:
        found = list(pool.map(one, range(len(tabs))))
    seconds = sorted(s for s, _ in found)
    empty = sum(size < EMPTY for _, size in found)
    used = round(cpu_seconds(process) - before, 1)
    return {
        "processor": used,
        "median": round(seconds[len(tabs) // 2], 1),
        "slowest": round(seconds[-1], 1),
        "empty": empty,
    }


def measure(number, folder):
    """Every pattern of clicks on one server."""
    patterns = {f"all to {page}": lambda _, p=page: [p] for page in PAGES}
    patterns["each to another"] = lambda i: [PAGES[i % len(PAGES)]]
    patterns["four quick clicks"] = lambda i: [PAGES[(i + k) % len(PAGES)] for k in range(4)]
    with serve_app(folder / "log") as server, ExitStack() as stack:
        tabs = [stack.enter_context(Tab(server.port)) for _ in range(number)]
        for tab in tabs:
            tab.ask("lessons")
        for tab in tabs:
            tab.wait()
        found = {
            name: together(server.process.pid, tabs, pages) for name, pages in patterns.items()
        }
    return {"tabs": number, "goal": GOAL, "seconds": found}


if __name__ == "__main__":
    main(measure, "tabs", 30)
