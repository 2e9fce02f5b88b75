"""What the command line of a benchmark of a live server has in common: one number, a folder that goes, JSON."""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path


def main(measure: Callable[[int, Path], dict[str, object]], option: str, default: int) -> None:
    """Print what `measure` finds for the number that the option gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument(f"--{option}", type=int, default=default, dest="number")
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(measure(parser.parse_args().number, Path(name)), indent=1))
