"""What wide tables reach: errors, what of them the tree cannot hold, seconds and memory beside the forecast.

python -m tests.benchmarks.wide --data FOLDER   # with the options of tests.benchmarks.core
"""

from tests.benchmarks.core import main

if __name__ == "__main__":
    main(("adult15", "acs35", "redundant26", "redundant26-triples"))
