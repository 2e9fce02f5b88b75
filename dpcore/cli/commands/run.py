"""Run one algorithm on a table and report its error against the truth (uses real data: for
exploring).

TABLE is a .csv, .tsv or .parquet file, an .xlsx file, a file of SPSS, Stata or SAS (extra
"stats"), a folder of Parquet files, or a table in a database (extra "sql"): duckdb://FILE#TABLE or
postgres://USER@HOST/DB#SCHEMA.TABLE. A folder and a large file are read in parts, so that memory
does not grow with the rows, and every number is the one that the whole table gives. A database
counts by itself, and only counts leave it.

What --queries may ask; given several times, all of it is asked together:
  marginals:3                   all tables of three columns
  marginals:[["age","sex"]]     chosen tables
  windows:y1..y12:3             all tables of 3 waves in a row: columns y1, y2, y3 and so on of a panel
  ranges:age,hours              all intervals of each column that has an order
  prefixes:age                  all cumulative counts
  conjunctions:3:200            200 random sets of values over three columns
  halfspaces:age,hours:200      200 random half-spaces over columns of numbers
  matrix:FILE.npy               one row a query, entries from -1 to 1
  'question:sex = Female and age > 50'
                                one question: = != < <= > >=, between ... and ..., in (...), is missing, and, or,
                                not, parentheses; names and values with spaces in double quotes

A name in a list a,b that has a comma or a quote is put in double quotes, with "" for a quote. So
is the name of a wave that has a colon, two dots or a quote.

--start gives a public table of the same schema, or rows of an earlier release, to begin with. It
costs nothing and is not protected. --person and --most-rows protect people with several rows:
further rows are left out, and those of one person share one vote. With --count rows each row
counts, and the noise grows with that number.

--experiment takes the file of a project, which a page saved, in place of all that says what is
asked and how. TABLE says which table: python -m dpcore run people.csv --experiment project.json

Two examples:
  python -m dpcore run people.csv --schema s.json --queries marginals:3 --algorithm aim --epsilon 1
  python -m dpcore run people.csv --schema s.json --queries prefixes:age --algorithm mwem --epsilon 0.5 --repeat 3
"""

from argparse import Namespace
from functools import cache
from typing import Any

from ... import Budget, Run
from ...accuracy.intervals.unbiased_tables import unbiased_tables
from ...algorithms import Algorithm
from ...algorithms.query_release.shared.optimal_noise import compare_with_bound, least_rmse
from ...core.provenance import Provenance
from ...core.types import Json, Texts, by_name
from ...evaluation.experiment import Experiment
from ...evaluation.run import ERROR_NAMES
from ...evaluation.run_summary import RunSummary
from ...problems.problem_facts import QueryFacts
from ...queries import Workload
from ...queries.questions import parse_question
from ..arguments import (
    RUN_JSON_ARGUMENT,
    argument,
    rows_argument,
)
from ..experiment_arguments import (
    EXPERIMENT_ARGUMENTS,
    experiment_from_arguments,
    states_repeats,
)
from ..measured_runs import MeasuredSchemaRuns
from ..output_files import check_writable
from ..progress import RunFiles, print_report, run_for_each_seed
from ..table_arguments import (
    load_workload,
    print_forecast,
    read_problem_and_rows,
    usefulness_text,
)
from .ask import RunAnswer, answer_questions, interval_text

LEAST_RMSE_TEXT = "least root mean square error of any unbiased Gaussian release"

ASK_HELP = (
    "a question such as 'sex = Female and age > 50', answered with its interval; may be repeated"
)
ARGUMENTS = (
    *EXPERIMENT_ARGUMENTS,
    RUN_JSON_ARGUMENT,
    argument("--ask", "QUESTION", ASK_HELP, action="append", default=[]),
    argument("--synthetic", "out.csv", "write synthetic rows (of the first seed)"),
    rows_argument(),
)


def execute(args: Namespace) -> None:
    """Check what is public, run once for each seed, print the errors and write the files."""
    check_writable(args.json, args.synthetic)
    experiment = experiment_from_arguments(args)
    budget = experiment.budget
    questions = tuple(args.ask)
    task_runs = _prepare_runs(experiment, questions)
    least_rmse_of = cache(lambda problem: least_rmse(problem.workload, budget, problem.effective_n))

    def make_report(run: Run) -> QueryReport:
        summary = run.summarise()
        problem = run.problem
        answers = []
        if questions:
            release: Any = run.release
            unbiased_answers = unbiased_tables(release, run.measured, problem.domain)
            answers = answer_questions(
                unbiased_answers,
                questions,
                run,
                task_runs.rows,
                row_totals=experiment.task.unit.row_totals,
            )
        return QueryReport(
            summary=summary,
            facts=problem.facts,
            least_rmse=least_rmse_of(problem),
            schema_facts=task_runs.schema_facts,
            answers=tuple(answers),
        )

    files = RunFiles(
        summaries=args.json,
        as_list=states_repeats(args),
        synthetic=args.synthetic,
        rows=args.rows,
        unit=experiment.task.unit,
    )
    reports = run_for_each_seed(
        experiment.seeds,
        lambda seed: task_runs.run(experiment.algorithm, budget, seed),
        make_report,
        files,
    )
    _print_reports(reports, task_runs.schema_note)


@by_name
class QueryReport:
    """The summary of a run on queries, with what beside it was asked for.

    `facts` are those of the problem. `least_rmse` is the least root mean square error of any
    unbiased Gaussian release, None where it is not known. `schema_facts` are those of a measured
    schema, as JSON, and `answers` those to --ask.
    """

    summary: RunSummary
    facts: QueryFacts
    least_rmse: float | None
    schema_facts: Json
    answers: tuple[RunAnswer, ...]

    @property
    def rmse(self) -> float:
        """The root mean square error of the run."""
        return self.summary.query_errors.rmse

    def to_json(self) -> Json:
        """Return the report as a dictionary, as --json writes it."""
        document = self.summary.to_json() | self.schema_facts
        tags = document["tags"]
        if self.answers:
            document["answers"] = [answer.to_json() for answer in self.answers]
            tags["answers"] = Provenance.REAL_DATA
        document["line"] = _rmse_ratio(self.rmse, self.least_rmse)
        tags["line"] = Provenance.REAL_DATA
        return document


def _print_reports(reports: list[QueryReport], schema_note: str) -> None:
    """Print the errors of all runs, the answers of the first one, and the least possible error."""
    first = reports[0]
    facts = first.facts
    about = f"n={facts.n} combinations={facts.cells} queries={facts.queries}"
    summaries = [report.summary for report in reports]
    print_report(summaries, about, "errors against the real table", ERROR_NAMES)
    usefulness = usefulness_text(first.summary.query_errors)
    if usefulness:
        print(f"seed {first.summary.seed}: {usefulness} (do not publish)")
    for answer in first.answers:
        print(f"{interval_text(answer.interval)}; real (do not publish) {answer.real:.4g}")
    least_errors = [report.least_rmse for report in reports if report.least_rmse is not None]
    if len(least_errors) < len(reports):
        print(f"{LEAST_RMSE_TEXT}: none at delta=0, and not computed for large matrices")
        return
    mean = sum(report.rmse for report in reports) / len(reports)
    least = sum(least_errors) / len(reports)
    print(f"{LEAST_RMSE_TEXT}{schema_note}: {least:.4g}; here {compare_with_bound(mean, least)}")


def _prepare_runs(
    experiment: Experiment, questions: Texts
) -> "MeasuredSchemaRuns | KnownSchemaRuns":
    """Read the table of an experiment; questions that its schema does not know are refused."""
    task = experiment.task
    workload = load_workload(task)
    if task.partial_schema is not None:
        return MeasuredSchemaRuns(task, task.partial_schema, workload, questions)
    return KnownSchemaRuns(experiment, workload, questions)


class KnownSchemaRuns:
    """An experiment with a schema that is known; questions are read before anything runs."""

    schema_facts: Json = {}
    schema_note = ""

    def __init__(self, experiment: Experiment, workload: Workload, questions: Texts) -> None:
        self.problem, self.rows = read_problem_and_rows(experiment.task, workload)
        for question in questions:
            # so that it is refused before anything runs
            parse_question(question, self.problem.domain)
        print_forecast(experiment.algorithm, self.problem, experiment.budget)

    def run(self, algorithm: Algorithm, budget: Budget, seed: int) -> Run:
        """Return a run of the known problem that has not begun."""
        return Run(algorithm, self.problem, self.rows, budget, seed=seed)


def _rmse_ratio(rmse: float, least: float | None) -> Json | None:
    """Return the least RMSE of any unbiased Gaussian release, and this run's ratio to it.

    None where it is unknown.
    """
    if least is None:
        return None
    return {
        "least_rmse": least,
        "ratio": rmse / least if least else None,
        "words": compare_with_bound(rmse, least),
    }
