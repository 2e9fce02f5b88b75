"""What transcripts show of every algorithm's promise, and how long the whole audit takes on two cores.

python -m tests.benchmarks.audit --epsilon 1 --delta 0.01
"""

import argparse
import subprocess
import sys
import time

TARGET = 600.0  # seconds, for all algorithms


def main() -> None:
    """Print the command's lines as they come, and the seconds beside the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="0.01")
    parser.add_argument("--seed", default="0", help="of the game")
    chosen = parser.parse_args()
    start = time.perf_counter()
    options = [f"--{name}={value}" for name, value in vars(chosen).items()]
    code = subprocess.run(
        [sys.executable, "-m", "dpcore", "audit", "--algorithm=all", *options], check=False
    ).returncode
    print(f"{time.perf_counter() - start:.0f} s, target {TARGET:.0f} s; exit code {code}")


if __name__ == "__main__":
    main()
