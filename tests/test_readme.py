"""The README says what is true: the generated table, the commands, the library example."""

import re
from pathlib import Path

from dpcore.cli.algorithms import markdown

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_algorithms_table_is_the_generated_one():
    table = re.search(r"<!-- algorithms -->\n(.*?)<!-- /algorithms -->", README, re.DOTALL)
    assert table
    assert table[1].strip() == markdown().strip(), "paste the output of: python -m dpcore algorithms --markdown"


def test_ci_runs_exactly_the_readme_test_command():
    command = next(line for line in README.splitlines() if line.endswith("-m pytest"))
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_library_example_runs(capsys):
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example
    exec(compile(example[1], "README.md", "exec"), {})
    assert "max_error" in capsys.readouterr().out
