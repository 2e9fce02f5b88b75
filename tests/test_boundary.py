"""The three walls and the order of the house, read off the source: nothing is imported or run here."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.walls import ASKED, BANNED_NAMES, breaches, takers

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


TAKERS = takers(tree(FILES[name]) for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_algorithms_use_the_verbs_of_a_curator_and_nothing_else(name):
    assert breaches(tree(FILES[name]), TAKERS) == []


def test_the_verbs_are_those_of_the_curator():
    (curator,) = (node for node in tree(FILES["privacy.curator"]).body if _is_class(node, "Curator"))
    public = {n.name: n for n in curator.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")}
    assert {name for name, node in public.items() if not node.decorator_list} == ASKED
    shown = {name for name, node in public.items() if node.decorator_list}
    inside = {n.attr for n in ast.walk(curator) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "self"}
    assert inside & shown <= {"unit"}, "of the others the curator would charge, and count in, a copy"


def _is_class(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == name


def steps(body: str, before: str = "", inside: str = "") -> str:
    """A method whose steps are `body`."""
    own = "\n".join(f"        {line}" for line in body.splitlines())
    return f"{before}\nclass Mine:\n{inside}\n    def steps(self, problem, plan, curator, rng):\n{own}\n        yield 1"


HOSTILE = {
    "getattr": steps('getattr(curator, "_Curator" + "__rows")'),
    "getattr by another name": steps('g = getattr\ng(problem, "x")'),
    "a name in a text": steps('x = "_Curator__rows"'),
    "private": steps("curator._rows"),
    "private of another": steps("score._x"),
    "a property": steps("n = curator.unit"),
    "assigned": steps("curator.unit *= 1e12"),
    "an alias assigned": steps("c = curator\nc.unit *= 1e12"),
    "an alias of an alias": steps("c = curator\nd = e = c\ne.unit"),
    "an alias with a private attribute": steps("c = curator\nc._Curator__rows"),
    "deleted": steps("del curator.unit"),
    "a verb kept": steps("ask = curator.measure"),
    "a verb of its class": steps("type(curator).measure(curator, 1, 2)"),
    "the class": steps("x = Curator", "from ..privacy.curator import Curator"),
    "the class by another name": "from ..privacy.curator import Curator as C",
    "a derived class": "from ..privacy.curator import Curator\nclass Mine(Curator): pass",
    "the module": "from ..privacy import curator",
    "another name of its file": "from ..privacy.curator import SAMPLERS",
    "a lambda": steps("f = lambda c: c.unit\nf(curator)"),
    "a default": steps("f = lambda c=curator: c.unit"),
    "a default of a function": steps("def f(c=curator): return c.unit"),
    "walrus": steps("(c := curator).unit"),
    "walrus in a condition": steps("if (c := curator): c.unit"),
    "unpacked": steps("c, _ = curator, 1\nc.unit"),
    "starred": steps("[*c] = [curator]\nc[0].unit"),
    "a comprehension": steps("[c.unit for c in [curator]]"),
    "a loop": steps("for c in (curator,): c.unit"),
    "a dictionary": steps("d = {1: curator}\nd[1].unit"),
    "kept on self": steps("self.c = curator"),
    "returned": steps("def f(): return curator\nf().unit"),
    "yielded": steps("yield curator"),
    "a condition": steps("(curator if problem else 1).unit"),
    "or": steps("(curator or 1).unit"),
    "with": steps("with curator as c: c.unit"),
    "formatted": steps('f"{curator!r}"'),
    "formatted by a method": steps('"{0._x}".format(curator)'),
    "attrgetter": steps('attrgetter("unit")(curator)', "from operator import attrgetter"),
    "operator": "import operator",
    "partial": steps("partial(print, curator).args[0].unit", "from functools import partial"),
    "partial under the name of a taker": "from functools import partial as _follow",
    "a taker assigned": steps("_follow = [].append\n_follow(problem, plan, curator)"),
    "a taker of another class": steps("self._follow(problem, plan, curator)"),
    "a taker at another place": steps(
        "self._mine(curator, 1)", inside="    def _mine(self, x, curator: Curator): x.unit"
    ),
    "a taker after a star": steps("_follow(*problem, curator)"),
    "a taker kept on self": steps("self._follow = [].append"),
    "match": steps("match curator:\n    case object(unit=u): pass"),
    "a private pattern": steps("match plan:\n    case object(_rows=u): pass"),
    "steps by other names": "class Mine:\n    def steps(self, a, b, c, d): c.unit",
    "steps with stars": "class Mine:\n    def steps(self, *args): args[2].unit",
    "steps as a lambda": "class Mine:\n    steps = lambda self, a, b, c, d: c.unit",
    "steps assigned": "class Mine: pass\nMine.steps = print",
    "steps decorated": "class Mine:\n    @staticmethod\n    def steps(self, problem, plan, curator, rng): pass",
    "a decorated class": "@mine\nclass Mine: pass",
    "a metaclass": "class Mine(metaclass=Other): pass",
    "attributes of its own": "class Mine:\n    def __getattribute__(self, name): pass",
    "a function with a self": "def f(self): self.unit = 1",
    "self assigned": steps("self = curator\nself.unit = 1"),
    "an annotated alias": steps("c: Curator = curator\nc.unit"),
    "a parameter that says so": "def f(c: Curator): return c.unit",
    "a parameter that says so in quotes": 'def f(c: "Curator"): return c.unit',
    "fewer tables": steps("problem.workload.tables = ()"),
    "a smaller width": steps("w = problem.workload\nw.width = 0"),
    "a tampered plan": steps("plan.budget.epsilon = 9"),
    "a patched class": steps("SignedErrors.value = print", "from ..privacy.statistics import SignedErrors"),
    "patched in a loop": steps("for SignedErrors.value in [print]: pass"),
    "frozen no more": steps('object.__setattr__(problem, "n", 1)'),
    "its dictionary": steps("problem.__dict__"),
    "its class": steps("problem.__class__"),
    "a traceback": steps("try: 1\nexcept Exception as e: e.__traceback__.tb_frame"),
    "a frame": steps("x.gi_frame.f_locals"),
    **{f"the builtin {name}": f"{name}(x)" for name in sorted(BANNED_NAMES)},
    **{
        f"the module {name}": f"import {name}"
        for name in [
            "importlib",
            "inspect",
            "gc",
            "sys",
            "ctypes",
            "pickle",
            "os",
            "io",
            "builtins",
            "traceback",
            "types",
            "warnings",
        ]
    },
    "from a module": "from inspect import stack",
    "from importlib": "from importlib import import_module",
    "import by name": '__import__("gc")',
    "builtins": "__builtins__",
    "a file": steps('x = np.fromfile("titanic.csv")'),
    "numpy's errors": steps("np.seterrcall(print)"),
    "everything": "from ..problems import *",
    "a private function": "from ..privacy.ledger import _x",
    "a twin": "from ..workloads import sealed",
    "a wrapper": "from functools import update_wrapper",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=list(HOSTILE))
def test_a_file_that_reaches_past_the_verbs_is_caught(source):
    parsed = ast.parse(source)
    assert breaches(parsed, {**TAKERS, **takers([parsed])})


HONEST = {
    "asked": steps("x = curator.measure(problem, plan)\nif curator.affords(x): curator.select(x, x)"),
    "an alias asked": steps("c = curator\nx = c.measure(problem, plan)"),
    "asked inside": steps("ask = lambda q: curator.measure(q, plan)\n[curator.select(q, plan) for q in x]"),
    "passed on": steps(
        "self._mine(problem, curator)", inside="    def _mine(self, x, who: Curator): who.measure(x, x)"
    ),
    "passed by name": steps("self._mine(1, who=curator)", inside="    def _mine(self, x, *, who: Curator): pass"),
    "another's steps": steps("yield from self.inner.steps(problem, plan, curator, rng)"),
    "state": steps("self.x = 1\nself._y[0] += 2\nx, y = problem.n, self._y"),
}


@pytest.mark.parametrize("source", HONEST.values(), ids=list(HONEST))
def test_a_file_that_asks_is_not(source):
    parsed = ast.parse(source)
    assert breaches(parsed, {**TAKERS, **takers([parsed])}) == []


DOORS = {"evaluation.run", "publishing.publish", "experiments.audit"}
REAL = {"publishing.publish", "publishing.private_schema"}  # they draw what leaves
COLUMN_DOORS = {
    "experiments.schema_transcripts",
    "evaluation.measured",
    "publishing.measured",
    "publishing.private_schema",
}


def test_records_are_known_to_the_door_and_to_those_who_bring_them():
    holders = {room(name) for name, path in FILES.items() if "Rows" in {n for _, n in imports(path)}} - {PACKAGE}
    # A release of synthetic rows groups them as records are grouped; those rows are public.
    assert holders <= HOLDERS
    makers = {name for name, path in FILES.items() if ("dpcore.privacy.curator", "Curator") in imports(path)}
    assert makers <= {*DOORS, *METHODS}, "algorithms name the type, run, publish and audit make one"
    calls = {name for name, path in FILES.items() for node in ast.walk(tree(path)) if _calls(node, "Curator")}
    assert calls == DOORS
    raw = {name for name, path in FILES.items() for node in ast.walk(tree(path)) if _calls(node, "ColumnCurator")}
    assert raw == COLUMN_DOORS
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
        made = [call for call in made if ast.unparse(call.func) == "entropy.generator"]
        assert made
        assert not any(call.args or call.keywords for call in made), "its noise cannot be seeded"


def test_the_audit_plays_with_public_tables_only():
    for player in ("audit", "transcripts", "schema_transcripts"):
        modules = core_modules(FILES[f"experiments.{player}"])
        assert not modules & {"data.readers", "data.samples"}
        assert not {room(module) for module in modules} & {"evaluation", "publishing"}
        users = {name for name, path in FILES.items() if f"experiments.{player}" in core_modules(path)}
        allowed = {"cli", "cli.audit", "experiments.transcripts", "experiments.schema_transcripts"}
        assert users <= allowed, "the planted bug is out of reach of every run and release"


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
    # Releases answer from their own synthetic rows, and a public start from a public table.
    inside = {"privacy.statistics.answers", "privacy.curator"}
    assert touching == inside | {f"evaluation.{name}" for name in ("truth", "run", "diagnosis")} | {
        "releases",
        "problems",
    }
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
    assert not {m for m in modules if m.startswith("algorithms.")} - {"algorithms.base", "algorithms.forecasts"}
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
    assert "privacy.entropy" not in core_modules(FILES[name]) or name in REAL
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
