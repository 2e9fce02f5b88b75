"""Examples run: the programs in `tests/examples`, and those in docstrings of public names."""

import ast
import doctest
import inspect
import runpy

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore import ALGORITHMS
from dpcore.algorithms.algorithm import Algorithm
from tests.size import ROOT

EXAMPLES = sorted((ROOT / "tests" / "examples").glob("*.py"))
MAX_EXAMPLE_LINES = 4
MAX_CLASS_DOCSTRING_LINES = 15


def docstring_of(name):
    """The docstring of a public name; that of its module for a constant, which has none."""
    value = getattr(dpcore, name)
    if value is ALGORITHMS:
        value = dpcore.algorithms
    return value.__doc__ or ""


def run_docstring(docstring, name):
    """The numbers of failed and tried examples, after the imports that the package names."""
    variables = {"np": np, "pd": pd, **{name: getattr(dpcore, name) for name in dpcore.__all__}}
    test = doctest.DocTestParser().get_doctest(docstring, variables, name, None, None)
    return doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)


def algorithm_classes(base=Algorithm):
    """All subclasses of a class, also of subclasses."""
    return {cls for child in base.__subclasses__() for cls in (child, *algorithm_classes(child))}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_program_to_copy_runs_and_prints(path, capsys):
    runpy.run_path(str(path))
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_program_to_copy_imports_from_the_package_itself(path):
    imports = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    assert {node.module for node in imports} == {"dpcore"}


def test_the_readme_shows_the_five_lines_and_names_the_folder():
    readme = (ROOT / "README.md").read_text()
    program = (ROOT / "tests" / "examples" / "five_lines.py").read_text()
    example = readme.split("```python\n")[1].split("```")[0]
    assert example in program
    assert "](tests/examples)" in readme


@pytest.mark.parametrize("name", dpcore.__all__)
def test_a_public_name_has_a_short_example_that_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run_docstring(docstring_of(name), name)
    assert 1 <= result.attempted <= MAX_EXAMPLE_LINES, f"{name}: {result.attempted} lines"
    assert result.failed == 0


def test_an_example_that_does_not_hold_is_found(capsys):
    assert run_docstring(">>> Budget(1.0, 0).epsilon\n2.0", "planted").failed == 1
    assert "Expected" in capsys.readouterr().out


def test_every_algorithm_is_a_public_name():
    assert {cls.__name__ for cls in ALGORITHMS.values()} <= set(dpcore.__all__)


def test_the_docstring_of_an_algorithm_fits_fifteen_lines():
    classes = algorithm_classes()
    assert classes >= set(ALGORITHMS.values())
    for cls in classes:
        if cls.__module__.startswith("dpcore."):
            lines = (inspect.getdoc(cls) or "").splitlines()
            assert 1 <= len(lines) <= MAX_CLASS_DOCSTRING_LINES, cls.__name__
