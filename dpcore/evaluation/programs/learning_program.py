"""Programs that learn from a table: the law of a private quantile, or methods side by side."""

from ...core.types import frozen
from ...schema.schema_json import domain_from_json
from ..experiment import ExperimentGrid, LearningTask
from .program import CodeCell, Program, literal
from .query_program import algorithm_code, budget_code, grid_code, limited_table_cell

IMPORTS = """from dataclasses import replace

import pandas as pd

from dpcore import ALGORITHMS, Budget, InputError, Run
from dpcore import domain_from_json, limit_rows, read_table, read_task
from dpcore.evaluation.output_laws import line_law, plane_law, split_rows"""
TASK_CODE = """problem, rows = read_task({text}, domain, table, radius={radius}, group={group})"""
HELD_OUT_CODE = """
rows, held_out = split_rows(rows, {share}, 0)
problem = replace(problem, n=rows.n)"""
LAW_CODE = """budget = {budget}
law = line_law(problem, rows, budget, calibration={calibration}, factor={factor}, stages={stages})
print("9 of 10 private answers are within", law.radius_of_90_percent, "of the real one")"""
PLANE_CODE = """budget = {budget}
law = plane_law(problem, rows, budget, calibration={calibration})
print("without privacy:", law.optimum)
print("private answers spread by", law.draws.std(0))"""
RUN_CODE = """algorithm = {algorithm}
run = Run(algorithm, problem, rows, budget, seed={seed}).finish()
print(run.release.x, run.summarise().final_results)"""


@frozen
class LawSettings:
    """Settings of `line_law`: for whom μ is chosen, at how many times it, in how many stages."""

    calibration: str
    factor: float
    stages: int


def methods_program(grid: ExperimentGrid[LearningTask]) -> Program:
    """Return the program that learns by each method of a grid at each budget."""
    task = grid.task
    run_options = ", population=held_out" if task.held_out else ""
    cells = (
        *_task_cells(task),
        CodeCell(
            "Runs, and the errors that privacy adds (do not publish)", grid_code(grid, run_options)
        ),
    )
    return Program("Learning by several methods at several budgets", grid.to_commands(), cells)


def quantile_program(grid: ExperimentGrid[LearningTask], settings: LawSettings) -> Program:
    """Return the program of one private quantile: its law, and one answer of the grid's method."""
    (budget,) = grid.budgets
    law_code = LAW_CODE.format(
        budget=budget_code(budget),
        calibration=literal(settings.calibration),
        factor=literal(settings.factor),
        stages=literal(settings.stages),
    )
    law_cell = CodeCell("How near the private answer is (uses real data: do not publish)", law_code)
    return _law_program("One number of a column, learned privately", grid, law_cell)


def plane_program(grid: ExperimentGrid[LearningTask], calibration: str) -> Program:
    """Return the program of two private weights: their law, and one answer of the grid's method."""
    (budget,) = grid.budgets
    law_code = PLANE_CODE.format(budget=budget_code(budget), calibration=literal(calibration))
    law_cell = CodeCell("Where the weights fall (uses real data: do not publish)", law_code)
    return _law_program("Two weights of a line, learned privately", grid, law_cell)


def _law_program(title: str, grid: ExperimentGrid[LearningTask], law_cell: CodeCell) -> Program:
    """Return the program of a law, and of one answer of the only method at the only budget."""
    (algorithm,) = grid.algorithms.values()
    run_code = RUN_CODE.format(algorithm=algorithm_code(algorithm), seed=grid.seed)
    answer_cell = CodeCell("One private answer (do not publish: the seed is known)", run_code)
    return Program(title, grid.to_commands(), (*_task_cells(grid.task), law_cell, answer_cell))


def _task_cells(task: LearningTask) -> tuple[CodeCell, ...]:
    """Return the cells that read a table and make the problem of learning from it."""
    code = TASK_CODE.format(
        text=literal(task.text), radius=literal(task.radius), group=task.unit.most_rows
    )
    if task.held_out:
        code += HELD_OUT_CODE.format(share=literal(task.held_out))
    domain = domain_from_json(task.schema)
    return (
        limited_table_cell(domain, task.table, task.unit, IMPORTS),
        CodeCell("What is learned", code),
    )
