"""The three walls and the order of the house, read off the source: nothing is imported or run here.

Every rule is a function over the source. It finds nothing in the project, and finds each breach
that is planted in a copy. The names that the rules go by, in `house_rules`, `trusted_lines` and
`source_rules`, exist.
"""

import ast
import re
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter

from tests import house_rules
from tests.rule_controls import cases, rule
from tests.small_problems import parametrize
from tests.source_map import Source, room
from tests.source_rules import ASKED, HOLDING, find_breaches
from tests.trusted_lines import CURATOR, CURATOR_CLASS, RESTS_ON, modules_of, summary, trusted

SOURCE = Source.real()


def dpcore(module, text):
    """A breach: a text at the end of a module of dpcore, which is new where there is none of this
    name.
    """
    return {SOURCE.core.get(module, f"dpcore/{module.replace('.', '/')}.py"): text}


def imported(module, name):
    """A line that imports a name of a module of dpcore."""
    return f"from dpcore.{module} import {name}"


def algorithms(source):
    names = [name for name in source.core if room(name) == house_rules.ALGORITHMS]
    apart = house_rules.NO_ALGORITHM_FOLDER
    return [
        name
        for name in names
        if not name.startswith(apart) and name not in house_rules.NO_ALGORITHM
    ]


@rule(
    dpcore("core.errors", "from ..schema import domain"),
    dpcore("data.planted", "from ..privacy import curator"),
)
def a_file_imports_only_files_that_stand_before_it(source):
    for name in source.core.keys() - {house_rules.PACKAGE}:
        for other in {room(other) for other in source.needs(name)} - {room(name)}:
            if house_rules.ORDER.index(other) > house_rules.ORDER.index(room(name)):
                yield f"{name} imports {other}"


@rule(
    {f"dpcore/planted{i}.py": "'''One.'''" for i in range(house_rules.MAX_FILES_AT_THE_TOP)},
    {f"{house_rules.UI_ROOT}/planted.py": "'''One.'''"},
)
def the_top_of_the_house_is_small(source):
    top = [
        path
        for path in source.texts
        if path.endswith(".py") and path.rpartition("/")[0] == "dpcore"
    ]
    if len(top) > house_rules.MAX_FILES_AT_THE_TOP:
        yield from top
    yield from (path for path in source.pages if path.rpartition("/")[0] == house_rules.UI_ROOT)


@rule(
    {f"dpcore/core/planted{i}.py": "'''One.'''" for i in range(house_rules.MAX_FILES_IN_A_FOLDER)}
)
def a_folder_holds_few_files(source):
    paths = [path for path in source.texts if path.endswith(".py")]
    counts = Counter(path.rpartition("/")[0] for path in paths)
    yield from (
        folder for folder, count in counts.items() if count > house_rules.MAX_FILES_IN_A_FOLDER
    )


@rule(
    dpcore("privacy.curators.table_curator", "from . import curator_of_problem"),
    {**dpcore("data.one", "from . import two"), **dpcore("data.two", "from . import one")},
)
def imports_make_no_circle(source):
    graph = {name: source.needs(name) - {name} for name in source.core}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        yield str(error.args[1])


@rule(
    dpcore("algorithms.planted", imported(*house_rules.ROWS)),
    dpcore("algorithms.planted", "from ..data.readers import read"),
    dpcore("algorithms.planted", imported("evaluation.run", "compare")),
    dpcore("algorithms.planted", "from ..privacy import mechanisms"),
    dpcore("algorithms.algorithm", "import pandas"),
)
def algorithms_cannot_reach_records(source):
    for name in algorithms(source):
        path = source.core[name]
        modules = source.needs(name)
        if {n for _, n in source.imports(path)} & {house_rules.ROWS[1], *house_rules.TRUTH}:
            yield f"{name} names rows or the truth"
        reached = {room(module) for module in modules} & house_rules.UNREACHED_BY_ALGORITHMS
        if reached or house_rules.MECHANISMS in modules:
            yield f"{name} reaches data"
        if "pandas" in source.packages(path):
            yield f"{name} imports pandas"


@rule(dpcore("algorithms.planted", "def steps(curator):\n    return curator._rows"))
def algorithms_use_the_verbs_of_a_curator_and_nothing_else(source):
    for name in algorithms(source):
        yield from (f"{name}, {found}" for found in find_breaches(source.module(name)))


def methods(source):
    """The public methods of all curators of a problem, by name, and the classes."""
    modules = [house_rules.BASE_CURATOR[0], *house_rules.CURATORS.values(), CURATOR]
    holders = [
        n for name in set(modules) for n in source.module(name).body if isinstance(n, ast.ClassDef)
    ]
    inside = [n for holder in holders for n in holder.body if isinstance(n, ast.FunctionDef)]
    return {n.name: n for n in inside if not n.name.startswith("_")}, holders


VERB = "class Planted:\n    def give_rows(self):\n        return 1"
USE = "class Planted:\n    def _use(self):\n        return self.budget_meter"


@rule(
    dpcore(house_rules.CURATORS["TableCurator"], VERB),
    dpcore(house_rules.CURATORS["RiskCurator"], USE),
)
def the_verbs_are_those_of_the_curator(source):
    public, holders = methods(source)
    yield from {name for name, node in public.items() if not node.decorator_list} ^ ASKED
    shown = {name for name, node in public.items() if node.decorator_list}
    uses = (n for holder in holders for n in ast.walk(holder) if isinstance(n, ast.Attribute))
    # The curator would charge, and count in, a copy of the others.
    yield from {n.attr for n in uses if ast.unparse(n.value) == "self"} & shown - {"effective_n"}


def test_mistakes_in_a_file_of_algorithms_are_found_and_honest_code_is_not():
    """Test the tester: each line stands in the `steps` of a method."""
    method = (
        "class Mine:\n    def steps(self, problem, plan, curator, rng):\n        {}\ndef "
        "f(other: TableCurator): {}"
    )
    for line in (
        *(
            "curator.effective_n",
            "curator._rows",
            "c = curator",
            "ask = curator.measure",
            "self.c = curator",
        ),
        *(
            "del curator.effective_n",
            "f = lambda c=curator: c",
            "def f(): return curator",
            "[c for c in [curator]]",
        ),
        *(
            "TableCurator(1)",
            "getattr(problem, 'x')",
            "x = np.fromfile('t.csv')",
            "problem.n = 3",
            "plan.budget._x",
        ),
        *(
            "problem.workload.answers_of_rows(rows)",
            "import pandas",
            "from scipy.stats import norm",
            "open('x')",
        ),
        *(
            "from ...privacy.curators import curator",
            "from ..privacy.curators.risk_curator import SAMPLERS",
            "from ..models import _x",
        ),
        "from ..privacy.curators import column_curator",
    ):
        assert find_breaches(ast.parse(method.format(line, "pass"))), line
    assert find_breaches(ast.parse(method.format("pass", "other.unit")))
    for line in (
        *(
            "x = curator.measure(problem, plan)",
            "self._mine(1, who=curator)",
            "self.x, self._y = 1, 2",
        ),
        *(
            "[curator.select(q, plan) for q in x if curator.can_afford(q)]",
            "from ...privacy.curators.table_curator import TableCurator",
        ),
        *("yield from self.inner.steps(problem, plan, curator, rng)", "import numpy as np"),
    ):
        assert not find_breaches(ast.parse(method.format(line, "other.select(1, 2)"))), line


# A curator that needs an algorithm or the truth would make these part of what a release rests on.
@rule(
    dpcore(house_rules.CURATORS["PointCurator"], "from ...algorithms import algorithm"),
    dpcore("data.sources.limited_rows_source", "from ...evaluation import truth"),
    dpcore(
        house_rules.COLUMN_CURATOR[0],
        "from ...algorithms.schema_measurement import measurement_plan",
    ),
)
def what_a_release_rests_on_needs_no_algorithm_and_no_page(source):
    for problem in RESTS_ON:
        for name in source.reach(*modules_of(problem)):
            if room(name) in house_rules.UNTRUSTED or name in house_rules.UNTRUSTED_MODULES:
                yield f"{problem}: {name}"


@rule(
    dpcore("models.planted", imported(*house_rules.ROWS)),
    dpcore("release.planted", imported(house_rules.CURATORS["RiskCurator"], "RiskCurator")),
)
def rows_and_curators_are_named_by_those_who_bring_them(source):
    naming = source.naming(house_rules.ROWS[1]) - {house_rules.PACKAGE} - house_rules.HOLDER_MODULES
    yield from set(map(room, naming)) - house_rules.HOLDERS
    # Algorithms name the type.
    allowed = {
        house_rules.CURATOR_OF[0],
        "evaluation.audit.distinguishing_game",
        *algorithms(source),
    }
    yield from source.naming(*house_rules.CURATORS) - allowed


@rule(
    dpcore("evaluation.planted", "make_curator(problem, rows, plan, rng)"),
    dpcore("evaluation.planted", "curators.make_curator(problem, rows, plan, rng)"),
    dpcore("evaluation.planted", "TableCurator(rows, n, plan, rng)"),
    dpcore("release.planted", "column_curator.ColumnCurator(cells, n, plan, rng)"),
)
def only_the_doors_make_a_curator(source):
    yield from source.callers(house_rules.CURATOR_OF[1]) ^ house_rules.DOORS
    yield from source.callers(*house_rules.CURATORS, house_rules.BASE_CURATOR[1]) ^ {
        house_rules.CURATOR_OF[0]
    }
    yield from source.callers(house_rules.COLUMN_CURATOR[1]) ^ house_rules.COLUMN_DOORS


@rule(
    dpcore("evaluation.planted", imported(*house_rules.RAW_CELLS)),
    dpcore("accuracy.planted", "from ..schema import column_texts"),
    dpcore("algorithms.planted", "import dpcore.schema.column_texts"),
)
def raw_cells_are_named_by_those_who_bring_them(source):
    allowed = {house_rules.SCHEMA, house_rules.DATA, house_rules.PRIVACY, house_rules.RELEASE}
    users = source.importers(*house_rules.RAW_CELLS) - {house_rules.MAKES_PUBLIC_CELLS}
    yield from (name for name in users if room(name) not in allowed)


@rule(
    dpcore("release.planted", "from ..evaluation import run"),
    dpcore("release.planted", "from ..evaluation.sweeps.sweep import x"),
    dpcore("release.evidence.card", "from ...data import samples"),
    dpcore("release.publish", "predict_from_release(ready.rows, ready.request.algorithm)"),
)
def a_real_release_never_meets_the_truth(source):
    for name in source.core:
        if room(name) == house_rules.RELEASE:
            for module in source.needs(name) - {house_rules.SIMULATION}:
                if room(module) == house_rules.EVALUATION or module == "data.samples":
                    yield f"{name} imports {module}"
    for name, call in source.nodes(ast.Call):
        if room(name) == house_rules.RELEASE and "predict" in ast.unparse(call.func):
            given = ast.unparse(ast.Tuple([*call.args, *(k.value for k in call.keywords)]))
            if re.search(r"\brows\b", given):
                yield f"{name} gives rows to a simulation"


def is_maker(node):
    """Whether a call makes one of numpy's generators."""
    return ast.unparse(node.func).endswith(("default_rng", "SeedSequence"))


@rule(
    dpcore("release.draw", "noise = np.random.default_rng(1)"),
    dpcore("release.publish", "noise = entropy.generator(b'', 'x')"),
    dpcore("release.draw", "with noise_key.create_key(ledger, rows) as key: pass"),
    dpcore(house_rules.KEYS, "secret = entropy.new_key(7)"),
)
def the_noise_of_a_real_release_cannot_be_seeded(source):
    for name in house_rules.REAL:
        calls = [node for node in ast.walk(source.module(name)) if isinstance(node, ast.Call)]
        yield from (f"{name} makes numpy's generator" for call in calls if is_maker(call))
    yield from (
        source.callers(house_rules.NEW_RELEASE_KEY[1])
        - {house_rules.KEYS}
        - house_rules.MAKES_RELEASE_KEYS
    )
    keys = [node for name, node in source.nodes(ast.Call) if name == house_rules.KEYS]
    keys = [call for call in keys if getattr(call.func, "attr", "") == house_rules.NEW_KEY[1]]
    if len(keys) != 1:
        yield f"{house_rules.KEYS} makes {len(keys)} keys, not one"
    yield from (f"{house_rules.KEYS} passes a seed" for call in keys if call.args or call.keywords)
    for name, call in source.nodes(ast.Call):
        if ast.unparse(call.func) == "entropy.generator" and name != house_rules.KEYS:
            yield f"{name} makes a generator of the operating system's"


@rule(
    dpcore("evaluation.audit.distinguishing_game", "from ...data import readers"),
    dpcore("evaluation.audit.transcript_test", "from ...release import draw"),
    dpcore("evaluation.planted", "from .audit import distinguishing_game"),
)
def the_audit_plays_with_public_tables_only(source):
    for player in house_rules.PLAYERS:
        modules = source.needs(player)
        yield from modules & house_rules.TABLES
        outside = {
            module
            for module in modules
            if module not in house_rules.PLAYERS | house_rules.PLAYERS_HELPERS
        }
        yield from {room(module) for module in outside} & {
            house_rules.EVALUATION,
            house_rules.RELEASE,
        }
        # The planted bug is out of reach of every run and release.
        yield from source.users(player) - house_rules.PLAYERS_USERS


@rule(
    dpcore("cli.planted", "from ..evaluation import metrics"),
    dpcore("evaluation.planted", "from ..evaluation.truth import x"),
    dpcore("release.planted", "x = workload.answers_of_rows(rows)"),
    dpcore("cli.planted", f"{imported(*house_rules.ROWS)}\nfrom ..models.releases import Release"),
)
def only_evaluation_compares_a_release_with_the_truth(source):
    yield from source.users(house_rules.METRICS) ^ house_rules.METRICS_USERS
    yield from source.users(house_rules.TRUTHS) ^ house_rules.TRUTHS_USERS
    asking = {
        name
        for name, node in source.nodes(ast.Attribute)
        if node.attr == house_rules.ANSWERS_OF_ROWS[1]
    }
    yield from {
        name for name in asking if room(name) != house_rules.QUERIES
    } ^ house_rules.READS_ANSWERS_OF_ROWS
    yield from (
        source.users(house_rules.RELEASES) & source.naming(house_rules.ROWS[1])
    ) - house_rules.RELEASES_WITH_ROWS


@rule(
    dpcore("privacy.curators.curator", "from ...data import readers"),
    dpcore("privacy.planted", "from ..problems import QueryRelease"),
    dpcore("privacy.planted", "import pandas"),
    dpcore("privacy.curators.curator", "import randomgen"),
)
def privacy_is_small_and_knows_no_algorithm_table_or_page(source):
    for name in (name for name in source.core if room(name) == house_rules.PRIVACY):
        modules = source.needs(name)
        walled = {house_rules.READERS, house_rules.SCHEMA_FILE, house_rules.RELEASES}
        if name != house_rules.CURATOR_OF[0]:  # which picks one by the kind of problem
            walled |= house_rules.PROBLEM_KINDS
        yield from (f"{name} imports {module}" for module in modules & walled)
        rooms = {house_rules.ACCURACY, house_rules.EVALUATION}
        yield from (f"{name} imports {module}" for module in modules if room(module) in rooms)
        own = house_rules.PACKAGES_OUTSIDE.get(name, "numpy")
        allowed = {*sys.stdlib_module_names, "numpy", "scipy", "dpcore", own}
        yield from (
            f"{name} imports {package}" for package in source.packages(source.core[name]) - allowed
        )


@rule(
    dpcore("core.numbers", "import streamlit"),
    dpcore("evaluation.run", "from tests import helpers"),
)
def the_core_knows_nothing_of_the_page(source):
    for name, path in source.core.items():
        outside = source.packages(path) & {"streamlit", "plotly", "altair", "pages", "app", "tests"}
        yield from (f"{name} imports {package}" for package in outside)


@rule(
    {f"{house_rules.UI_ROOT}/{house_rules.UI[0]}/planted.py": "from ..explore import explore_run"},
    {f"{house_rules.UI_ROOT}/explore/planted.py": "from ..compare import promised_epsilon"},
    {
        f"{house_rules.UI_ROOT}/{house_rules.UI[0]}/planted.py": "from .. import "
        f"{house_rules.UI[1]}"
    },
    {"pages/glossary.py": "from pages._ui.release import release_request"},
)
def what_pages_share_knows_no_page_and_a_folder_serves_its_own(source):
    for path in source.pages:
        parts = path.removesuffix(".py").split("/")
        own = (
            parts[2]
            if parts[:2] == house_rules.UI_ROOT.split("/")
            else {"app": "start"}.get(parts[-1], parts[-1])
        )
        before = (
            house_rules.UI
            if own not in house_rules.UI
            else house_rules.UI[: house_rules.UI.index(own)]
        )
        for module, name in source.imports(path):
            whole = [*module.split("."), name]
            if whole[:2] == house_rules.UI_ROOT.split("/") and whole[2] not in (*before, own):
                yield f"{path} imports {whole[2]}"


@rule(
    {"pages/explore.py": "from dpcore.algorithms.query_release.aim import x"},
    {"pages/data.py": "from dpcore.privacy.curators import table_curator"},
    {"pages/data.py": "from dpcore.privacy.curators.column_curator import ColumnCurator"},
    {"pages/audit.py": "from dpcore.evaluation import metrics"},
    {"pages/audit.py": "from dpcore.privacy.statistics import Answers"},
    {"pages/start.py": "from dpcore.cli import main"},
    {"pages/start.py": "from dpcore.algorithms import Fitting"},
)
def a_page_knows_algorithms_by_their_key_and_never_a_curator(source):
    walled = {f"{house_rules.PRIVACY}.curators.{name}" for name in HOLDING} | {
        house_rules.MECHANISMS,
        house_rules.LEDGER,
        house_rules.METRICS,
    }
    walled |= {name for name in source.core if name.startswith(house_rules.STATISTICS)}
    for path in source.pages:
        modules = source.core_modules(path)
        direct = {
            m for m in modules if m.startswith(f"{house_rules.ALGORITHMS}.")
        } - house_rules.PUBLIC_ALGORITHMS
        direct = {m for m in direct if not m.startswith(house_rules.PUBLIC_ALGORITHM_FOLDER)}
        yield from (f"{path} imports {module}" for module in direct | (modules & walled))
        if house_rules.CLI in {room(module) for module in modules}:
            yield f"{path} imports the command line"
        names = {
            n for module, n in source.imports(path) if module == f"dpcore.{house_rules.ALGORITHMS}"
        }
        yield from (f"{path} imports {name}" for name in names - house_rules.REGISTRY)


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
        if is_maker(node) and (
            not node.args or room(name) in (house_rules.PRIVACY, house_rules.ALGORITHMS)
        ):
            yield f"{name} makes a generator, or one without a seed"
    for name, path in source.core.items():
        if "random" in source.packages(path):
            yield f"{name} imports random"
        if house_rules.ENTROPY in source.needs(name) and name not in house_rules.REAL | {
            house_rules.KEYS
        }:
            yield f"{name} draws what cannot be seeded"


@rule(dpcore("data.planted", "print(1)"))
def nothing_is_printed_outside_the_command_line(source):
    calls = (
        (name, node) for name, node in source.nodes(ast.Call) if isinstance(node.func, ast.Name)
    )
    yield from (
        name for name, node in calls if node.func.id == "print" and room(name) != house_rules.CLI
    )


@rule(
    dpcore("data.planted", "'''Doc.'''" + "\n" * (house_rules.MAX_LINES + 1)),
    dpcore("data.planted", "x = 1"),
    {"pages/planted.py": "x = 1"},
)
def a_file_fits_two_screens_and_says_what_lives_there(source):
    for path in (*source.core.values(), *source.pages):
        text = source.texts[path]
        if len(text.splitlines()) > house_rules.MAX_LINES:
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
    defined = [
        house_rules.ROWS,
        house_rules.RAW_CELLS,
        house_rules.BASE_CURATOR,
        house_rules.COLUMN_CURATOR,
        house_rules.CURATOR_OF,
        house_rules.GENERATOR,
    ]
    defined += [
        (module, name) for name, module in (house_rules.CURATORS | house_rules.TRUTH).items()
    ]
    defined.append((CURATOR, CURATOR_CLASS))
    yield from (one for one in defined if not source.defines(*one))
    modules = (
        house_rules.DOORS
        | house_rules.REAL
        | house_rules.COLUMN_DOORS
        | house_rules.PLAYERS
        | house_rules.PLAYERS_USERS
        | house_rules.TABLES
    )
    modules |= (
        house_rules.METRICS_USERS
        | house_rules.TRUTHS_USERS
        | house_rules.READS_ANSWERS_OF_ROWS
        | house_rules.RELEASES_WITH_ROWS
    )
    modules |= {
        house_rules.MAKES_PUBLIC_CELLS,
        house_rules.METRICS,
        house_rules.TRUTHS,
        house_rules.RELEASES,
        house_rules.SCHEMA_FILE,
        house_rules.READERS,
    }
    modules |= {
        house_rules.ENTROPY,
        house_rules.MECHANISMS,
        house_rules.LEDGER,
        house_rules.STATISTICS,
        *house_rules.PACKAGES_OUTSIDE,
    }
    modules |= house_rules.PUBLIC_ALGORITHMS | {
        f"{house_rules.PRIVACY}.curators.{name}" for name in HOLDING
    }
    modules |= {name for problem in RESTS_ON for name in modules_of(problem)}
    yield from modules - source.core.keys()
    rooms = set(map(room, source.core)) - {house_rules.PACKAGE}
    yield from rooms ^ set(house_rules.ORDER)
    yield from (house_rules.HOLDERS | house_rules.UNTRUSTED) - rooms
    folders = {
        path.split("/")[2] for path in source.pages if path.startswith(f"{house_rules.UI_ROOT}/")
    }
    yield from set(house_rules.UI) - folders
    imported_names = {
        name for path in source.texts if path.endswith(".py") for _, name in source.imports(path)
    }
    yield from house_rules.REGISTRY - imported_names
    methods_of = [node.name for _, node in source.nodes(ast.FunctionDef)]
    yield from {house_rules.ANSWERS_OF_ROWS[1], *ASKED} - set(methods_of)


def test_the_names_that_rules_go_by_exist():
    assert sorted(map(str, missing_names(SOURCE))) == []


@parametrize(
    "module",
    sorted(
        {
            house_rules.RAW_CELLS[0],
            house_rules.CURATOR_OF[0],
            house_rules.METRICS,
            "privacy.minimiser",
        }
    ),
)
def test_a_name_that_is_gone_is_found(module):
    renamed = {path: text for path, text in SOURCE.texts.items() if path != SOURCE.core[module]}
    assert list(missing_names(Source(renamed)))


def test_a_class_of_another_name_is_found():
    text = SOURCE.texts[SOURCE.core[house_rules.RAW_CELLS[0]]].replace(
        f"class {house_rules.RAW_CELLS[1]}", "class Cells"
    )
    assert house_rules.RAW_CELLS in list(
        missing_names(Source(SOURCE.texts | {SOURCE.core[house_rules.RAW_CELLS[0]]: text}))
    )


def derived(source, base):
    """The (module, class) of every class that derives from one of this name, directly or not."""
    classes = source.nodes(ast.ClassDef)
    names = {base}
    found = set()
    for _ in classes:
        more = {
            (m, n.name)
            for m, n in classes
            if {ast.unparse(b).rpartition(".")[2] for b in n.bases} & names
        }
        if more == found:
            break
        found = more
        names = names | {name for _, name in more}
    return found


def test_the_lines_to_trust_count_every_curator():
    """All classes that hold rows are counted, with what brings rows to them; one more line is one
    more.
    """
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
    """The folders that a release rests on, or that read rows beside it, and that the README's "One
    door" leaves out.
    """
    door = source.texts["README.md"].partition("**One door.**")[2].partition("\n- **")[0]
    reached = {name for problem in RESTS_ON for name in source.reach(*modules_of(problem))}
    rooms = {room(name) for name in reached if "." in name} | {house_rules.EVALUATION}
    return {name for name in rooms if f"`{name}`" not in door and f"`dpcore/{name}/`" not in door}


def test_the_readme_names_what_a_release_rests_on():
    assert unnamed_rooms(SOURCE) == set()
    more = SOURCE.with_breach(
        dpcore("data.sources.limited_rows_source", "from ...models import listed_cells")
    )
    assert unnamed_rooms(more) == {"models"}
    less = SOURCE.texts["README.md"].replace("`data`", "data")
    assert unnamed_rooms(Source(SOURCE.texts | {"README.md": less})) == {house_rules.DATA}
    assert "python -m tests.size" in SOURCE.texts["README.md"]
