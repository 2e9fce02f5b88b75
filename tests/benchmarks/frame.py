"""What benchmarks have in common: seconds beside goals, a live server with a browser, a command line of one number."""

import argparse
import json
import math
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def took(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What the work returns, and its seconds: of the clock, and of processors, in which other work does not count."""
    before, begun = _processors(), time.perf_counter()
    out = work()
    return out, time.perf_counter() - begun, _processors() - before


def _processors() -> float:
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in (own, ended))


def timed(what: str, work: Callable[[], Any], goal: float = math.inf) -> tuple[Any, bool]:
    """What the work returns, and whether its seconds of processors are within the goal; prints both."""
    out, clock, processors = took(work)
    aim = "" if goal == math.inf else f"; the goal is {goal:g} s: {'kept' if processors <= goal else 'MISSED'}"
    print(f"{what}: {clock:.3f} s, {processors:.3f} s of processors{aim}", flush=True)
    return out, processors <= goal


@contextmanager
def live(folder: Path, **settings: str) -> Iterator[tuple[Any, Any]]:
    """A server with these settings, and a Chromium."""
    from playwright.sync_api import sync_playwright

    from tests.chromium import FLAGS
    from tests.serving import serving

    with serving(folder / "log", **settings) as server, sync_playwright() as playwright:
        yield server, playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)


def main(measure: Callable[[int, Path], dict[str, Any]], option: str, default: int) -> None:
    """Print what `measure` finds for the number that the option gives; exit code 1 where "kept" is false of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument(f"--{option}", type=int, default=default, dest="number")
    with tempfile.TemporaryDirectory() as name:
        found = measure(parser.parse_args().number, Path(name))
    print(json.dumps(found, indent=1))
    sys.exit(not found.get("kept", True))
