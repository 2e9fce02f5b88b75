"""Every planted bug is killed by the test that is named beside it, and that test passes where no bug is."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.certificates.mutants.kill import ROOT, copied, plant
from tests.certificates.mutants.planted import MUTANTS, Mutant

README = ROOT / "tests/certificates/mutants" / "README.md"
HEAD = """# Planted bugs

Every class of errors that libraries for differential privacy are known for, planted one at a time in a copy of
`dpcore/privacy/` and `dpcore/publishing/`, never in the checkout itself. Each has to make the test fail that is named
beside it; with no bug planted all of these tests pass. `planted.py` holds the bugs, `kill.py` runs them
(`python -m tests.certificates.mutants.kill ["a bug" ...]`), `test_mutants.py` says whether they were killed, among the
certificates, and that this table is that of `planted.py`
(`python -m tests.certificates.mutants.test_mutants` writes it).

| class | bug | planted in | killed by |
|---|---|---|---|
"""


def readme() -> str:
    """The table of all bugs and their killers."""
    lines = []
    for name, m in MUTANTS.items():
        path, test = m.killer.split("::")
        lines.append(f"| {m.kind} | {name} | `{m.file}` | `{test}` in `{path.removeprefix('tests/')}` |\n")
    return HEAD + "".join(lines)


@pytest.fixture(scope="module")
def codes() -> dict[str, tuple[int, str]]:
    """What pytest returned for every killer, and what it said; "" stands for all of them with no bug."""
    command, limits = (
        [sys.executable, "-m", "tests.certificates.mutants.kill"],
        {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | limits, timeout=3600)
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: (code, said) for name, code, said in map(json.loads, done.stdout.splitlines())}


def test_with_no_bug_all_killers_pass(codes):
    assert codes[""][0] == 0, codes[""][1]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_killed(codes, name):
    code, said = codes[name]
    assert code == 1, f"its killer ended with {code}: {said}"


def test_a_bug_that_is_none_survives():
    """Test the tester: a change of a comment is killed by nothing."""
    code = (
        "import tests.certificates.mutants.kill as k, tests.certificates.mutants.planted as p\n"
        "k.MUTANTS = {'x': p.Mutant('', 'privacy/exact.py', '# grid steps in', '# steps of a grid in', p.P + "
        "'/test_mechanisms.py::test_coins_follow_their_law')}\nk.main()"
    )
    run = [sys.executable, "-c", code]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, env=env, timeout=300)
    assert [json.loads(line)[1] for line in done.stdout.splitlines()] == [0, 0], done.stderr[-2000:]


def test_bugs_go_into_copies_only(tmp_path):
    mutant = next(iter(MUTANTS.values()))
    before = (ROOT / "dpcore" / mutant.file).read_text(encoding="utf-8")
    plant(copied(tmp_path), mutant)
    assert mutant.new in (tmp_path / "dpcore" / mutant.file).read_text(encoding="utf-8")
    assert (ROOT / "dpcore" / mutant.file).read_text(encoding="utf-8") == before
    with pytest.raises(ValueError, match="found 0 times"):
        plant(tmp_path, Mutant("", mutant.file, "no such text", "", ""))


def test_the_rooms_are_those_of_privacy_and_of_releases():
    assert {m.file.split("/")[0] for m in MUTANTS.values()} == {"privacy", "publishing"}
    assert len({m.kind for m in MUTANTS.values()}) >= 18
    for m in MUTANTS.values():
        path, test = m.killer.split("::")
        assert re.search(rf"^def {test}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), m.killer


def test_the_readme_lists_every_bug_and_its_killer():
    assert README.read_text(encoding="utf-8") == readme()


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
