"""Learn a quantile, a mean, a classifier or a regression privately, and report its excess risk
(uses real data).

Two examples:
  python -m dpcore learn people.csv --schema s.json --task quantile:age:0.5 --epsilon 1
  python -m dpcore learn people.csv --schema s.json --task logistic:income:age,hours --algorithm noisy_gd --epsilon 1
"""

from argparse import Namespace
from dataclasses import replace

from ... import RiskMinimisation, Run, domain_from_json, read_json, read_table
from ...core.types import Json, frozen
from ...evaluation.output_laws import split_rows
from ...evaluation.run_summary import RunSummary
from ...models.releases import ReleasedParameter
from ...problems.parse_tasks import REGION_NAMES, TASK_FORMS_HELP, read_task
from ..arguments import (
    PERSON_ARGUMENTS,
    RUN_ARGUMENTS,
    algorithm_arguments,
    argument,
    budget_arguments,
    finite_number,
    row_unit_of,
    stated_budget,
    stated_seeds,
)
from ..output_files import check_writable
from ..progress import RunFiles, print_report, run_for_each_seed
from ..table_arguments import build_algorithm

MAX_HELD_OUT = 0.9
HELD_OUT_HELP = (
    f"test on this share of the rows, 0..{MAX_HELD_OUT:g}, and learn from the others; what is "
    "measured on them is called population_…"
)
PRINTED_RISKS = ("excess_risk", "risk", "accuracy")  # what is printed of each run
# keys of a summary that a plan may not have
PLAN_FIELDS = (
    "s",
    "k",
    "mu",
    "tau",
    "stages",
    "risk_bound",
)


def _held_out_share(text: str) -> float:
    """Return the share of rows that an argument holds out."""
    return finite_number(text, float, 0.0, MAX_HELD_OUT)


ARGUMENTS = (
    argument("table", "TABLE", "a .csv, .tsv or .parquet file"),
    argument("--schema", "S.json", "the public schema, or a {NAME: size} file", required=True),
    argument("--task", "TASK", TASK_FORMS_HELP, required=True),
    *algorithm_arguments(RiskMinimisation, "regularized_exponential"),
    *budget_arguments(delta=1e-6),
    argument("--radius", "R", "radius of the region K about its public centre", type=finite_number),
    argument("--region", None, "the shape of K", default="ball", choices=REGION_NAMES),
    argument("--held-out", "SHARE", HELD_OUT_HELP, type=_held_out_share),
    *PERSON_ARGUMENTS,
    *RUN_ARGUMENTS,
)


def execute(args: Namespace) -> None:
    """Check what is public, learn once for each seed, print the risks and write the file."""
    check_writable(args.json)
    budget = stated_budget(args)
    algorithm = build_algorithm(args.algorithm, args.set, RiskMinimisation)
    domain = domain_from_json(read_json(args.schema))
    unit = row_unit_of(args)
    table = unit.bound_contributions(read_table(args.table, format=domain.file), domain.names)
    problem, rows = read_task(
        args.task, domain, table, radius=args.radius, region=args.region, group=unit.most_rows
    )
    held_out = None
    if args.held_out:
        rows, held_out = split_rows(rows, args.held_out, 0)
        problem = replace(problem, n=rows.n)
    reports = run_for_each_seed(
        stated_seeds(args),
        lambda seed: Run(
            algorithm,
            problem,
            rows,
            budget,
            seed=seed,
            every=lambda rounds: max(1, rounds // 20),
            population=held_out,
        ),
        LearningReport.of_run,
        RunFiles(summaries=args.json, as_list=args.repeat is not None),
    )
    facts = problem.facts
    about = f"n={facts.n} d={facts.d} loss={facts.loss} {facts.region}"
    about += f" R={facts.R:.6g} G={facts.G:.6g}"
    summaries = [report.summary for report in reports]
    print_report(summaries, about, "risks on the real table", PRINTED_RISKS)
    seed_text = f" (seed {summaries[0].seed}):" if len(reports) > 1 else ""
    print(f"released parameter{seed_text}")
    for name, value in zip(facts.names, reports[0].parameter, strict=True):
        print(f"  {name}: {value:.6g}")


@frozen
class LearningReport:
    """The summary of a learning run, with the parameter (d,) that it released."""

    summary: RunSummary
    parameter: tuple[float, ...]

    @classmethod
    def of_run(cls, run: Run) -> "LearningReport":
        """Return the report of a finished run."""
        release = run.release
        parameter = release.x.tolist() if isinstance(release, ReleasedParameter) else []
        return cls(run.summarise(), tuple(parameter))

    def to_json(self) -> Json:
        """Return the report as --json writes it: the common fields, and the letters of learning."""
        parameters = self.summary.parameters
        document = self.summary.to_json()
        document |= {name: parameters.get(name) for name in PLAN_FIELDS}
        document |= self.summary.final_results
        document["parameter"] = list(self.parameter)
        return document
