"""The three walls and the order of the house, read off the source: nothing is imported or run here."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "dpcore"
# The rooms of the house, in their order: a file imports only from its own room and from rooms that stand before it.
ORDER = [
    *("errors", "tags", "params", "data", "workloads", "geometry", "learning", "problems", "releases", "parsing"),
    *("models", "privacy", "theory", "algorithms", "evaluation", "experiments", "publishing", "cli", "__main__"),
]
UI = ("shell", "charts", "jobs")  # what all pages share, in this order; every other folder serves the page of its name
HOLDERS = {"data", "workloads", "releases", "geometry", "learning", "parsing", "privacy", "evaluation", "experiments"}
HOLDERS |= {"publishing", "cli"}  # the rooms that may name records
PACKAGE = "__init__"  # the public names


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(CORE).with_suffix("").parts).removesuffix(".__init__")


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
    return out - {""}


def packages(path: Path) -> set[str]:
    return {module.split(".")[0] for module, _ in imports(path)}


def room(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize("name", [name for name in FILES if name != PACKAGE])
def test_a_file_imports_only_files_that_stand_before_it(name):
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


@pytest.mark.parametrize("name", METHODS)
def test_algorithms_cannot_reach_records(name):
    path = FILES[name]
    assert not {n for _, n in imports(path)} & {"Rows", "Comparison", "compare", "errors"}
    modules = core_modules(path)
    assert not {room(module) for module in modules} & {"data", "evaluation"}
    assert "privacy.mechanisms" not in modules
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


DOORS = {"evaluation.run", "publishing.publish", "experiments.audit"}


def test_records_are_known_to_the_door_and_to_those_who_bring_them():
    holders = {room(name) for name, path in FILES.items() if "Rows" in {n for _, n in imports(path)}} - {PACKAGE}
    # A release of synthetic rows groups them as records are grouped; those rows are public.
    assert holders <= HOLDERS
    makers = {name for name, path in FILES.items() if ("dpcore.privacy.curator", "Curator") in imports(path)}
    assert makers <= {*DOORS, *METHODS}, "algorithms name the type, run, publish and audit make one"
    calls = {name for name, path in FILES.items() for node in ast.walk(tree(path)) if _calls(node, "Curator")}
    assert calls == DOORS


def test_a_real_release_never_meets_the_truth():
    for name in FILES:
        if room(name) == "publishing":
            assert not {m for m in core_modules(FILES[name]) if room(m) in ("evaluation", "experiments")}
            assert "data.samples" not in core_modules(FILES[name])
    made = [node for node in ast.walk(tree(FILES["publishing.publish"])) if isinstance(node, ast.Call)]
    assert not any(_is_maker(call) for call in made), "numpy's generators are not made to keep secrets"
    made = [call for call in made if ast.unparse(call.func) == "entropy.generator"]
    assert made
    assert not any(call.args or call.keywords for call in made), "its noise cannot be seeded"


def test_the_audit_plays_with_public_tables_only():
    modules = core_modules(FILES["experiments.audit"])
    assert not modules & {"data.readers", "data.samples"}
    assert not {room(module) for module in modules} & {"evaluation", "publishing"}
    users = {name for name, path in FILES.items() if "experiments.audit" in core_modules(path)}
    assert users <= {"cli", "cli.audit"}, "the planted bug is out of reach of every run and release"


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def test_only_evaluation_compares_a_release_with_the_truth():
    users = {name for name, path in FILES.items() if "evaluation.metrics" in core_modules(path)}
    assert users == {"evaluation.truth", "evaluation.run", "evaluation.diagnosis"}
    users = {name for name, path in FILES.items() if "evaluation.truth" in core_modules(path)}
    assert users == {"evaluation.run"}
    touching = {
        name
        for name, path in FILES.items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr == "answers_of_rows" and room(name) != "workloads"
    }
    # Releases answer from their own synthetic rows, which are public.
    inside = {"privacy.statistics.answers", "privacy.curator"}
    assert touching == inside | {f"evaluation.{name}" for name in ("truth", "run", "diagnosis")} | {"releases"}
    both = {n for n, p in FILES.items() if "releases" in core_modules(p) and "Rows" in {x for _, x in imports(p)}}
    allowed = {"evaluation.truth", "evaluation.run", "evaluation.diagnosis", "publishing.publish", "experiments.pool"}
    assert both <= allowed


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("privacy")])
def test_the_audit_is_small_and_knows_no_algorithm_table_or_page(name):
    modules = core_modules(FILES[name])
    assert not modules & {"data.readers", "data.schema"}
    assert not {room(module) for module in modules} & {"releases", "problems", "theory", "evaluation"}
    outside = {"accounting.conversions": "dp_accounting", "exact": "opendp", "entropy": "randomgen"}
    own = {outside.get(name.removeprefix("privacy."), "numpy")}
    assert packages(FILES[name]) <= {*sys.stdlib_module_names, "numpy", "scipy", "dpcore", *own}


@everywhere
def test_the_core_knows_nothing_of_the_page(name):
    assert not packages(FILES[name]) & {"streamlit", "plotly", "altair", "pages", "app", "tests"}


STATISTICS = {name for name in FILES if name.startswith("privacy.statistics")}


@pytest.mark.parametrize("name", PAGES)
def test_what_pages_share_knows_no_page_and_a_folder_serves_its_own(name):
    parts = Path(name).with_suffix("").parts
    own = parts[2] if parts[:2] == ("pages", "_ui") else {"app": "start"}.get(parts[-1], parts[-1])
    for module, imported in imports(PAGES[name]):
        whole = [*module.split("."), imported]
        if whole[:2] == ["pages", "_ui"]:
            folder = whole[2]
            before = UI if own not in UI else UI[: UI.index(own)]
            assert folder in (*before, own), f"{name} imports {folder}"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_knows_algorithms_by_their_key_and_never_a_curator(name):
    modules = core_modules(PAGES[name])
    assert not {m for m in modules if m.startswith("algorithms.")} - {"algorithms.base"}
    walled = {"privacy.curator", "privacy.mechanisms", "privacy.accounting.ledger", "evaluation.metrics", *STATISTICS}
    assert not modules & walled
    assert "cli" not in {room(module) for module in modules}
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
    assert all(call.args for call in made), "explore mode is seeded"
    assert "privacy.entropy" not in core_modules(FILES[name]) or name == "publishing.publish"
    assert not made or room(name) not in ("privacy", "algorithms")


def _is_maker(node: ast.Call) -> bool:
    return ast.unparse(node.func).endswith(("default_rng", "SeedSequence"))


@everywhere
def test_nothing_is_printed_outside_the_command_line(name):
    printed = [node.lineno for node in ast.walk(tree(FILES[name])) if _calls(node, "print")]
    assert not printed or name.startswith("cli")


@pytest.mark.parametrize("path", [*FILES.values(), *PAGES.values()], ids=[*FILES, *PAGES])
def test_a_file_fits_two_screens_and_says_what_lives_there(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assert not text or ast.get_docstring(tree(path))


def test_the_reader_of_imports_sees_relative_and_nested_ones(tmp_path, monkeypatch):
    """Test the tester: a method that breaks the walls in every spelling."""
    path = CORE / "algorithms" / "imagined.py"
    inside = "    from .. import errors\n    import streamlit.web\n    assert curator.rows"
    source = f"from ..data.domain import Rows\ndef f():\n{inside}"
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self, **kw: source if self == path else real(self, **kw))
    assert imports(path) == {("dpcore.data.domain", "Rows"), ("dpcore", "errors"), ("streamlit.web", "")}
    assert core_modules(path) == {"data.domain", "errors"}
    assert packages(path) == {"dpcore", "streamlit"}
