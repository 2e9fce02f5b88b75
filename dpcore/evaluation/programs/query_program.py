"""Programs that answer queries about a table: one algorithm's runs, or a comparison of several."""

from ...algorithms import Algorithm, registered_name
from ...data.privacy_unit import PrivacyUnit
from ...privacy.accounting import Budget
from ...schema.domain import Domain
from ...schema.schema_json import domain_to_json
from ..experiment import Experiment, ExperimentGrid, QueryTask, chosen_parameters
from .program import CodeCell, Program, literal

IMPORTS = """import pandas as pd

from dpcore import ALGORITHMS, Budget, InputError, Run
from dpcore import domain_from_json, limit_rows, read_table"""
PEOPLE_IMPORTS = IMPORTS.replace("limit_rows", "PrivacyUnit")
READ_CODE = "table = read_table(TABLE, format=domain.file)"
TABLE_CODE = """{imports}

SCHEMA = {schema}
TABLE = {table}
domain = domain_from_json(SCHEMA)
{read_code}"""
QUERIES_CODE = """from dpcore import QueryRelease, read_queries

workload, notes = read_queries({queries}, domain)
rows = {rows}
problem = QueryRelease(workload, rows.n, group={group})"""
RUNS_CODE = """algorithm = {algorithm}
budget = {budget}
runs = []
for seed in range({first_seed}, {last_seed}):
    run = Run(algorithm, problem, rows, budget, seed=seed).finish()
    runs.append(run)
    print(seed, run.summarise().final_results)"""
SAMPLE_CODE = """print(runs[0].sample(5))"""
GRID_CODE = """algorithms = {{
{algorithms}
}}
budgets = [
{budgets}
]
results = []
for name, algorithm in algorithms.items():
    for budget in budgets:
        for seed in range({first_seed}, {last_seed}):
            try:
                run = Run(algorithm, problem, rows, budget, seed=seed{run_options}).finish()
            except InputError as error:
                print(name, budget, "cannot run:", error)
                continue
            facts = {{"algorithm": name, "epsilon": budget.epsilon, "seed": seed}}
            results.append(facts | run.summarise().final_results)
print(pd.DataFrame(results).to_string())"""


def query_program(experiment: Experiment) -> Program:
    """Return the program that runs an experiment.

    It has a command only for a schema that is measured and for a public start.
    """
    command = experiment.to_command()
    title = "One algorithm on one table: its error at this budget"
    if not has_code(experiment.task):
        return Program(title, (command,), ())
    runs_code = RUNS_CODE.format(
        algorithm=algorithm_code(experiment.algorithm),
        budget=budget_code(experiment.budget),
        first_seed=experiment.seeds.start,
        last_seed=experiment.seeds.stop,
    )
    cells = (
        *query_task_cells(experiment.task),
        CodeCell("Runs, and their errors against the real table (do not publish)", runs_code),
        CodeCell("Five synthetic rows (do not publish: the seed is known)", SAMPLE_CODE),
    )
    return Program(title, (command,), cells)


def comparison_program(grid: ExperimentGrid[QueryTask]) -> Program:
    """Return the program that compares algorithms on queries.

    It has a command only for a schema that is measured and for a public start.
    """
    title = "Several algorithms on one table: their errors at several budgets"
    task = grid.task
    if not has_code(task):
        return Program(title, grid.to_commands(), ())
    cells = (
        *query_task_cells(task),
        CodeCell("Runs, and their errors against the real table (do not publish)", grid_code(grid)),
    )
    return Program(title, grid.to_commands(), cells)


def has_code(task: QueryTask) -> bool:
    """Return whether library calls say all of a task.

    Where a schema is measured, and where a public table is the start, only the command does.
    """
    return task.partial_schema is None and task.start is None


def query_task_cells(task: QueryTask) -> tuple[CodeCell, ...]:
    """Return the cells that read a table and make the problem of its queries."""
    unit = task.unit
    domain = task.planning_domain
    if unit.counts_people:
        first_cell = table_cell(domain, task.table, PEOPLE_IMPORTS, READ_CODE)
        rows_code = f"{unit_code(unit)}.encode(domain, table)"
    else:
        first_cell = limited_table_cell(domain, task.table, unit, IMPORTS)
        rows_code = "domain.encode(table)"
    queries_code = QUERIES_CODE.format(
        queries=literal(list(task.queries)), group=unit.group, rows=rows_code
    )
    return first_cell, CodeCell("The questions", queries_code)


def unit_code(unit: PrivacyUnit) -> str:
    """Return the code of a privacy unit."""
    options = [literal(unit.person), str(unit.most_rows)]
    if unit.counts_people:
        options.append("counts_people=True")
    if unit.row_totals:
        options.append("row_totals=True")
    if unit.person_columns:
        options.append(f"person_columns={literal(tuple(unit.person_columns))}")
    if unit.succession_columns:
        options.append(f"succession_columns={literal(tuple(unit.succession_columns))}")
    if unit.time_column is not None:
        options.append(f"time_column={literal(unit.time_column)}")
    return f"PrivacyUnit({', '.join(options)})"


def limited_table_cell(domain: Domain, table: str, unit: PrivacyUnit, imports: str) -> CodeCell:
    """Return the cell that reads a table, and keeps as many rows of a person as count."""
    cell = table_cell(domain, table, imports, READ_CODE)
    if unit.person is None:
        return cell
    limit_code = (
        f"table = limit_rows(table, {literal(unit.person)}, {unit.most_rows}, domain.names)"
    )
    return CodeCell(cell.heading, f"{cell.code}\n{limit_code}")


def table_cell(domain: Domain, table: str, imports: str, read_code: str) -> CodeCell:
    """Return the cell that states the schema of a table and reads it by `read_code`."""
    code = TABLE_CODE.format(
        imports=imports,
        schema=literal(domain_to_json(domain)),
        table=literal(table),
        read_code=read_code,
    )
    return CodeCell("The table, and what is public about it", code)


def grid_code(grid: ExperimentGrid, run_options: str = "") -> str:
    """Return the code of each algorithm at each budget with each seed, on `problem` and `rows`."""
    algorithms = [
        f"    {literal(name)}: {algorithm_code(algorithm)},"
        for name, algorithm in grid.algorithms.items()
    ]
    budgets = [f"    {budget_code(budget)}," for budget in grid.budgets]
    return GRID_CODE.format(
        algorithms="\n".join(algorithms),
        budgets="\n".join(budgets),
        first_seed=grid.seeds.start,
        last_seed=grid.seeds.stop,
        run_options=run_options,
    )


def algorithm_code(algorithm: Algorithm) -> str:
    """Return the call that makes an algorithm with its settings."""
    parameters = ", ".join(
        f"{name}={value!r}" for name, value in chosen_parameters(algorithm).items()
    )
    return f"ALGORITHMS[{registered_name(algorithm)!r}]({parameters})"


def budget_code(budget: Budget) -> str:
    """Return the call that makes a budget."""
    return f"Budget({budget.epsilon!r}, {budget.delta!r})"
