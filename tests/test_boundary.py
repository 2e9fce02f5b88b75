"""The three walls and the order of the house, read off the source: nothing is imported or run here."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "dpcore"
# A file imports only files that stand before it. "x.*" is one file a method or command. The files of "workloads", and
# the methods, may build on each other, but in no circle.
ORDER = [
    *(
        "errors",
        "numbers",
        "memory",
        "tags",
        "inputs",
        "sheets",
        "params",
        "domain",
        "schema",
        "tables",
        "fingerprint",
        "chain",
        "samples",
    ),
    *("workloads", "grammar", "questions", "losses", "regions", "point_samples", "risks", "point_groups", "transport"),
    *("releases", "problems", "tasks"),
    *("theory.schedules", "theory.*", "theory"),
    *("privacy.conversions", "privacy.budget", "privacy.calibrations"),
    *("privacy.ledger", "privacy.lifetime", "privacy.statistics", "privacy.point_statistics"),
    *("privacy.targets", "privacy.risk_statistics"),
    *(f"privacy.samplers.{name}" for name in ("plane", "shapes", "proximal", "*")),
    "privacy.samplers",
    *("privacy.draws", "privacy.scores", "privacy.mechanisms", "privacy.exact", "privacy.curator", "oracles"),
    *("accountants", "algorithms.base", "algorithms.*", "algorithms"),
    *("metrics", "truth", "run", "staged", "laws", "diagnosis", "frontier", "pool", "points", "sweep", "cluster"),
    *("dataset", "store", "orders", "card", "outputs", "publish", "audit"),
    *("cli.arguments", "cli.queries", "cli.files", "cli.task", "cli.follow", "cli.*", "cli", "__main__"),
]
HOLDERS = {  # who may name records
    "audit",
    "cli",
    "cluster",
    "diagnosis",
    "laws",
    "orders",
    "pool",
    "privacy",
    "publish",
    "regions",
    "releases",
    "run",
    "staged",
    "sweep",
    "tasks",
    "truth",
    "workloads",
}
EMPTY = {"__init__", "privacy.__init__"}  # a docstring only


def name_of(path: Path) -> str:
    name = ".".join(path.relative_to(CORE).with_suffix("").parts)
    return name.removesuffix(".__init__") if name not in EMPTY else name


FILES = {name_of(path): path for path in sorted(CORE.rglob("*.py"))}
PAGES = {str(path.relative_to(ROOT)): path for path in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]}
everywhere = pytest.mark.parametrize("name", FILES)


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
    return out - {"", "privacy"}


def packages(path: Path) -> set[str]:
    return {module.split(".")[0] for module, _ in imports(path)}


def rank(name: str) -> int:
    package, _, _ = name.rpartition(".")
    place = next((p for p in (name, f"{package}.*", package) if p in ORDER), None)
    assert place, f"{name} has no place in ORDER yet"
    return ORDER.index(place)


@pytest.mark.parametrize("name", [name for name in FILES if name not in EMPTY])
def test_a_file_imports_only_files_that_stand_before_it(name):
    free = ORDER.index("workloads"), ORDER.index("algorithms.*")
    late = {o for o in core_modules(FILES[name]) if rank(o) > rank(name) or rank(o) == rank(name) not in free}
    assert not late, f"{name} imports {late}"


def test_imports_make_no_circle():
    graph = {name: core_modules(path) - {name} for name, path in FILES.items()}
    assert list(TopologicalSorter(graph).static_order())


def test_packages_that_only_hold_files_are_empty():
    for name in EMPTY:
        assert [type(node) for node in tree(FILES[name]).body] == [ast.Expr]


METHODS = [name for name in FILES if name.startswith("algorithms")]


@pytest.mark.parametrize("name", METHODS)
def test_algorithms_cannot_reach_records(name):
    path = FILES[name]
    assert not {n for _, n in imports(path)} & {"Rows", "Comparison", "compare", "errors"}
    walled = {"domain", "tables", "samples", "metrics", "truth", "run", "diagnosis", "pool", "privacy.mechanisms"}
    assert not core_modules(path) & walled
    assert "pandas" not in packages(path)
    attributes = {node.attr for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert not attributes & {"answers_of_rows", "encode", "group", "_true_answers", "_Curator__rows", "__dict__"}
    names = {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}
    assert not names & {"setattr", "vars", "globals", "eval", "exec", "open", "__import__"}


@pytest.mark.parametrize("name", METHODS)
def test_algorithms_use_the_verbs_of_a_curator_and_nothing_else(name):
    used = {
        node.attr
        for node in ast.walk(tree(FILES[name]))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "curator"
    }
    verbs = {"measure", "measure_sample", "select", "above_threshold", "draw_queries", "keep_draws", "draw_parameter"}
    assert used <= {*verbs, "affords"}


DOORS = {"run", "publish", "audit"}


def test_records_are_known_to_the_door_and_to_those_who_bring_them():
    holders = {name.split(".")[0] for name, path in FILES.items() if "Rows" in {n for _, n in imports(path)}}
    # A release of synthetic rows groups them as records are grouped; those rows are public.
    assert holders <= HOLDERS
    makers = {name for name, path in FILES.items() if ("dpcore.privacy.curator", "Curator") in imports(path)}
    assert makers <= {*DOORS, *METHODS}, "algorithms name the type, run, publish and audit make one"
    calls = {name for name, path in FILES.items() for node in ast.walk(tree(path)) if _calls(node, "Curator")}
    assert calls == DOORS


def test_a_real_release_never_meets_the_truth():
    assert not core_modules(FILES["publish"]) & {"truth", "metrics", "run", "diagnosis", "samples"}
    made = [node for node in ast.walk(tree(FILES["publish"])) if isinstance(node, ast.Call) and _is_maker(node)]
    assert made
    assert not any(call.args or call.keywords for call in made), "its noise cannot be seeded"


def test_the_audit_plays_with_public_tables_only():
    assert not core_modules(FILES["audit"]) & {"tables", "store", "publish", "truth", "samples"}
    users = {name for name, path in FILES.items() if "audit" in core_modules(path)}
    assert users <= {"cli", "cli.audit"}, "the planted bug is out of reach of every run and release"


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def test_only_run_compares_a_release_with_the_truth():
    assert {name for name, path in FILES.items() if "metrics" in core_modules(path)} == {"truth", "run", "diagnosis"}
    assert {name for name, path in FILES.items() if "truth" in core_modules(path)} == {"run"}
    touching = {
        name
        for name, path in FILES.items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr == "answers_of_rows" and not name.startswith("workloads")
    }
    # Releases answer from their own synthetic rows, which are public.
    assert touching == {"privacy.statistics", "privacy.curator", "truth", "run", "diagnosis", "releases"}
    both = {n for n, p in FILES.items() if "releases" in core_modules(p) and "Rows" in {x for _, x in imports(p)}}
    assert both <= {"truth", "run", "publish", "diagnosis", "pool"}


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("privacy")])
def test_the_audit_is_small_and_knows_no_algorithm_table_or_page(name):
    assert not core_modules(FILES[name]) & {"releases", "problems", "theory", "metrics", "run", "tables", "schema"}
    own = {"privacy.conversions": {"dp_accounting"}, "privacy.exact": {"opendp"}}.get(name, set())
    assert packages(FILES[name]) <= {*sys.stdlib_module_names, "numpy", "scipy", "dpcore", *own}


@everywhere
def test_the_core_knows_nothing_of_the_page(name):
    assert not packages(FILES[name]) & {"streamlit", "plotly", "altair", "pages", "app", "tests"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_knows_algorithms_by_their_key_and_never_a_curator(name):
    modules = core_modules(PAGES[name])
    assert not {m for m in modules if m.startswith("algorithms.")} - {"algorithms.base"}
    assert not modules & {"privacy.curator", "privacy.mechanisms", "privacy.statistics", "privacy.ledger", "metrics"}
    from_registry = {n for module, n in imports(PAGES[name]) if module == "dpcore.algorithms"}
    assert from_registry <= {"ALGORITHMS", "registered_name", "solving", "base"}


@everywhere
def test_promises_are_raised_not_asserted(name):
    assert not [node.lineno for node in ast.walk(tree(FILES[name])) if isinstance(node, ast.Assert)]


@everywhere
def test_noise_comes_from_a_generator_that_was_passed_in(name):
    assert "random" not in packages(FILES[name])
    used = {
        node.attr
        for node in ast.walk(tree(FILES[name]))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random")
    }
    assert used <= {"Generator", "default_rng", "SeedSequence"}
    made = [node for node in ast.walk(tree(FILES[name])) if isinstance(node, ast.Call) and _is_maker(node)]
    assert all(call.args for call in made) or name == "publish", "explore mode is seeded"
    assert not made or not name.startswith(("privacy", "algorithms"))


def _is_maker(node: ast.Call) -> bool:
    return ast.unparse(node.func).endswith(("default_rng", "SeedSequence"))


@everywhere
def test_nothing_is_printed_outside_the_command_line(name):
    printed = [node.lineno for node in ast.walk(tree(FILES[name])) if _calls(node, "print")]
    assert not printed or name.startswith("cli")


@pytest.mark.parametrize("path", [*FILES.values(), *PAGES.values()], ids=[*FILES, *PAGES])
def test_a_file_fits_two_screens_and_says_what_lives_there(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    assert not text or ast.get_docstring(tree(path))


def test_the_reader_of_imports_sees_relative_and_nested_ones(tmp_path, monkeypatch):
    """Test the tester: a method that breaks the walls in every spelling."""
    path = CORE / "algorithms" / "imagined.py"
    source = (
        "from ..domain import Rows\ndef f():\n    from .. import run\n    import streamlit.web\n    assert curator.rows"
    )
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self, **kw: source if self == path else real(self, **kw))
    assert imports(path) == {("dpcore.data.domain", "Rows"), ("dpcore", "run"), ("streamlit.web", "")}
    assert core_modules(path) == {"domain", "run"}
    assert packages(path) == {"dpcore", "streamlit"}
