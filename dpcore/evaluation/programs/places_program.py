"""A program that releases points near those that some columns of a table say."""

from ...schema.schema_json import domain_from_json
from ..experiment import ExperimentGrid, PlacesTask
from .program import CodeCell, Program, literal
from .query_program import grid_code, limited_table_cell

IMPORTS = """import pandas as pd

from dpcore import ALGORITHMS, Budget, InputError, PointRelease, Run
from dpcore import domain_from_json, limit_rows, read_table
from dpcore.problems.regions import read_scaled_points"""
POINTS_CODE = """places = domain.project({names})
region, rows = read_scaled_points(places, table)
problem = PointRelease(region, rows.n, places.names, group={group})"""


def places_program(grid: ExperimentGrid[PlacesTask]) -> Program:
    """Return the program that releases points by each method of a grid at each budget."""
    task = grid.task
    points_code = POINTS_CODE.format(names=literal(list(task.columns)), group=task.unit.most_rows)
    domain = domain_from_json(task.schema)
    cells = (
        limited_table_cell(domain, task.table, task.unit, IMPORTS),
        CodeCell("The points, scaled to 0..1 by public bounds", points_code),
        CodeCell(
            "Runs, and their distance W1 to the real points (do not publish)",
            grid_code(grid, ", every=10**9"),
        ),
    )
    return Program("Points near private ones, by several methods", grid.to_commands(), cells)
