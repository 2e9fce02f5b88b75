"""The README says what is true: its commands run, its example runs; the help of each command has
two examples.
"""

import json
import re
import shlex

import pytest

from dpcore import domain_from_json, domain_to_json
from dpcore.cli import COMMANDS, build_parser, main
from dpcore.schema.schema_json import COLUMN_KEYS, FILE_KEYS, text_format_from_json
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


def stated_in_table(heading):
    """What the examples in the first column of a table of the README state, together."""
    table = README.partition(f"| {heading} | says |\n")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[1:]]
    return [json.loads(f"{{{text}}}") for cell in cells for text in re.findall("`(.*?)`", cell)]


def test_every_statement_about_a_file_that_the_readme_names_is_accepted_and_none_is_missing():
    examples = stated_in_table('in `"file"`')
    assert sorted(key for example in examples for key in example) == sorted(FILE_KEYS)
    partners = {"width": {"header": "none"}, "header_lines": {"header": 2}}
    for example in examples:
        ((key, value),) = example.items()
        format = text_format_from_json(example | partners.get(key, {}))
        assert getattr(format, key) == value


def test_every_statement_about_a_column_that_the_readme_names_is_accepted():
    examples = stated_in_table("in a column")
    named = {key for example in examples for key in example}
    shown = {"kind", "values", "low", "high", "bins", "edges", "missing"}
    assert named | shown | {"ordered", "size"} == COLUMN_KEYS
    years = {"kind": "integer", "low": 1950, "high": 2020, "bins": 7, "missing": "category"}
    sexes = {"kind": "categorical", "values": ["Male", "Female"]}
    fees = {"kind": "numeric", "low": 0, "high": 90, "bins": 3, "read": "amount, decimal comma"}
    fees |= next(example for example in examples if "form" in example)
    for key in named - {"same", "form"}:
        years |= next(example for example in examples if key in example)
    sexes |= next(example for example in examples if "same" in example)
    schema = domain_to_json(
        domain_from_json({"columns": {"born": years, "sex": sexes, "fee": fees}})
    )
    for name, entry in (("born", years), ("sex", sexes), ("fee", fees)):
        for key in named & entry.keys():
            assert schema["columns"][name][key] == entry[key]


READERS = {
    "load_table",
    "read_table",
    "open_table",
    "read_problem_and_rows",
}  # functions that read a table, by the names commands know them by
PROTECTED = {"release", "learn-release"}  # whose output is


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
