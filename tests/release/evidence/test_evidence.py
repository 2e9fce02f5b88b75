"""Forged evidence: each field of a genuine release changed and signed anew, odd files, and hostile
modules.
"""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cryptography
import pytest

from dpcore import read_json
from dpcore.release.evidence import json_claims, recount, verifier
from dpcore.release.evidence import release_folder as folders
from dpcore.release.evidence.standalone_verifier import VERIFIER_SOURCE
from dpcore.release.ledger.signing import load_signing_key
from tests.cli.command_files import people_table, write_files
from tests.cli.test_release import order
from tests.small_problems import (
    categorical,
    module_fixture,
    numeric,
    parametrize,
    private,
    run_command,
    seeded,
    write_json,
)

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(Path(cryptography.__file__).parents[1]),
}
SOUND = "sound: this release is as its owner signed it"


def released(place, out, algorithm, *more, ledger="l", delta="1e-6", total=None, **changes):
    paths = {
        "schema": place / "s.json",
        "ledger": place / f"{ledger}.sqlite",
        "table": str(place / "t.csv"),
    } | changes
    given = {"queries": "marginals:2", "delta": delta, "total": total}
    run_command(order(place / out, "--rows=20", *more, algorithm=algorithm, **(given | paths)))


@module_fixture
def made(tmp_path_factory):
    """Releases of several kinds: the second of a data set, δ = 0, optimal composition, people, a
    measured schema.
    """
    place = tmp_path_factory.mktemp("kinds")
    write_files(place)
    released(place, "first", "mwem", epsilon=0.3, total=("3", "1e-6"))
    released(place, "second", "gaussian_maxent", epsilon=0.4)
    released(place, "pure", "mwem", epsilon=0.3, ledger="pure", delta="0", total=("1", "0"))
    released(place, "draws", "dqrs", epsilon=0.5, ledger="draws", total=("9", "1e-5"))
    frame = people_table(2000)
    frame["id"] = seeded(1).integers(0, 900, len(frame))
    frame.to_csv(place / "p.csv", index=False)
    write_json(
        place / "p.json",
        {
            "columns": {
                "sex": categorical("f", "m"),
                "pay": numeric(0, 5000, 4, out_of_range="clip"),
            }
        },
    )
    person = ["--person=id", "--most-rows=3", "--count=rows", "--neutralize"]
    path = {"table": str(place / "p.csv"), "schema": place / "p.json"}
    released(place, "person", "residual", *person, ledger="person", total=("3", "1e-6"), **path)
    once = ["--person=id", "--most-rows=3"]
    released(place, "people", "residual", *once, ledger="people", total=("3", "1e-6"), **path)
    write_json(
        place / "m.json",
        {"columns": {"sex": categorical("f", "m"), "pay": private("numeric", bins=4)}},
    )
    path = {"table": str(place / "p.csv"), "schema": place / "m.json"}
    released(place, "measured", "mwem", epsilon=2, ledger="measured", total=("9", "1e-6"), **path)
    return place


KINDS = ("second", "pure", "draws", "person", "people", "measured")


def relinked(folder, account, facts):
    """Write both files as a forger would: linked and signed anew, and each agreeing with the other
    where it can.
    """
    previous = ""
    try:
        for row in [account["opened"], *account["releases"]]:
            row.pop("link", None)
            row["link"] = previous = verifier.link(previous, row)
        opened = account["opened"]
        last = account["releases"][-1]
        facts["ledger"].update(
            {"id": opened["ledger"], **{name: last[name] for name in ("entry", "hash", "link")}}
        )
        facts["dataset"]["spent"].update(
            {"epsilon": last["total_epsilon"], "delta": opened["delta"]}
        )
        facts["dataset"]["total"].update({"epsilon": opened["epsilon"], "delta": opened["delta"]})
        facts["dataset"].update({name: opened[name] for name in ("accounting", "failure")})
        facts["time"] = last["time"]
        facts["schema_sha256"] = folders.hashlib.sha256(
            json.dumps(facts["schema"], sort_keys=True).encode()
        ).hexdigest()
    except (KeyError, TypeError, IndexError, AttributeError):
        pass  # what was changed holds these no more
    for name, content in (("account.json", account), ("release.json", facts)):
        (folder / name).write_text(
            json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
    load_signing_key(folder.with_name("forger")).sign(folder)


def wrong(folder):
    """The checks that fail, but for that of the pages, which a forger writes anew."""
    return {
        name: words
        for holds, name, words in verifier.run_checks(folder)
        if not holds and name != "documents"
    }


def leaves(value, path=()):
    """Every value of a JSON file that is no list and no object, with its path."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path, value


def objects(value, path=()):
    """Every object of a JSON file, with its path."""
    if isinstance(value, dict):
        yield path, value
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from objects(value[key], (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def put(files, path, value):
    at(files, path[:-1])[path[-1]] = value


# What is the owner's word alone, as no file shows it; verify.py says so. Of numbers of the same
# kind in other places.
DECLARED = [
    r"facts/dataset/(version|name)",
    r"facts/protects/(records|rows_per_person)",
    r"facts/plan/choices/\d+/\w+",
    r"facts/made_by/\w+",
    r"facts/queries/asked/\d+",
    r"facts/schema/.*",
    r"facts/measured/.*",
    r"facts/reason",
    r"facts/versions/.*",
    r"facts/bounds",
    r"facts/utility/predicted/.*",  # by simulation, which no file repeats
    r"facts/protects/unit",
    r"account/opened/(ledger|epsilon)",
    r"account/releases/\d+/(entry|hash|time)",
    # of an earlier release: a weaker promise than the one that it kept
    r"account/releases/0/(epsilon|delta)",
]
# What the parts that agree with each other are overwritten with, so that a change of it does not
# stay
REPLACED = [
    r"facts/(ledger|dataset/spent|dataset/total)/.*",
    r"facts/dataset/(accounting|failure)",
    r"facts/time",
    r"facts/schema_sha256",
    r"account/(opened|releases/\d+)/link",
]


def is_in(path, patterns):
    written = "/".join(map(str, path))
    return any(re.fullmatch(pattern, written) for pattern in patterns)


def changed_numbers(value):
    """Numbers that a number may be changed to, far enough from it to matter."""
    more = {value * 1.1, value * 0.9, value * 2, value / 2}
    if isinstance(value, int):
        more = {value + 1, value - 1, value * 2}
    return [number for number in more if number != value]


NEVER = [float("nan"), float("inf"), -1, True, None, "1", [], {}, 10**400]  # in place of any number
# Numbers that may be anything else too: settings, and the values and bounds of columns
LOOSE = [r"facts/plan/choices/\d+/value", r"facts/schema/.*"]


@parametrize("kind", KINDS)
def test_no_number_of_a_release_can_be_changed_unseen(made, tmp_path, kind):
    """One by one, signed and linked anew; but for those that no file shows."""
    folder = shutil.copytree(made / kind, tmp_path / kind)
    files = {
        "facts": read_json(folder / "release.json"),
        "account": read_json(folder / "account.json"),
    }
    relinked(folder, copy.deepcopy(files["account"]), copy.deepcopy(files["facts"]))
    assert not wrong(folder), "a forger's folder without any change"
    unseen = []
    tried = 0
    for path, value in leaves(files):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or is_in(path, [*REPLACED, *DECLARED]):
            continue
        for other in changed_numbers(value):
            forged = copy.deepcopy(files)
            put(forged, path, other)
            relinked(folder, forged["account"], forged["facts"])
            tried += 1
            if not wrong(folder):
                unseen.append(("/".join(map(str, path)), value, other))
    assert not unseen, "\n".join(map(str, unseen))[:1500]
    assert tried > 60


@parametrize("kind", KINDS)
def test_what_is_no_number_in_its_range_is_refused_in_every_place(made, kind):
    """As the bytes of the file say it: not a number, infinite, negative, huge, or of another kind."""
    names = {
        "facts": ("release.json", json_claims.RELEASE_CHECK),
        "account": ("account.json", json_claims.ACCOUNT_CHECK),
    }
    files = {which: read_json(made / kind / name) for which, (name, _) in names.items()}
    tried = 0
    for path, value in leaves(files):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        name, check = names[path[0]]
        for other in NEVER:
            if is_in(path, LOOSE) and (
                other in (-1, True, None, "1") or (other == 10**400 and "values" in path)
            ):
                continue
            if other is None and path[-1] in (
                "smallest_group",
                "as_exact_as_sample",
                "promised",
            ):  # where nothing is known
                continue
            forged = copy.deepcopy(files)
            put(forged, path, other)
            text = json.dumps(forged[path[0]]).encode()
            with pytest.raises(recount.WrongError):
                check(json_claims.strict_json(text, name), name)
            tried += 1
    assert tried > 200


@parametrize("kind", KINDS)
def test_no_field_can_be_added_left_out_or_said_twice(made, tmp_path, kind):
    folder = shutil.copytree(made / kind, tmp_path / kind)
    files = {
        "facts": read_json(folder / "release.json"),
        "account": read_json(folder / "account.json"),
    }
    unseen = []

    def tries(path, what, change):
        forged = copy.deepcopy(files)
        change(at(forged, path))
        relinked(folder, forged["account"], forged["facts"])
        if not wrong(folder):
            unseen.append(("/".join(map(str, path)), what))

    for path, value in objects(files):
        if not path or path[:3] == ("facts", "schema", "constraints"):
            continue
        tries(path, "more", lambda found: found.update({"more": 1}))
        for name in value:
            if is_in((*path, name), REPLACED) or path == ("facts",) and name == "time":
                continue
            tries(path, name, lambda found, name=name: found.pop(name))
    assert not unseen
    text = json.dumps(files["facts"], ensure_ascii=False, indent=1)
    for field in ('"epsilon": ', '"guess": ', '"records": '):
        (folder / "release.json").write_text(
            text.replace(field, f"{field}0.001, {field}", 1) + "\n"
        )
        write_account(folder, files)
        assert "has a key twice" in str(wrong(folder))


def write_account(folder, files):
    (folder / "account.json").write_text(
        json.dumps(files["account"], ensure_ascii=False, indent=1) + "\n"
    )
    load_signing_key(folder.with_name("forger")).sign(folder)


@parametrize("kind", KINDS)
def test_no_digit_of_a_text_that_is_computed_can_be_changed(made, tmp_path, kind):
    """And words: the accounting, the cost, uses, the neighbours."""
    folder = shutil.copytree(made / kind, tmp_path / kind)
    files = {
        "facts": read_json(folder / "release.json"),
        "account": read_json(folder / "account.json"),
    }
    unseen = []
    for path, value in leaves(files):
        if not isinstance(value, str) or is_in(path, [*REPLACED, *DECLARED]):
            continue
        digit = re.search(r"\d", value)
        other = (
            value[: digit.start()] + str((int(digit[0]) + 1) % 10) + value[digit.end() :]
            if digit
            else value + " "
        )
        forged = copy.deepcopy(files)
        put(forged, path, other)
        relinked(folder, forged["account"], forged["facts"])
        if not wrong(folder):
            unseen.append(("/".join(map(str, path)), value, other))
    assert not unseen, "\n".join(map(str, unseen))[:1500]
    unit = files["facts"]["protects"]["unit"]
    if "at most 3" in unit:
        forged = copy.deepcopy(files)
        forged["facts"]["protects"]["unit"] = unit.replace("at most 3", "at most 9")
        forged["facts"]["protects"]["neighbours"] = forged["facts"]["protects"][
            "neighbours"
        ].replace("most 3", "most 9")
        relinked(folder, forged["account"], forged["facts"])
        assert "claim" in wrong(folder)


@parametrize(
    "text",
    ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" * 5000, '"0.5"', "true", "null", "[]"],
)
@parametrize("field", ["delta", "epsilon", "total_epsilon", "mu", "failure"])
def test_what_is_no_number_in_an_account_is_none(made, tmp_path, field, text):
    """As the bytes of the file, which a forger writes as he likes."""
    folder = shutil.copytree(made / "second", tmp_path / "f")
    content = (folder / "account.json").read_text()
    changed, count = re.subn(rf'("{field}": )[-\d.e]+', rf"\g<1>{text}", content, count=1)
    assert count == 1
    (folder / "account.json").write_text(changed)
    load_signing_key(tmp_path / "forger").sign(folder)
    assert {"fields", "account", "total"} <= wrong(folder).keys()


SHOWN = {  # in which page, what stands there, and what a forger writes in its place
    "epsilon": ("card.html", r"(>ε</bdi></th><td><bdi>)[\d.]+", r"\g<1>0.01"),
    "cost": ("card.html", r"costs <bdi>(.)[^<]*", r"costs <bdi>\g<1>²=0.001"),
    "spent": ("card.html", r"ε = <bdi>[\d.]+", "ε = <bdi>0.001"),
    "hash": ("card.html", r"(SHA-256 of <bdi>answers.csv</bdi></th><td><bdi>)\w", r"\g<1>x"),
    "guess": ("card.html", r"at most [\d.]+ times in 100", "at most 50.1 times in 100"),
    "suspicion": ("card.html", r"rises to [\d.]+%", "rises to 10.1%"),
    "guess in the review": (
        "review.html",
        r"at most [\d.]+ times in 100",
        "at most 50.1 times in 100",
    ),
    "suspicion in the review": ("review.html", r"rises to [\d.]+%", "rises to 10.1%"),
    "epsilon of the proof": ("proof.html", r"≤ [\d.]+ at", "≤ 0.01 at"),
    "epsilon of the registry": ("registry.yaml", r"(      epsilon:) \S+", r"\g<1> 0.01"),
    "delta of the registry": ("registry.yaml", r"(      delta:) \S+", r"\g<1> 1.0e-30"),
    "epsilon of the label": ("label.svg", r"ε = [\d.]+ at", "ε = 0.01 at"),
    "all releases on the label": ("label.svg", r"ε = [\d.]+ of", "ε = 0.01 of"),
    "guess on the label": ("label.svg", r"at most [\d.]+ ", "at most 50.1 "),
    "a script in the label": ("label.svg", "</svg>", "<script>alert(1)</script></svg>"),
    "a handler in the label": ("label.svg", "<text ", '<text onclick="alert(1)" '),
    "a hidden line of the label": ("label.svg", "<text ", '<text opacity="0" '),
    "epsilon for the board": ("board.html", r"ε = [\d.]+ at", "ε = 0.01 at"),
    "all releases for the board": ("board.html", r"ε = [\d.]+ of", "ε = 0.01 of"),
    "suspicion for the board": ("board.html", r"rises to [\d.]+%", "rises to 10.1%"),
    "twice": ("card.html", r"(<table>)", r'\g<1><tr><th scope="row">ε</th><td>0.01</td></tr>'),
    "a script": ("card.html", "</body>", "<script>document.body.innerHTML = ''</script></body>"),
    "an image": ("review.html", "</body>", "<img src=x onerror=alert(1)></body>"),
    "a hidden row": ("card.html", "<tr>", "<tr hidden>"),
    "a comment": ("proof.html", "<table>", "<!-- <table>"),
}


@parametrize("kind", KINDS)
@parametrize("what", SHOWN)
def test_no_number_of_the_promise_differs_on_a_page(made, tmp_path, kind, what):
    folder = shutil.copytree(made / kind, tmp_path / kind)
    name, pattern, other = SHOWN[what]
    content = (folder / name).read_text()
    changed = re.sub(pattern, other, content, count=1)
    assert changed != content, "it stands there"
    (folder / name).write_text(changed)
    load_signing_key(tmp_path / "forger").sign(folder)
    assert {found for holds, found, _ in verifier.run_checks(folder) if not holds} == {"documents"}


# Files that a folder may not hold


def added(folder):
    (folder / "notes.txt").write_text("x")


def module(folder):
    (folder / "hmac.py").write_text("x")


def cache(folder):
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "hmac.cpython-311.pyc").write_bytes(b"x")


def package(folder):
    (folder / "scipy").mkdir()
    (folder / "scipy" / "__init__.py").write_text("x")


def path_file(folder):
    (folder / "x.pth").write_text("import os")


@parametrize("change", [added, module, cache, package, path_file])
def test_a_file_that_no_release_has_is_refused_though_it_is_signed(made, tmp_path, change):
    folder = shutil.copytree(made / "second", tmp_path / "f")
    change(folder)
    load_signing_key(tmp_path / "forger").sign(folder)
    assert "files" in wrong(folder)


@parametrize("kind", KINDS)
def test_a_link_in_place_of_any_file_is_refused_though_it_is_signed(made, tmp_path, kind):
    """Also one that leads to the very same bytes, as these may be others tomorrow."""
    folder = shutil.copytree(made / kind, tmp_path / "f")
    for path in sorted(folder.iterdir()):
        elsewhere = tmp_path / path.name
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
        if path.name != folders.SIGNED:
            load_signing_key(tmp_path / "forger").sign(folder)
        assert wrong(folder), path.name
        path.unlink()
        elsewhere.rename(path)
    load_signing_key(tmp_path / "forger").sign(folder)
    assert not wrong(folder)


def test_the_names_that_a_release_may_hold_are_those_that_are_shown_and_written(made):
    """One list in the verifier, one on the page, and all that the releases here wrote."""
    tomllib = pytest.importorskip("tomllib")
    shown = tomllib.loads(
        (Path(__file__).parents[3] / "pages/_ui/released/downloads.toml").read_text()
    )
    allowed = folders.DATA_FILES | folders.DOCUMENT_FILES | {folders.SIGNED}
    assert shown.keys() == allowed
    written = {path.name for kind in KINDS for path in (made / kind).iterdir()}
    assert written <= allowed
    assert written >= folders.REQUIRED_FILES
    for kind in KINDS:
        assert read_json(made / kind / "release.json")["files"].keys() <= folders.DATA_FILES


# Modules that lie in wait

HOSTILE = """
import posix, sys  # which are built in, so that no other hostile module is in the way
posix.close(posix.open({mark!r} + "/" + {name!r}, posix.O_CREAT | posix.O_WRONLY))
sys.stdout.write("ok   files\\n" + {sound!r} + "\\n")
sys.stdout.flush()
posix._exit(0)
"""


@module_fixture
def imported(made, tmp_path_factory):
    """The names of all modules that a verifier has imported at its end, lazily or not, and a few
    more.
    """
    place = tmp_path_factory.mktemp("imported")
    (place / "verify.py").write_text(VERIFIER_SOURCE, encoding="utf-8")
    code = (
        "import runpy, sys, atexit; sys.argv = sys.argv[1:];"
        "atexit.register(lambda: print('MODULES', *sorted(sys.modules)));"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    ledger = ["--ledger", str(made / "l.sqlite"), "--earlier", str(made / "first")]
    command = [
        sys.executable,
        "-I",
        "-c",
        code,
        str(place / "verify.py"),
        str(made / "second"),
        *ledger,
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    names = {name.partition(".")[0] for name in done.stdout.split("MODULES ")[1].split()} - {
        "__main__"
    }
    assert {
        "hmac",
        "json",
        "argparse",
        "sqlite3",
        "scipy",
        "numpy",
        "cryptography",
        "csv",
        "zipfile",
    } <= names
    return sorted(names | {"sitecustomize", "usercustomize", "gettext", "locale", "threadpoolctl"})


def lay(place, names, mark):
    """Hostile modules of these names in a folder, as files and, every second one, as packages too."""
    for i, name in enumerate(names):
        text = HOSTILE.format(mark=str(mark), name=name, sound=SOUND)
        (place / f"{name}.py").write_text(text)
        if i % 2:
            (place / name).mkdir(exist_ok=True)
            (place / name / "__init__.py").write_text(text)


WAYS = {  # options of Python, more environment, where it runs
    "plain": ([], {}, "/"),
    "isolated": (["-I"], {}, "/"),
    "safe path": ([], {"PYTHONSAFEPATH": "1"}, "/"),
    "in the folder": ([], {}, "folder"),
    "beside the verifier": ([], {}, "own"),
}


@parametrize("way", WAYS)
@parametrize("where", ["folder", "own", "started"])
def test_no_module_is_imported_from_the_folder_from_beside_or_from_where_it_is_started(
    made, imported, tmp_path, way, where
):
    """In the folder hostile modules make it unsound; beside a verifier that is trusted they are not
    looked at.
    """
    options, more, run_in = WAYS[way]
    places = {name: tmp_path / name for name in ("own", "started", "mark")}
    for place in places.values():
        place.mkdir()
    places["folder"] = shutil.copytree(made / "second", tmp_path / "folder")
    key = read_json(places["folder"] / "signature.json")["key"]
    verify = places["own"] / "verify.py"
    verify.write_text(VERIFIER_SOURCE, encoding="utf-8")
    lay(places[where], imported, places["mark"])
    start = places["started"] if where == "started" else places.get(run_in, "/")
    command = [sys.executable, *options, str(verify), str(places["folder"]), "--key", key]
    done = subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT | more, cwd=start, timeout=120
    )
    assert not list(places["mark"].iterdir()), "foreign code ran"
    if where == "folder":
        assert done.returncode == 1
        assert "sound" not in done.stdout
    else:
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[-1] == SOUND


def test_a_verifier_in_the_folder_that_it_judges_says_so_and_judges_nothing(
    made, imported, tmp_path
):
    """Hostile modules or none, by its own path, by a link to it, or with no folder named."""
    folder = shutil.copytree(made / "second", tmp_path / "f")
    mark = tmp_path / "mark"
    mark.mkdir()
    link = tmp_path / "link.py"
    link.symlink_to(folder / "verify.py")
    for hostile in (False, True):
        if hostile:
            lay(folder, imported, mark)
        for command in (
            [folder / "verify.py", folder],
            [link, folder],
            [folder / "verify.py"],
            ["verify.py", "."],
        ):
            done = subprocess.run(
                [sys.executable, *map(str, command)],
                capture_output=True,
                text=True,
                env=ENVIRONMENT,
                cwd=folder,
            )
            assert done.returncode == 2
            assert done.stdout == ""
            assert "Traceback" not in done.stderr
            if len(command) > 1:
                assert "lies in the folder that it is to judge" in done.stderr
    assert not list(mark.iterdir())


def test_the_verifier_stands_alone():
    """It imports nothing of the program, and no name in it is defined twice."""
    ast = pytest.importorskip("ast")
    parsed = ast.parse(VERIFIER_SOURCE)
    defined = [
        node.name for node in parsed.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    for node in parsed.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined += [
                name.id
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            ]
    assert len(defined) == len(set(defined))
    assert not [
        node for node in ast.walk(parsed) if isinstance(node, ast.ImportFrom) and node.level
    ]
    first = next(
        node for node in parsed.body if isinstance(node, ast.Import | ast.ImportFrom | ast.If)
    )
    assert ast.unparse(first) == "import sys"
    guard = parsed.body[parsed.body.index(first) + 1]
    assert isinstance(guard, ast.If), "the path is cleaned before anything else is imported"
    assert "sys.path" in ast.unparse(guard)
