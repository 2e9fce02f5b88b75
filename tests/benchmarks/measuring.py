"""What benchmarks have in common: seconds beside goals, a live server with a browser, a command
line of one number.
"""

import argparse
import json
import math
import resource
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path


def took(work):
    """What the work returns, and its seconds: of the clock, and of processors, in which other work
    does not count.
    """
    before = _processors()
    begun = time.perf_counter()
    out = work()
    return out, time.perf_counter() - begun, _processors() - before


def _processors():
    own, ended = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return sum(use.ru_utime + use.ru_stime for use in (own, ended))


def timed(what, work, goal=math.inf):
    """What the work returns, and whether its seconds of processors are within the goal; prints
    both.
    """
    out, clock, processors = took(work)
    aim = (
        ""
        if goal == math.inf
        else f"; the goal is {goal:g} s: {'kept' if processors <= goal else 'MISSED'}"
    )
    print(f"{what}: {clock:.3f} s, {processors:.3f} s of processors{aim}", flush=True)
    return out, processors <= goal


@contextmanager
def live_page(folder, address):
    """A tab of 1440 × 900 on an address of a live server."""
    from playwright.sync_api import sync_playwright

    from tests.chromium import FLAGS
    from tests.running_app import serve_app

    with serve_app(folder / "log") as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"http://localhost:{server.port}/{address}")
        yield page


def main(measure, option, default):
    """Print what `measure` finds for the number that the option gives; exit code 1 where "kept" is
    false of it.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument(f"--{option}", type=int, default=default, dest="number")
    with tempfile.TemporaryDirectory() as name:
        found = measure(parser.parse_args().number, Path(name))
    print(json.dumps(found, indent=1))
    sys.exit(not found.get("kept", True))
