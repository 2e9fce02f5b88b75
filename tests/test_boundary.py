"""The three walls and the order of the house, read off the source: nothing is imported or run here."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.size import tokens
from tests.walls import ASKED, breaches

ROOT = Path(__file__).parents[1]
CORE = ROOT / "dpcore"
# The rooms of the house, in their order: a file imports only from its own room and from rooms that stand before it.
ORDER = [
    *(
        "errors",
        "tags",
        "numbers",
        "params",
        "data",
        "workloads",
        "geometry",
        "learning",
        "problems",
        "releases",
        "parsing",
    ),
    *(
        "models",
        "privacy",
        "theory",
        "algorithms",
        "intervals",
        "schemas",
        "evaluation",
        "experiments",
        "publishing",
        "cli",
        "__main__",
    ),
]
# What all pages share, in this order; every other folder serves the page of its name.
UI = ("shell", "charts", "jobs", "lessons", "server")
HOLDERS = {"data", "workloads", "releases", "geometry", "learning", "parsing", "privacy", "evaluation", "experiments"}
HOLDERS |= {"publishing", "cli"}  # the rooms that may name records
PACKAGE = "__init__"  # the public names


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(CORE).with_suffix("").parts).removesuffix(".__init__")


FILES = {name_of(path): path for path in sorted(CORE.rglob("*.py"))}
PAGES = {str(path.relative_to(ROOT)): path for path in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> set[tuple[str, str]]:
    """(absolute module, name) of everything imported anywhere in a file; name "" for `import module`."""
    package = path.relative_to(ROOT).parts[:-1]
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *filter(None, [node.module])])
            found |= {(module, alias.name) for alias in node.names}
    return found


def core_modules(path: Path) -> set[str]:
    """The files of dpcore that a file imports, as in FILES."""
    out = set()
    for module, name in imports(path):
        if module.split(".")[0] == "dpcore":
            inside = module.removeprefix("dpcore").lstrip(".")
            whole = f"{inside}.{name}".lstrip(".")
            out.add(whole if whole in FILES else inside)
    return out - {""}


def packages(path: Path) -> set[str]:
    return {module.split(".")[0] for module, _ in imports(path)}


def room(name: str) -> str:
    return name.split(".")[0]


def test_a_file_imports_only_files_that_stand_before_it():
    for name in FILES.keys() - {PACKAGE}:
        rooms = {room(other) for other in core_modules(FILES[name])} - {room(name)}
        late = {other for other in rooms if ORDER.index(other) > ORDER.index(room(name))}
        assert not late, f"{name} imports {late}"


def test_the_top_of_the_house_is_small():
    assert len(list(CORE.glob("*.py"))) <= 8
    assert not list((ROOT / "pages" / "_ui").glob("*.py"))


def test_imports_make_no_circle():
    graph = {name: core_modules(path) - {name} for name, path in FILES.items()}
    assert list(TopologicalSorter(graph).static_order())


METHODS = [name for name in FILES if name.startswith("algorithms")]


def test_algorithms_cannot_reach_records():
    for name in METHODS:
        path = FILES[name]
        modules = core_modules(path)
        assert not {n for _, n in imports(path)} & {"Rows", "Comparison", "compare", "errors"}, name
        assert not {room(module) for module in modules} & {"data", "evaluation"}, name
        assert "privacy.mechanisms" not in modules, name
        assert "pandas" not in packages(path), name


def test_algorithms_use_the_verbs_of_a_curator_and_nothing_else():
    assert {name: found for name in METHODS if (found := breaches(tree(FILES[name])))} == {}


def test_the_verbs_are_those_of_the_curator():
    files = [FILES[f"privacy.{name}"] for name in ("curator", "table_curator", "point_curator", "risk_curator")]
    holders = [node for path in files for node in tree(path).body if isinstance(node, ast.ClassDef)]
    methods = [n for holder in holders for n in holder.body if isinstance(n, ast.FunctionDef)]
    public = {n.name: n for n in methods if not n.name.startswith("_")}
    assert {name for name, node in public.items() if not node.decorator_list} == ASKED
    shown = {name for name, node in public.items() if node.decorator_list}
    uses = (n for holder in holders for n in ast.walk(holder) if isinstance(n, ast.Attribute))
    inside = {n.attr for n in uses if ast.unparse(n.value) == "self"}
    assert inside & shown <= {"unit"}, "of the others the curator would charge, and count in, a copy"


def test_mistakes_in_a_file_of_algorithms_are_found_and_honest_code_is_not():
    """Test the tester: each line stands in the `steps` of a method."""
    method = (
        "class Mine:\n    def steps(self, problem, plan, curator, rng):\n        {}\ndef f(other: TableCurator): {}"
    )
    for line in (
        *("curator.unit", "curator._rows", "c = curator", "ask = curator.measure", "self.c = curator"),
        *("del curator.unit", "f = lambda c=curator: c", "def f(): return curator", "[c for c in [curator]]"),
        *("TableCurator(1)", "getattr(problem, 'x')", "x = np.fromfile('t.csv')", "problem.n = 3", "plan.budget._x"),
        *("problem.workload.answers_of_rows(rows)", "import pandas", "from scipy.stats import norm", "open('x')"),
        *("from ..privacy import curator", "from ..privacy.risk_curator import SAMPLERS", "from ..models import _x"),
    ):
        assert breaches(ast.parse(method.format(line, "pass"))), line
    assert breaches(ast.parse(method.format("pass", "other.unit")))
    for line in (
        *("x = curator.measure(problem, plan)", "self._mine(1, who=curator)", "self.x, self._y = 1, 2"),
        *(
            "[curator.select(q, plan) for q in x if curator.affords(q)]",
            "from ..privacy.table_curator import TableCurator",
        ),
        *("yield from self.inner.steps(problem, plan, curator, rng)", "import numpy as np"),
    ):
        assert not breaches(ast.parse(method.format(line, "other.select(1, 2)"))), line


# Who must be trusted that a release of a table is private: its curator, and at most so many lines with all it imports.
