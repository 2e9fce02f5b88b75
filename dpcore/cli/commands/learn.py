"""Learn a quantile, a mean, a classifier or a regression privately, and report its excess risk (uses real data).

Two examples:
  python -m dpcore learn people.csv --schema s.json --task quantile:age:0.5 --epsilon 1
  python -m dpcore learn people.csv --schema s.json --task logistic:income:age,hours --algorithm noisy_gd --epsilon 1
"""

from argparse import Namespace

from ... import RiskMinimisation, Run, domain_from_json, read_json, read_table
from ...core.types import Json
from ...models.releases import Parameter
from ...problems.parse_tasks import HELP, REGIONS, read_task
from ..arguments import PERSON, RUNS, algorithm, argument, budget, budget_of, real, unit_of
from ..output_files import check_writable
from ..progress import each_run, report
from ..table_arguments import choose

RISKS = ("excess_risk", "risk", "accuracy")  # what is printed of each run
PLANNED = ("s", "k", "mu", "tau", "stages", "risk_bound")  # keys of a summary that a plan may not have settled

ARGUMENTS = (
    argument("table", "TABLE", "a .csv, .tsv or .parquet file"),
    argument("--schema", "S.json", "the public schema, or a {NAME: size} file", required=True),
    argument("--task", "TASK", HELP, required=True),
    *algorithm(RiskMinimisation, "regularized_exponential"),
    *budget(delta=1e-6),
    argument("--radius", "R", "radius of the region K about its public centre", type=real),
    argument("--region", None, "the shape of K", default="ball", choices=REGIONS),
    *PERSON,
    *RUNS,
)


def execute(chosen: Namespace) -> None:
    """Check what is public, learn once for each seed, print the risks and write the file."""
    check_writable(chosen.json)
    budget = budget_of(chosen)
    algorithm = choose(chosen.algorithm, chosen.set, RiskMinimisation)
    domain, unit = domain_from_json(read_json(chosen.schema)), unit_of(chosen)
    table = unit.limited(read_table(chosen.table, format=domain.file), domain.names)
    problem, rows = read_task(
        chosen.task, domain, table, radius=chosen.radius, region=chosen.region, group=unit.most_rows
    )
    runs = each_run(
        chosen,
        lambda seed: Run(algorithm, problem, rows, budget, seed=seed, every=lambda rounds: max(1, rounds // 20)),
        summary,
    )
    first = runs[0]
    about = f"n={first['n']} d={first['d']} loss={first['loss']} {first['region']}"
    about += f" R={first['R']:.6g} G={first['G']:.6g}"
    report(runs, about, "risks on the real table", RISKS)
    print("released parameter" + f" (seed {first['seed']}):" * (len(runs) > 1))
    for name, value in zip(first["names"], first["parameter"], strict=True):
        print(f"  {name}: {value:.6g}")


def summary(run: Run) -> Json:
    """The summary of a run as --json writes it: the common fields, and the letters of learning."""
    run_facts, release = run.to_json(), run.release
    parameter_values = release.x.tolist() if isinstance(release, Parameter) else []
    return (
        run_facts
        | {name: run_facts["parameters"].get(name) for name in PLANNED}
        | run_facts["final"]
        | {"parameter": parameter_values}
    )
