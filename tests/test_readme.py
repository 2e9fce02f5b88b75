"""The README says what is true: its commands run, its example runs; the help of each command has
two examples.
"""

import json
import re
import shlex

import pytest

from dpcore import domain_from_json
from dpcore.cli import COMMANDS, build_parser, main
from tests.size import ROOT

README = (ROOT / "README.md").read_text()


def test_ci_runs_exactly_the_readme_test_command():
    command = next(line for line in README.splitlines() if line.endswith("-m pytest"))
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_library_example_runs(capsys):
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example
    exec(compile(example[1], "README.md", "exec"), {})
    assert "max_error" in capsys.readouterr().out


def test_the_readme_is_short_and_names_every_command_and_a_schema_that_is_one():
    assert len(README.split()) <= 2500
    assert all(f"`{name}`" in README for name in COMMANDS)
    (schema,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    assert domain_from_json(json.loads(schema)).names == ("sex", "age", "income")


READERS = {
    "load_table",
    "read_table",
    "open_table",
    "read_problem_and_rows",
}  # functions that read a table, by the names commands know them by
PROTECTED = {"release", "ask"}  # the one release that is, and a reader of what it wrote


def test_the_list_of_what_is_not_to_be_published_names_every_command_that_looks_at_a_table():
    reading = {name for name, module in COMMANDS.items() if READERS & set(vars(module))}
    assert reading > PROTECTED
    (said,) = re.findall(
        r"Errors and real numbers on the pages and in the output of (.*?) use\s+real data",
        README,
        re.DOTALL,
    )
    assert set(re.findall(r"`(\w+)`", said)) == reading - PROTECTED


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_ends_with_two_examples_that_it_understands(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    examples = (
        capsys.readouterr()
        .out.split("Two examples:\n")[1]
        .replace("\\\n", " ")
        .strip()
        .splitlines()
    )
    assert len(examples) == 2
    for example in examples:
        command = shlex.split(re.sub(r" > \S+json$", "", example))
        assert command[:4] == ["python", "-m", "dpcore", name]
        assert build_parser().parse_args(command[3:]).command == name
