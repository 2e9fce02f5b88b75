"""The three walls and the order of the house, read off the source: nothing is imported or run here."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.size import ROOT
from tests.walls import ASKED, HOLDING, breaches

CORE = ROOT / "dpcore"
# The rooms of the house, in their order: a file imports only from its own room and from rooms that stand before it.
ORDER = [
    "errors", "types", "tags", "numbers", "params", "data", "workloads", "geometry", "learning", "problems", "releases",
    "parsing", "models", "privacy", "theory", "algorithms", "intervals", "schemas", "evaluation", "experiments",
    "publishing", "cli", "__main__",
]  # fmt: skip
# What all pages share, in this order; every other folder serves the page of its name.
UI = ("shell", "charts", "jobs", "lessons", "server")
HOLDERS = {"data", "workloads", "releases", "geometry", "learning", "parsing", "privacy", "evaluation", "experiments"}
HOLDERS |= {"publishing", "cli"}  # the rooms that may name records
PACKAGE = "__init__"  # the public names


def name_of(path):
    return ".".join(path.relative_to(CORE).with_suffix("").parts).removesuffix(".__init__")


FILES = {name_of(path): path for path in sorted(CORE.rglob("*.py"))}
PAGES = {str(path.relative_to(ROOT)): path for path in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]}


@cache
def tree(path):
    return ast.parse(path.read_text())


def imports(path):
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


def core_modules(path):
    """The files of dpcore that a file imports, as in FILES."""
    out = set()
    for module, name in imports(path):
        if module.split(".")[0] == "dpcore":
            inside = module.removeprefix("dpcore").lstrip(".")
            whole = f"{inside}.{name}".lstrip(".")
            out.add(whole if whole in FILES else inside)
    return out - {""}


def packages(path):
    return {module.split(".")[0] for module, _ in imports(path)}


def room(name):
    return name.split(".")[0]


def test_a_file_imports_only_files_that_stand_before_it():
    for name in FILES.keys() - {PACKAGE}:
        rooms = {room(other) for other in core_modules(FILES[name])} - {room(name)}
        late = {other for other in rooms if ORDER.index(other) > ORDER.index(room(name))}
        assert not late, f"{name} imports {late}"


def test_the_top_of_the_house_is_small():
    assert len(list(CORE.glob("*.py"))) <= 9
    assert not list((ROOT / "pages" / "_ui").glob("*.py"))


def test_imports_make_no_circle():
    graph = {name: core_modules(path) - {name} for name, path in FILES.items()}
    assert list(TopologicalSorter(graph).static_order())


METHODS = [name for name in FILES if name.startswith("algorithms")]


def nodes(kind):
    """(file, node) of every node of a kind in the core."""
    return ((name, node) for name, path in FILES.items() for node in ast.walk(tree(path)) if isinstance(node, kind))


def callers(*names):
    """The files that call one of these."""
    return {file for file, call in nodes(ast.Call) if isinstance(call.func, ast.Name) and call.func.id in names}


def naming(*names):
    """The files that import one of these names."""
    return {file for file, path in FILES.items() if {*names} & {name for _, name in imports(path)}}


def users(module):
    """The files that import this one."""
    return {file for file, path in FILES.items() if module in core_modules(path)}


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
CURATORS = {"table": ("privacy.table_curator", 5_500)}


def trusted(curator):
    """The lines of all files that a curator reaches."""
    needed, waiting = set(), [curator]
    while waiting:
        if (name := waiting.pop()) in FILES and name not in needed:
            needed.add(name)
            waiting += core_modules(FILES[name])
    return sum(len(FILES[name].read_text().splitlines()) for name in needed)


def test_the_lines_to_trust_stay_few():
    for curator, most in CURATORS.values():
        assert 1000 < trusted(curator) <= most


DOORS = {"evaluation.run", "publishing.draw", "experiments.audit"}
KEYS = "publishing.noise_key"  # which alone asks the operating system for a key
REAL = {"publishing.publish", "publishing.draw", "publishing.private_schema"}  # they draw what leaves
COLUMN_DOORS = {
    "experiments.schema_transcripts",
    "evaluation.schema_trial",
    "publishing.prepared",
    "publishing.private_schema",
}


def test_records_are_known_to_the_door_and_to_those_who_bring_them():
    holders = set(map(room, naming("Rows"))) - {PACKAGE}
    # A release of synthetic rows groups them as records are grouped; those rows are public.
    assert holders <= HOLDERS
    kinds = ("TableCurator", "PointCurator", "RiskCurator")
    assert naming(*kinds) <= {"privacy.curators", "experiments.audit", *METHODS}, "algorithms name the type"
    assert callers("curator_of") == DOORS, "run, draw and audit make one"
    assert callers(*kinds, "Curator") == {"privacy.curators"}
    assert callers("ColumnCurator") == COLUMN_DOORS
    raw = {name for name, path in FILES.items() if ("dpcore.data.cells", "Cells") in imports(path)}
    raw -= {"experiments.schema_transcripts"}  # which makes public ones
    assert {room(name) for name in raw} <= {"data", "privacy", "publishing"}, "raw cells"


def test_a_real_release_never_meets_the_truth():
    for name in FILES:
        if room(name) == "publishing":
            assert not {m for m in core_modules(FILES[name]) if room(m) in ("evaluation", "experiments")}
            assert "data.samples" not in core_modules(FILES[name])
    for name in REAL:
        made = [node for node in ast.walk(tree(FILES[name])) if isinstance(node, ast.Call)]
        assert not any(_is_maker(call) for call in made), "numpy's generators are not made to keep secrets"
    assert callers("new_key") == {"publishing.attempt"}
    keys = [node for _, node in nodes(ast.Call) if ast.unparse(node.func) == "entropy.new_key"]
    assert len(keys) == 1
    assert not keys[0].args
    assert not keys[0].keywords, "its noise cannot be seeded"
    assert {name for name, node in nodes(ast.Call) if ast.unparse(node.func) == "entropy.generator"} == {KEYS}


def test_the_audit_plays_with_public_tables_only():
    for player in ("audit", "transcripts", "schema_transcripts"):
        modules = core_modules(FILES[f"experiments.{player}"])
        assert not modules & {"data.readers", "data.samples"}
        assert not {room(module) for module in modules} & {"evaluation", "publishing"}
        allowed = {"cli", "cli.audit", "experiments.transcripts", "experiments.schema_transcripts"}
        assert users(f"experiments.{player}") <= allowed, "the planted bug is out of reach of every run and release"


def test_only_evaluation_compares_a_release_with_the_truth():
    assert users("evaluation.metrics") == {"evaluation.truth", "evaluation.run", "evaluation.diagnosis"}
    assert users("evaluation.truth") == {"evaluation.run"}
    asking = (name for name, node in nodes(ast.Attribute) if node.attr == "answers_of_rows")
    touching = {name for name in asking if room(name) != "workloads"}
    # Releases answer from their own synthetic rows, and a public start from a public table.
    inside = {"privacy.statistics.answers", "privacy.table_curator"}
    assert touching == inside | {f"evaluation.{name}" for name in ("truth", "run", "diagnosis", "purposes")} | {
        "releases",
        "problems",
    }
    allowed = {"evaluation.truth", "evaluation.run", "evaluation.diagnosis", "experiments.pool"}
    assert users("releases") & naming("Rows") <= allowed


def test_the_audit_is_small_and_knows_no_algorithm_table_or_page():
    outside = {"privacy.accounting.conversions": "dp_accounting", "privacy.entropy": "randomgen"}
    for name in (name for name in FILES if room(name) == "privacy"):
        modules = core_modules(FILES[name])
        assert not modules & {"data.readers", "data.schema"}, name
        known = {"problems"} if name == "privacy.curators" else set()  # which picks one by the kind of problem
        assert not {room(m) for m in modules} & {"releases", "problems", "theory", "evaluation"} - known, name
        allowed = {*sys.stdlib_module_names, "numpy", "scipy", "dpcore", outside.get(name, "numpy")}
        assert packages(FILES[name]) <= allowed, name


def test_the_core_knows_nothing_of_the_page():
    for name, path in FILES.items():
        assert not packages(path) & {"streamlit", "plotly", "altair", "pages", "app", "tests"}, name


HOLDERS_OF_ROWS = {f"privacy.{name}" for name in HOLDING}
STATISTICS = {name for name in FILES if name.startswith("privacy.statistics")}


def test_what_pages_share_knows_no_page_and_a_folder_serves_its_own():
    for name, path in PAGES.items():
        parts = Path(name).with_suffix("").parts
        own = parts[2] if parts[:2] == ("pages", "_ui") else {"app": "start"}.get(parts[-1], parts[-1])
        before = UI if own not in UI else UI[: UI.index(own)]
        for module, imported in imports(path):
            whole = [*module.split("."), imported]
            assert whole[:2] != ["pages", "_ui"] or whole[2] in (*before, own), f"{name} imports {whole[2]}"


def test_a_page_knows_algorithms_by_their_key_and_never_a_curator():
    walled = {*HOLDERS_OF_ROWS, "privacy.mechanisms", "privacy.accounting.ledger", "evaluation.metrics", *STATISTICS}
    for name, path in PAGES.items():
        modules = core_modules(path)
        assert not {m for m in modules if m.startswith("algorithms.")} - {"algorithms.base", "algorithms.forecasts"}
        assert not modules & walled, name
        assert "cli" not in {room(module) for module in modules}, name
        from_registry = {n for module, n in imports(path) if module == "dpcore.algorithms"}
        assert from_registry <= {"ALGORITHMS", "Algorithm", "registered_name", "solving", "base"}, name


def test_promises_are_raised_not_asserted():
    assert [(name, node.lineno) for name, node in nodes(ast.Assert)] == []


def test_noise_comes_from_a_generator_that_was_passed_in():
    for name, node in nodes(ast.Attribute):
        if ast.unparse(node.value) in ("np.random", "numpy.random"):
            assert node.attr in ("Generator", "default_rng", "SeedSequence"), name
    for name, node in nodes(ast.Call):
        if _is_maker(node):
            assert node.args, f"{name}: explore mode is seeded"
            assert room(name) not in ("privacy", "algorithms")
    for name, path in FILES.items():
        assert "random" not in packages(path), name
        assert "privacy.entropy" not in core_modules(path) or name in (*REAL, KEYS), name


def _is_maker(node):
    return ast.unparse(node.func).endswith(("default_rng", "SeedSequence"))


def test_nothing_is_printed_outside_the_command_line():
    assert set(map(room, callers("print"))) == {"cli"}


def test_a_file_fits_two_screens_and_says_what_lives_there():
    for path in (*FILES.values(), *PAGES.values()):
        text = path.read_text()
        assert len(text.splitlines()) <= 400, path
        assert not text or ast.get_docstring(tree(path)), path
