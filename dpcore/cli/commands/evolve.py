"""Release points near private ones, and report their distance W1 to them (uses real data: for
exploring).

With --schema the points are columns of numbers of any table that `run` reads from a file. They are
scaled to 0..1 by their public bounds, and a missing number is in the middle.

Two examples:
  python -m dpcore evolve points.csv --ball 1 --algorithm private_evolution --epsilon 1 --delta 1e-6
  python -m dpcore evolve points.csv --low 0 --high 1 --algorithm psmm --epsilon 1 --synthetic near.csv
"""

from argparse import Namespace

import numpy as np

from ... import InputError, PointRelease, Rows, Run, domain_from_json, read_json, read_table
from ...algorithms.points.evolution_steps import PRESETS
from ...core.types import Json, Texts, frozen
from ...evaluation.run_summary import RunSummary
from ...problems.regions import (
    Ball,
    BoundedRegion,
    build_box,
    read_point_rows,
    read_scaled_points,
)
from ...queries.parse_queries import split_column_names
from ..arguments import (
    PERSON_ARGUMENTS,
    RUN_ARGUMENTS,
    algorithm_arguments,
    argument,
    budget_arguments,
    finite_number,
    finite_numbers,
    row_unit_of,
    rows_argument,
    stated_budget,
    stated_seeds,
    whole_number_parser,
)
from ..output_files import check_writable
from ..progress import RunFiles, print_report, run_for_each_seed
from ..table_arguments import build_algorithm

PAPER_LETTERS = {
    "T": "rounds",
    "sigma": "sigma",
    "alpha": "alpha",
    "levels": "levels",
    "n_s": "samples",
}

ONLY_AT_THE_END = 10**9  # more steps than there are: W1 is computed at the end only

ARGUMENTS = (
    argument(
        "points", "POINTS", "a .csv or .tsv file in UTF-8, or .parquet; each column is a coordinate"
    ),
    argument(
        "--ball", "R", "the points lie in the ball of radius R about 0 (public)", type=finite_number
    ),
    argument("--low", "L", "… or in a box from L on: one number, or one a column, with commas"),
    argument("--high", "H", "… up to H"),
    argument("--schema", "S.json", "… or say their public bounds"),
    argument("--columns", "a,b", "with --schema: the columns that are coordinates (default: all)"),
    *PERSON_ARGUMENTS,
    *algorithm_arguments(PointRelease),
    *budget_arguments(delta=1e-9),
    argument(
        "--preset", None, "settings of private_evolution as the paper has them", choices=PRESETS
    ),
    *RUN_ARGUMENTS,
    argument(
        "--every",
        "K",
        "W1 at every K-th step too (default: at the end only)",
        type=whole_number_parser(1, ONLY_AT_THE_END),
    ),
    argument("--synthetic", "out.csv", "write synthetic points (of the first seed)"),
    rows_argument("points"),
)


def execute(args: Namespace) -> None:
    """Run the algorithm once for each seed, print the distances and write the files.

    What is public is checked first.
    """
    check_writable(args.json, args.synthetic)
    budget = stated_budget(args)
    if args.preset and args.algorithm != "private_evolution":
        raise InputError(
            f"--preset {args.preset} is one of private_evolution, not of {args.algorithm}"
        )
    preset = [f"{name}={value}" for name, value in PRESETS.get(args.preset, {}).items()]
    algorithm = build_algorithm(args.algorithm, preset + args.set, PointRelease)
    problem, rows = _read_problem(args)
    every = args.every or ONLY_AT_THE_END

    files = RunFiles(
        summaries=args.json,
        as_list=args.repeat is not None,
        synthetic=args.synthetic,
        rows=args.rows,
    )
    reports = run_for_each_seed(
        stated_seeds(args),
        lambda seed: Run(algorithm, problem, rows, budget, seed=seed, every=every),
        lambda run: EvolutionReport(run.summarise()),
        files,
    )
    summaries = [report.summary for report in reports]
    about = f"n={rows.n} d={len(problem.names)} in {problem.facts.region}"
    print_report(summaries, about, "distance W1 to the real points", ("w1", "w1_error"))


@frozen
class EvolutionReport:
    """The summary of a run on points, beside the settings by the paper's letters."""

    summary: RunSummary

    def to_json(self) -> Json:
        """Return the report as a dictionary, as --json writes it."""
        parameters = self.summary.parameters
        letters = {letter: parameters.get(name) for letter, name in PAPER_LETTERS.items()}
        return letters | self.summary.to_json()


def _read_problem(args: Namespace) -> tuple[PointRelease, Rows]:
    """Return the problem about the points of a file, and the points.

    InputError where it is not said once how they lie in public bounds.
    """
    has_region = any(value is not None for value in (args.ball, args.low, args.high))
    if args.schema is None:
        if args.columns or args.person is not None or args.most_rows is not None:
            raise InputError("--columns, --person and --most-rows need --schema")
        frame = read_table(args.points)
        names = tuple(map(str, frame.columns))
        region = _public_region(args, names)
        rows = read_point_rows(region, names, frame)
        return PointRelease(region, rows.n, names), rows
    if has_region:
        raise InputError("--schema says where the points lie; leave out --ball, --low and --high")
    domain = domain_from_json(read_json(args.schema))
    unit = row_unit_of(args)
    table = unit.bound_contributions(read_table(args.points, format=domain.file), domain.names)
    places = domain.project(split_column_names(args.columns)) if args.columns else domain
    box, rows = read_scaled_points(places, table)
    return PointRelease(box, rows.n, places.names, unit.most_rows), rows


def _public_region(args: Namespace, names: Texts) -> BoundedRegion:
    """Return the public region that --ball, or --low and --high, describe."""
    if args.ball is not None and args.low is None and args.high is None:
        return Ball(np.zeros(len(names)), args.ball)
    if args.ball is None and args.low is not None and args.high is not None:
        return build_box(
            finite_numbers("--low", args.low), finite_numbers("--high", args.high), names
        )
    raise InputError(
        "say where the points lie, which is public: --ball R, or --low L and --high H, or --schema"
    )
