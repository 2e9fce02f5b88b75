"""Run one algorithm on a table and report its error against the truth (uses real data: for exploring).

TABLE is a .csv, .tsv or .parquet file, an .xlsx file (extra "excel"), a folder of Parquet files, or a table in a
database (extra "sql"): duckdb://FILE#TABLE or postgres://USER@HOST/DB#SCHEMA.TABLE. A folder and a large file are read
in parts, so that memory does not grow with the rows, and every number is the one that the whole table gives. A
database counts by itself, and only counts leave it.

What --queries may ask; given several times, all of it is asked together:
  marginals:3                   all tables of three columns
  marginals:[["age","sex"]]     chosen tables
  ranges:age,hours              all intervals of each column that has an order
  prefixes:age                  all cumulative counts
  conjunctions:3:200            200 random sets of values over three columns
  halfspaces:age,hours:200      200 random half-spaces over columns of numbers
  matrix:FILE.npy               one row a query, entries from -1 to 1
  'question:sex = Female and age > 50'
                                one question: = != < <= > >=, between ... and ..., in (...), is missing, and, or,
                                not, parentheses; names and values with spaces in double quotes

--start gives a public table of the same schema, or rows of an earlier release, to begin with. It costs nothing and is
not protected. --person and --most-rows protect people with several rows: further rows are left out, and the noise
grows with that number.

Two examples:
  python -m dpcore run people.csv --schema s.json --queries marginals:3 --algorithm aim --epsilon 1
  python -m dpcore run people.csv --schema s.json --queries prefixes:age --algorithm mwem --epsilon 0.5 --repeat 3
"""

from argparse import Namespace
from functools import cache

from ... import Budget, QueryRelease, Run
from ...accuracy.intervals.question_intervals import Interval
from ...accuracy.intervals.unbiased_tables import known
from ...algorithms import Algorithm
from ...algorithms.query_release.shared.optimal_noise import against_line, least_rmse
from ...core.provenance import Tag
from ...core.types import Json
from ...evaluation.run import ERRORS
from ...queries import Workload
from ...queries.questions import understand
from ..arguments import RUNS, algorithm, argument, budget, budget_of, rows
from ..measured_runs import Measured
from ..output_files import check_writable
from ..progress import each_run, report
from ..table_arguments import TASK, asked, choose, forecast, read_task, useful
from .ask import line
from .ask import told as answers_told

BEST = "least root mean square error of any unbiased Gaussian release"

ASK = "a question such as 'sex = Female and age > 50', answered with its interval; may be repeated"
ARGUMENTS = (
    *TASK,
    *algorithm(QueryRelease),
    *budget(delta=1e-9),
    *RUNS,
    argument("--ask", "QUESTION", ASK, action="append", default=[]),
    argument("--synthetic", "out.csv", "write synthetic rows (of the first seed)"),
    rows(),
)


def execute(chosen: Namespace) -> None:
    """Check what is public, run once for each seed, print the errors and write the files."""
    check_writable(chosen.json, chosen.synthetic)
    budget = budget_of(chosen)
    algorithm = choose(chosen.algorithm, chosen.set, QueryRelease)
    schema, workload = asked(chosen)
    task = Measured(chosen, schema, workload) if schema else Known(chosen, workload, algorithm, budget)
    least_rmse_of = cache(lambda problem: least_rmse(problem.workload, budget, problem.effective_n))

    def summary(run: Run) -> Json:
        run_facts, problem = run.to_json() | task.said, run.problem
        least = least_rmse_of(problem)
        if chosen.ask:
            unbiased_answers = known(run.release, run.measured, problem.domain)  # type: ignore[arg-type]
            run_facts["answers"] = answers_told(unbiased_answers, chosen.ask, run, task.rows)
            run_facts["tags"] |= {"answers": Tag.PEEK}
        return run_facts | {
            "line": _line(run_facts["final"]["rmse"], least),
            "tags": run_facts["tags"] | {"line": Tag.PEEK},
        }

    runs = each_run(chosen, lambda seed: task.run(algorithm, budget, seed), summary)
    first = runs[0]
    about = f"n={first['n']} combinations={first['cells']} queries={first['queries']}"
    report(runs, about, "errors against the real table", ERRORS)
    if usefulness := useful(first["final"]):
        print(f"seed {first['seed']}: {usefulness} (do not publish)")
    for answer_facts in runs[0].get("answers", []):
        real = answer_facts.pop("real")
        print(f"{line(Interval(**answer_facts))}; real (do not publish) {real:.4g}")
    if any(run["line"] is None for run in runs):
        print(f"{BEST}: none at delta=0, and not computed for large matrices")
        return
    mean = sum(run["final"]["rmse"] for run in runs) / len(runs)
    least = sum(run["line"]["least_rmse"] for run in runs) / len(runs)
    print(f"{BEST}{task.which}: {least:.4g}; here {against_line(mean, least)}")


class Known:
    """A table with a schema that is known; questions are read before anything runs."""

    said = {}
    which = ""

    def __init__(self, chosen: Namespace, workload: Workload, algorithm: Algorithm, budget: Budget) -> None:
        self.problem, self.rows = read_task(chosen, workload)
        for question in chosen.ask:
            understand(question, self.problem.domain)  # so that it is refused before anything runs
        forecast(algorithm, self.problem, budget)

    def run(self, algorithm: Algorithm, budget: Budget, seed: int) -> Run:
        """A run of the known problem that has not begun."""
        return Run(algorithm, self.problem, self.rows, budget, seed=seed)


def _line(rmse: float, least: float | None) -> Json | None:
    """The least RMSE of any unbiased Gaussian release, and this run's ratio to it; None where it is unknown."""
    if least is None:
        return None
    return {"least_rmse": least, "ratio": rmse / least if least else None, "words": against_line(rmse, least)}
