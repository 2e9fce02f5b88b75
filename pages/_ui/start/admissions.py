"""The Start page's chart: the 1973 Berkeley admissions, real beside private."""

import pandas as pd

from dpcore.algorithms import ALGORITHMS
from dpcore.evaluation.run import Run, compare
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.tags import Tag
from dpcore.workloads import Marginals

from ..charts import base as charts
from ..shell.frame import heading
from ..shell.results import panel
from ..shell.state import sample_table, stakeholder
from ..shell.text import points

SAMPLE, DELTA = "berkeley", 1e-9
SHOWN = ("Gender", "Admission")


def draw(budget: Budget) -> str:
    """Run and draw; the largest error in points, "" where hidden. 24 cells take milliseconds: it runs here."""
    table = sample_table(SAMPLE)
    rows = table.rows(table.domain.names)
    problem = QueryRelease(Marginals.all(table.domain, 2), rows.n)
    run = Run(ALGORITHMS["gaussian_maxent"](), problem, rows, budget).finish()
    both = compare(run.release, rows, Marginals(table.domain, [SHOWN]))
    labels = [" ".join(value for _, value in both.workload.label(j)) for j in range(both.workload.m)]
    frame = pd.DataFrame({"value": labels, "real": both.real, "synthetic": both.synthetic})
    if stakeholder():
        heading("Who was admitted to Berkeley in 1973?", Tag.PAID)
        summary = f"Shares of {rows.n:,} applicants, as a differentially private release says."
        panel(charts.bars(frame[["value", "synthetic"]], "applicants"), summary, frame[["value", "synthetic"]], "start")
        return ""
    heading("Who was admitted to Berkeley in 1973?", Tag.PEEK)
    largest = points(float(both.gaps.max()))
    summary = f"Shares of {rows.n:,} applicants, real and differentially private; largest difference {largest} points."
    panel(charts.bars(frame, "applicants"), summary, frame, "start")
    return largest
