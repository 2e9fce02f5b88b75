"""How much tables without noise reveal, and how long it takes to prove it.

python -m tests.benchmarks.reconstruction                 # 100 people of the invented census
python -m tests.benchmarks.reconstruction --data FOLDER   # 30 and 100 rows of adult.csv, 1,260 cells

Three rules on all tables of three columns of 100 people, about 1,000 combinations, are to take at
most 60 s together on two cores. From 30 rows of Adult that `default_rng(1).choice` draws these
shares are to be proved, within .03: of pairs .80 exact, .23 rounded to 5, .80 with counts below 5
hidden; of triples 1.00, .30 and 1.00.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from dpcore import Marginals, domain_from_json, read_json, samples
from dpcore.evaluation.reconstruction.asked_tables import AskedTables, draw_block
from dpcore.evaluation.reconstruction.disclosure_rules import Rounding, Suppression
from dpcore.evaluation.reconstruction.rule_outcomes import attack_rules

RULES = (Rounding(1), Rounding(5), Suppression(5))
ADULT_COLUMNS = ["workclass", "marital-status", "race", "sex", "income>50K"]
CENSUS_COLUMNS = ["age", "education", "marital", "occupation", "income"]
LIMIT_SECONDS = 60


def report(name, domain, rows, ways):
    """Prints what each rule proves, and the seconds of all three."""
    start = time.perf_counter()
    asked = AskedTables.of(Marginals.all(domain, ways), rows)
    outcomes = attack_rules(asked, RULES, seed=0, max_seconds=LIMIT_SECONDS)
    seconds = time.perf_counter() - start
    shares = "  ".join(
        f"{one.rule} {one.proved_share:.2f} (undecided {one.undecided_share:.2f})"
        for one in outcomes
    )
    print(f"{name}, {rows.n} rows, {domain.size} cells, {ways}-way: {shares}  {seconds:.1f} s")


def main():
    """Runs both, as far as there is data."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    folder = parser.parse_args().data
    sample = samples.census()
    domain = sample.domain.project(CENSUS_COLUMNS)
    block, _ = draw_block(domain.encode(sample.frame), 100, 0)
    report("census", domain, block, 3)
    if folder is None:
        return
    sizes = read_json(str(folder / "adult-domain.json"))
    adult = domain_from_json({name: sizes[name] for name in ADULT_COLUMNS})
    codes = pd.read_csv(folder / "adult.csv")[ADULT_COLUMNS].to_numpy()
    for count in (30, 100):
        chosen = np.random.default_rng(1).choice(len(codes), count, replace=False)
        for ways in (2, 3):
            report("adult", adult, adult.group_rows(codes[chosen]), ways)


if __name__ == "__main__":
    main()
