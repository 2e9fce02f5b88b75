"""What wide tables reach: `core` for those of fifteen to thirty-five columns, some of which nearly
say the same.

python -m tests.benchmarks.wide --data FOLDER [--seeds 1] [--epsilons 0.1,1]   # adult15.csv,
acs35.csv.gz, -domain.json
"""

from tests.benchmarks.core import main

if __name__ == "__main__":
    main("adult15", "acs35", "redundant26")
