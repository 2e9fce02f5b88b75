"""The three walls and the order of the house, read off the source: nothing is imported or run here.

Every rule is a function over the source. It finds nothing in the project, and finds each breach that is planted in a
copy. The names that the rules go by, in `house`, `trust` and `walls`, exist.
"""

import ast
import sys
from graphlib import CycleError, TopologicalSorter

from tests import house
from tests.helpers import parametrize
from tests.rules import cases, rule
from tests.source import Source, room
from tests.trust import CURATOR, CURATOR_CLASS, RESTS_ON, modules_of, summary, trusted
from tests.walls import ASKED, HOLDING, breaches

SOURCE = Source.real()


def dpcore(module, text):
    """A breach: a text at the end of a module of dpcore, which is new where there is none of this name."""
    return {SOURCE.core.get(module, f"dpcore/{module.replace('.', '/')}.py"): text}


def imported(module, name):
    """A line that imports a name of a module of dpcore."""
    return f"from dpcore.{module} import {name}"


def algorithms(source):
    return [name for name in source.core if room(name) == house.ALGORITHMS]


@rule(dpcore("errors", "from .types import Array"), dpcore("data.planted", "from ..privacy import curator"))
def a_file_imports_only_files_that_stand_before_it(source):
    for name in source.core.keys() - {house.PACKAGE}:
        for other in {room(other) for other in source.needs(name)} - {room(name)}:
            if house.ORDER.index(other) > house.ORDER.index(room(name)):
                yield f"{name} imports {other}"


@rule(
    {f"dpcore/planted{i}.py": "'''One.'''" for i in range(house.MAX_FILES_AT_THE_TOP)},
    {f"{house.UI_ROOT}/planted.py": "'''One.'''"},
)
def the_top_of_the_house_is_small(source):
    top = [path for path in source.texts if path.endswith(".py") and path.rpartition("/")[0] == "dpcore"]
    if len(top) > house.MAX_FILES_AT_THE_TOP:
        yield from top
    yield from (path for path in source.pages if path.rpartition("/")[0] == house.UI_ROOT)


@rule(dpcore("privacy.table_curator", "from . import curators"), {**dpcore("data.one", "from . import two"),
                                                            **dpcore("data.two", "from . import one")})  # fmt: skip
def imports_make_no_circle(source):
    graph = {name: source.needs(name) - {name} for name in source.core}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        yield str(error.args[1])


@rule(
    dpcore("algorithms.planted", imported(*house.ROWS)),
    dpcore("algorithms.planted", "from ..data.column import Column"),
    dpcore("algorithms.planted", imported("evaluation.run", "compare")),
    dpcore("algorithms.planted", "from ..privacy import mechanisms"),
    dpcore("algorithms.base", "import pandas"),
)
def algorithms_cannot_reach_records(source):
    for name in algorithms(source):
        path, modules = source.core[name], source.needs(name)
        if {n for _, n in source.imports(path)} & {house.ROWS[1], *house.TRUTH}:
            yield f"{name} names rows or the truth"
        if {room(module) for module in modules} & {house.DATA, house.EVALUATION} or house.MECHANISMS in modules:
            yield f"{name} reaches data"
        if "pandas" in source.packages(path):
            yield f"{name} imports pandas"


@rule(dpcore("algorithms.planted", "def steps(curator):\n    return curator._rows"))
def algorithms_use_the_verbs_of_a_curator_and_nothing_else(source):
    for name in algorithms(source):
        yield from (f"{name}, {found}" for found in breaches(source.module(name)))


def methods(source):
    """The public methods of all curators of a problem, by name, and the classes."""
    modules = [house.BASE_CURATOR[0], *house.CURATORS.values(), CURATOR]
    holders = [n for name in set(modules) for n in source.module(name).body if isinstance(n, ast.ClassDef)]
    inside = [n for holder in holders for n in holder.body if isinstance(n, ast.FunctionDef)]
    return {n.name: n for n in inside if not n.name.startswith("_")}, holders


VERB = "class Planted:\n    def give_rows(self):\n        return 1"
USE = "class Planted:\n    def _use(self):\n        return self.ledger"


@rule(dpcore(house.CURATORS["TableCurator"], VERB), dpcore(house.CURATORS["RiskCurator"], USE))
def the_verbs_are_those_of_the_curator(source):
    public, holders = methods(source)
    yield from {name for name, node in public.items() if not node.decorator_list} ^ ASKED
    shown = {name for name, node in public.items() if node.decorator_list}
    uses = (n for holder in holders for n in ast.walk(holder) if isinstance(n, ast.Attribute))
    # The curator would charge, and count in, a copy of the others.
    yield from {n.attr for n in uses if ast.unparse(n.value) == "self"} & shown - {"unit"}


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
        "from ..privacy import column_curator",
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


# A curator that needs an algorithm or the truth would make these part of what a release rests on.
@rule(
    dpcore(house.CURATORS["PointCurator"], "from ..algorithms import base"),
    dpcore("data.sources.people", "from ...evaluation import truth"),
    dpcore(house.COLUMN_CURATOR[0], "from ..schemas import plan"),
)
def what_a_release_rests_on_needs_no_algorithm_and_no_page(source):
    for problem in RESTS_ON:
        for name in source.reach(*modules_of(problem)):
            if room(name) in house.UNTRUSTED:
                yield f"{problem}: {name}"


@rule(
    dpcore("models.planted", imported(*house.ROWS)),
    dpcore("publishing.planted", imported(house.CURATORS["RiskCurator"], "RiskCurator")),
)
def rows_and_curators_are_named_by_those_who_bring_them(source):
    # A release of synthetic rows groups them as records are grouped; those rows are public.
    yield from set(map(room, source.naming(house.ROWS[1]))) - {house.PACKAGE} - house.HOLDERS
    # Algorithms name the type.
    allowed = {house.CURATOR_OF[0], "experiments.audit", *algorithms(source)}
    yield from source.naming(*house.CURATORS) - allowed


@rule(
    dpcore("evaluation.planted", "curator_of(problem, rows, plan, rng)"),
    dpcore("evaluation.planted", "curators.curator_of(problem, rows, plan, rng)"),
    dpcore("experiments.planted", "TableCurator(rows, n, plan, rng)"),
    dpcore("publishing.planted", "column_curator.ColumnCurator(cells, n, plan, rng)"),
)
def only_the_doors_make_a_curator(source):
    yield from source.callers(house.CURATOR_OF[1]) ^ house.DOORS
    yield from source.callers(*house.CURATORS, house.BASE_CURATOR[1]) ^ {house.CURATOR_OF[0]}
    yield from source.callers(house.COLUMN_CURATOR[1]) ^ house.COLUMN_DOORS


@rule(
    dpcore("evaluation.planted", imported(*house.RAW_CELLS)),
    dpcore("theory.planted", "from ..data import cells"),
    dpcore("schemas.planted", "import dpcore.data.cells"),
)
def raw_cells_are_named_by_those_who_bring_them(source):
    allowed = {house.DATA, house.PRIVACY, house.PUBLISHING}
    users = source.importers(*house.RAW_CELLS) - {house.MAKES_PUBLIC_CELLS}
    yield from (name for name in users if room(name) not in allowed)


@rule(
    dpcore("publishing.planted", "from ..evaluation import run"),
    dpcore("publishing.planted", "from ..experiments.sweep import x"),
    dpcore("publishing.card", "from ..data import samples"),
)
def a_real_release_never_meets_the_truth(source):
    for name in source.core:
        if room(name) == house.PUBLISHING:
            for module in source.needs(name):
                if room(module) in (house.EVALUATION, house.EXPERIMENTS) or module == "data.samples":
                    yield f"{name} imports {module}"


def is_maker(node):
    """Whether a call makes one of numpy's generators."""
    return ast.unparse(node.func).endswith(("default_rng", "SeedSequence"))


@rule(
    dpcore("publishing.draw", "noise = np.random.default_rng(1)"),
    dpcore("publishing.publish", "noise = entropy.generator(b'', 'x')"),
    dpcore("publishing.draw", "with noise_key.new_key(ledger, rows) as key: pass"),
    dpcore(house.KEYS, "secret = entropy.new_key(7)"),
)
def the_noise_of_a_real_release_cannot_be_seeded(source):
    for name in house.REAL:
        calls = [node for node in ast.walk(source.module(name)) if isinstance(node, ast.Call)]
        yield from (f"{name} makes numpy's generator" for call in calls if is_maker(call))
    yield from source.callers(house.NEW_RELEASE_KEY[1]) - {house.KEYS} - house.MAKES_RELEASE_KEYS
    keys = [node for name, node in source.nodes(ast.Call) if name == house.KEYS]
    keys = [call for call in keys if getattr(call.func, "attr", "") == house.NEW_KEY[1]]
    if len(keys) != 1:
        yield f"{house.KEYS} makes {len(keys)} keys, not one"
    yield from (f"{house.KEYS} passes a seed" for call in keys if call.args or call.keywords)
    for name, call in source.nodes(ast.Call):
        if ast.unparse(call.func) == "entropy.generator" and name != house.KEYS:
            yield f"{name} makes a generator of the operating system's"


@rule(
    dpcore("experiments.audit", "from ..data import readers"),
    dpcore("experiments.transcripts", "from ..publishing import draw"),
    dpcore("evaluation.planted", "from ..experiments import audit"),
)
def the_audit_plays_with_public_tables_only(source):
    for player in house.PLAYERS:
        modules = source.needs(player)
        yield from modules & house.TABLES
        yield from {room(module) for module in modules} & {house.EVALUATION, house.PUBLISHING}
        # The planted bug is out of reach of every run and release.
        yield from source.users(player) - house.PLAYERS_USERS


@rule(
    dpcore("cli.planted", "from ..evaluation import metrics"),
    dpcore("experiments.planted", "from ..evaluation.truth import x"),
    dpcore("publishing.planted", "x = workload.answers_of_rows(rows)"),
    dpcore("cli.planted", f"{imported(*house.ROWS)}\nfrom ..releases import Release"),
)
def only_evaluation_compares_a_release_with_the_truth(source):
    yield from source.users(house.METRICS) ^ house.METRICS_USERS
    yield from source.users(house.TRUTHS) ^ house.TRUTHS_USERS
    asking = {name for name, node in source.nodes(ast.Attribute) if node.attr == house.ANSWERS_OF_ROWS[1]}
    yield from {name for name in asking if room(name) != house.WORKLOADS} ^ house.READS_ANSWERS_OF_ROWS
    yield from (source.users(house.RELEASES) & source.naming(house.ROWS[1])) - house.RELEASES_WITH_ROWS


@rule(
    dpcore("privacy.curator", "from ..data import readers"),
    dpcore("privacy.planted", "from ..problems import QueryRelease"),
    dpcore("privacy.planted", "import pandas"),
    dpcore("privacy.curator", "import randomgen"),
)
def privacy_is_small_and_knows_no_algorithm_table_or_page(source):
    for name in (name for name in source.core if room(name) == house.PRIVACY):
        modules = source.needs(name)
        yield from (f"{name} imports {module}" for module in modules & {house.READERS, house.SCHEMA})
        known = {"problems"} if name == house.CURATOR_OF[0] else set()  # which picks one by the kind of problem
        walled = {"releases", "problems", house.THEORY, house.EVALUATION} - known
        yield from (f"{name} imports {module}" for module in modules if room(module) in walled)
        own = house.PACKAGES_OUTSIDE.get(name, "numpy")
        allowed = {*sys.stdlib_module_names, "numpy", "scipy", "dpcore", own}
        yield from (f"{name} imports {package}" for package in source.packages(source.core[name]) - allowed)


@rule(dpcore("numbers", "import streamlit"), dpcore("evaluation.run", "from tests import helpers"))
def the_core_knows_nothing_of_the_page(source):
    for name, path in source.core.items():
        outside = source.packages(path) & {"streamlit", "plotly", "altair", "pages", "app", "tests"}
        yield from (f"{name} imports {package}" for package in outside)


@rule(
    {f"{house.UI_ROOT}/{house.UI[0]}/planted.py": "from ..explore import run"},
    {f"{house.UI_ROOT}/explore/planted.py": "from ..compare import ask"},
    {f"{house.UI_ROOT}/{house.UI[0]}/planted.py": f"from .. import {house.UI[1]}"},
    {"pages/glossary.py": "from pages._ui.release import request"},
)
def what_pages_share_knows_no_page_and_a_folder_serves_its_own(source):
    for path in source.pages:
        parts = path.removesuffix(".py").split("/")
        own = parts[2] if parts[:2] == house.UI_ROOT.split("/") else {"app": "start"}.get(parts[-1], parts[-1])
        before = house.UI if own not in house.UI else house.UI[: house.UI.index(own)]
        for module, name in source.imports(path):
            whole = [*module.split("."), name]
            if whole[:2] == house.UI_ROOT.split("/") and whole[2] not in (*before, own):
                yield f"{path} imports {whole[2]}"


@rule(
    {"pages/explore.py": "from dpcore.algorithms.fitting import x"},
    {"pages/data.py": "from dpcore.privacy import table_curator"},
    {"pages/data.py": "from dpcore.privacy.column_curator import ColumnCurator"},
    {"pages/audit.py": "from dpcore.evaluation import metrics"},
    {"pages/audit.py": "from dpcore.privacy.statistics import Answers"},
    {"pages/start.py": "from dpcore.cli import main"},
    {"pages/start.py": "from dpcore.algorithms import Fitting"},
)
def a_page_knows_algorithms_by_their_key_and_never_a_curator(source):
    walled = {f"{house.PRIVACY}.{name}" for name in HOLDING} | {house.MECHANISMS, house.LEDGER, house.METRICS}
    walled |= {name for name in source.core if name.startswith(house.STATISTICS)}
    for path in source.pages:
        modules = source.core_modules(path)
        direct = {m for m in modules if m.startswith(f"{house.ALGORITHMS}.")} - house.PUBLIC_ALGORITHMS
        yield from (f"{path} imports {module}" for module in direct | (modules & walled))
        if house.CLI in {room(module) for module in modules}:
            yield f"{path} imports the command line"
        names = {n for module, n in source.imports(path) if module == f"dpcore.{house.ALGORITHMS}"}
        yield from (f"{path} imports {name}" for name in names - house.REGISTRY)


@rule(dpcore("data.planted", "assert 1 + 1 == 2"))
def promises_are_raised_not_asserted(source):
    yield from (f"{name}, line {node.lineno}" for name, node in source.nodes(ast.Assert))


@rule(
    dpcore("data.planted", "np.random.normal(3)"),
    dpcore("evaluation.planted", "np.random.default_rng()"),
    dpcore("privacy.planted", "np.random.default_rng(3)"),
    dpcore("models.planted", "import random"),
    dpcore("evaluation.planted", "from ..privacy import entropy"),
)
def noise_comes_from_a_generator_that_was_passed_in(source):
    for name, node in source.nodes(ast.Attribute):
        harmless = node.attr in ("Generator", "default_rng", "SeedSequence")
        if ast.unparse(node.value) in ("np.random", "numpy.random") and not harmless:
            yield f"{name} uses numpy.random.{node.attr}"
    for name, node in source.nodes(ast.Call):
        if is_maker(node) and (not node.args or room(name) in (house.PRIVACY, house.ALGORITHMS)):
            yield f"{name} makes a generator, or one without a seed"
    for name, path in source.core.items():
        if "random" in source.packages(path):
            yield f"{name} imports random"
        if house.ENTROPY in source.needs(name) and name not in house.REAL | {house.KEYS}:
            yield f"{name} draws what cannot be seeded"


@rule(dpcore("data.planted", "print(1)"))
def nothing_is_printed_outside_the_command_line(source):
    calls = ((name, node) for name, node in source.nodes(ast.Call) if isinstance(node.func, ast.Name))
    yield from (name for name, node in calls if node.func.id == "print" and room(name) != house.CLI)


@rule(
    dpcore("data.planted", "'''Doc.'''" + "\n" * (house.MAX_LINES + 1)),
    dpcore("data.planted", "x = 1"),
    {"pages/planted.py": "x = 1"},
)
def a_file_fits_two_screens_and_says_what_lives_there(source):
    for path in (*source.core.values(), *source.pages):
        text = source.texts[path]
        if len(text.splitlines()) > house.MAX_LINES:
            yield f"{path} is long"
        if text and not ast.get_docstring(source.tree(path)):
            yield f"{path} does not say what it is"


RULES = {name: check for name, (check, _) in cases().items() if name.endswith("-0")}


@parametrize("check", RULES.values(), ids=RULES)
def test_the_project_keeps_to_a_rule(check):
    assert sorted(check(SOURCE)) == []


@parametrize("check, breach", cases().values(), ids=cases())
def test_a_rule_finds_a_planted_breach(check, breach):
    assert list(check(SOURCE.with_breach(breach)))


def missing_names(source):
    """The modules, classes, functions and folders that rules go by and that do not exist."""
    defined = [house.ROWS, house.RAW_CELLS, house.BASE_CURATOR, house.COLUMN_CURATOR, house.CURATOR_OF, house.GENERATOR]
    defined += [(module, name) for name, module in (house.CURATORS | house.TRUTH).items()]
    defined.append((CURATOR, CURATOR_CLASS))
    yield from (one for one in defined if not source.defines(*one))
    modules = house.DOORS | house.REAL | house.COLUMN_DOORS | house.PLAYERS | house.PLAYERS_USERS | house.TABLES
    modules |= house.METRICS_USERS | house.TRUTHS_USERS | house.READS_ANSWERS_OF_ROWS | house.RELEASES_WITH_ROWS
    modules |= {house.MAKES_PUBLIC_CELLS, house.METRICS, house.TRUTHS, house.RELEASES, house.SCHEMA, house.READERS}
    modules |= {house.ENTROPY, house.MECHANISMS, house.LEDGER, house.STATISTICS, *house.PACKAGES_OUTSIDE}
    modules |= house.PUBLIC_ALGORITHMS | {f"{house.PRIVACY}.{name}" for name in HOLDING}
    modules |= {name for problem in RESTS_ON for name in modules_of(problem)}
    yield from modules - source.core.keys()
    rooms = set(map(room, source.core)) - {house.PACKAGE}
    yield from rooms ^ set(house.ORDER)
    yield from (house.HOLDERS | house.UNTRUSTED) - rooms
    folders = {path.split("/")[2] for path in source.pages if path.startswith(f"{house.UI_ROOT}/")}
    yield from set(house.UI) - folders
    imported_names = {name for path in source.texts if path.endswith(".py") for _, name in source.imports(path)}
    yield from house.REGISTRY - imported_names
    methods_of = [node.name for _, node in source.nodes(ast.FunctionDef)]
    yield from {house.ANSWERS_OF_ROWS[1], *ASKED} - set(methods_of)


def test_the_names_that_rules_go_by_exist():
    assert sorted(map(str, missing_names(SOURCE))) == []


@parametrize("module", sorted({house.RAW_CELLS[0], house.CURATOR_OF[0], house.METRICS, "privacy.minimiser"}))
def test_a_name_that_is_gone_is_found(module):
    renamed = {path: text for path, text in SOURCE.texts.items() if path != SOURCE.core[module]}
    assert list(missing_names(Source(renamed)))


def test_a_class_of_another_name_is_found():
    text = SOURCE.texts[SOURCE.core[house.RAW_CELLS[0]]].replace(f"class {house.RAW_CELLS[1]}", "class Cells")
    assert house.RAW_CELLS in list(missing_names(Source(SOURCE.texts | {SOURCE.core[house.RAW_CELLS[0]]: text})))


def derived(source, base):
    """The (module, class) of every class that derives from one of this name, directly or not."""
    classes = source.nodes(ast.ClassDef)
    names, found = {base}, set()
    for _ in classes:
        more = {(m, n.name) for m, n in classes if {ast.unparse(b).rpartition(".")[2] for b in n.bases} & names}
        if more == found:
            break
        found, names = more, names | {name for _, name in more}
    return found


def test_the_lines_to_trust_count_every_curator():
    """All classes that hold rows are counted, with what brings rows to them; one more line is one more."""
    holders = {module for module, _ in derived(SOURCE, CURATOR_CLASS)} - {CURATOR}
    assert holders == {curator for curator, _ in RESTS_ON.values()}
    for problem, line in zip(RESTS_ON, summary(SOURCE), strict=True):
        own, whole = trusted(SOURCE, problem)
        assert 1000 < own < whole
        assert f"{problem}: {whole:,} lines; {own:,} of the curator" in line
        for name in modules_of(problem):
            grown = SOURCE.with_breach({SOURCE.core[name]: "x = 1"})
            assert trusted(grown, problem)[1] > whole


def unnamed_rooms(source):
    """The folders that a release rests on, or that read rows beside it, and that the README's "One door" leaves out."""
    door = source.texts["README.md"].partition("**One door.**")[2].partition("\n- **")[0]
    reached = {name for problem in RESTS_ON for name in source.reach(*modules_of(problem))}
    rooms = {room(name) for name in reached if "." in name} | {house.EVALUATION, house.EXPERIMENTS}
    return {name for name in rooms if f"`{name}`" not in door and f"`dpcore/{name}/`" not in door}


def test_the_readme_names_what_a_release_rests_on():
    assert unnamed_rooms(SOURCE) == set()
    more = SOURCE.with_breach(dpcore("data.sources.people", "from ...models import cells"))
    assert unnamed_rooms(more) == {"models"}
    less = SOURCE.texts["README.md"].replace("`data`", "data")
    assert unnamed_rooms(Source(SOURCE.texts | {"README.md": less})) == {house.DATA}
    assert "python -m tests.size" in SOURCE.texts["README.md"]
