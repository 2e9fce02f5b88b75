"""A program in three forms: command lines, a Python script and a notebook, each with versions.

Names and texts of a table enter a program as literals of its language alone, so that none of them
is read as code.
"""

import json
import pprint
from typing import Any

from ...core.types import Json, Texts, frozen
from ...core.versions import PROGRAM_NAME, software_versions

NOTEBOOK_FORMAT = (4, 5)
MAX_LITERAL_WIDTH = 96  # characters in a line


@frozen
class CodeCell:
    """A cell of a notebook, and a part of a script: Python code below a heading."""

    heading: str
    code: str


@frozen
class Program:
    """A program that repeats what a page shows.

    Args:
        title: what it repeats.
        commands: its command lines, which read the schema from the file schema.json.
        cells: its Python code; none where only the command says all of it.

    """

    title: str
    commands: Texts
    cells: tuple[CodeCell, ...]

    def to_command(self) -> str:
        """Return the command lines below a comment with the versions."""
        return "\n".join([f"# {versions_text()}", *self.commands])

    def to_python(self) -> str:
        """Return the script."""
        head = f'"""{self.title}\n\n{versions_text()}\n"""'
        parts = [f"# {cell.heading}\n{cell.code}" for cell in self.cells]
        return "\n\n".join([head, *parts]) + "\n"

    def to_notebook(self) -> str:
        """Return the notebook, as the JSON of an .ipynb file."""
        cells = [_markdown_cell(0, f"# {self.title}\n\n{versions_text()}")]
        for cell in self.cells:
            cells.append(_markdown_cell(len(cells), f"## {cell.heading}"))
            cells.append(_code_cell(len(cells), cell.code))
        document = {
            "cells": cells,
            "metadata": {
                "kernelspec": {
                    "display_name": "Python 3",
                    "language": "python",
                    "name": "python3",
                },
                "language_info": {"name": "python"},
                "versions": software_versions(),
            },
            "nbformat": NOTEBOOK_FORMAT[0],
            "nbformat_minor": NOTEBOOK_FORMAT[1],
        }
        return json.dumps(document, indent=1)


def versions_text() -> str:
    """Return the versions that a program was written with, in a line."""
    versions = ", ".join(f"{name} {version}" for name, version in software_versions().items())
    return f"Written with {versions}. To install: pip install {PROGRAM_NAME}"


def literal(value: Any) -> str:
    """Return a value as a Python literal; what cannot be printed in it is escaped.

    >>> literal({"name": "Jo", "limit": None})
    "{'name': 'Jo', 'limit': None}"
    """
    return pprint.pformat(value, width=MAX_LITERAL_WIDTH, sort_dicts=False)


def _markdown_cell(number: int, text: str) -> Json:
    """Return a cell of a notebook with text."""
    return {
        "cell_type": "markdown",
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.splitlines(keepends=True),
    }


def _code_cell(number: int, code: str) -> Json:
    """Return a cell of a notebook with code that has not run yet."""
    return {
        "cell_type": "code",
        "id": f"cell-{number}",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": code.splitlines(keepends=True),
    }
