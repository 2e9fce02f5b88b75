"""A benchmark now and at the commit before, line beside line.

python -m tests.benchmarks.beside wide acs35 --data FOLDER          # beside the commit before
python -m tests.benchmarks.beside --commit 5b962808 smaller         # beside another one

Both run the benchmarks of today, one after the other, so that the program alone differs.
"""

import argparse
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[2]


def export_commit(commit, folder):
    """Write the files of a commit into a folder, with the benchmarks of today."""
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    shutil.copytree(ROOT / "tests/benchmarks", folder / "tests/benchmarks", dirs_exist_ok=True)


def lines_of_benchmark(folder, name, options):
    """The lines that a benchmark prints in the checkout of a folder; errors are printed too."""
    run = subprocess.run(
        [sys.executable, "-m", f"tests.benchmarks.{name}", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return run.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--commit", default="HEAD~1")
    parser.add_argument("benchmark")
    arguments, options = parser.parse_known_args()
    options = [str(Path(text).resolve()) if Path(text).is_dir() else text for text in options]
    with tempfile.TemporaryDirectory() as name:
        before_folder = Path(name)
        export_commit(arguments.commit, before_folder)
        before = lines_of_benchmark(before_folder, arguments.benchmark, options)
    now = lines_of_benchmark(ROOT, arguments.benchmark, options)
    for old_line, new_line in zip_longest(before, now, fillvalue=""):
        if old_line == new_line:
            print(new_line)
        else:
            print(f"before  {old_line}\n   now  {new_line}")


if __name__ == "__main__":
    main()
