"""A release that somebody damaged is bad input: `ask` ends with 2 and one line that names the file."""

import os
import shutil

from dpcore import read_json
from dpcore.cli import main
from tests.cli.test_release import release_in
from tests.small_problems import (
    check_command_refused,
    module_fixture,
    parametrize,
    seeded,
    write_json,
)

ODD = [[], -1e308, "\ud800"]


@module_fixture
def whole(tmp_path_factory):
    """A folder with a release of each kind: with weights, and with synthetic rows alone."""
    here = tmp_path_factory.mktemp("releases")
    shutil.copytree(release_in(here), here / "rows")
    (here / "rows" / "weights.parquet").unlink()
    return here


def asked(folder):
    """The exit code of `ask`, whose error is one line that names a file."""
    asking = ["ask", str(folder), "sex = m and age > 21"]
    code = main(asking)
    if code:
        check_command_refused(str(folder), asking)
    return code


@parametrize(
    "kind, name",
    [
        ("out", "release.json"),
        ("out", "tables.npz"),
        ("out", "weights.parquet"),
        ("rows", "synthetic.parquet"),
    ],
)
def test_a_damaged_file_is_named(whole, tmp_path, kind, name):
    folder = tmp_path / "r"
    shutil.copytree(whole / kind, folder)
    assert asked(folder) == 0
    path = folder / name
    content = (whole / kind / name).read_bytes()
    rng = seeded(0)
    for share in (0, 0.001, 0.5, 0.9, 0.999):
        path.write_bytes(content[: int(share * len(content))])
        assert asked(folder) == 2, share
    for _ in range(5):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), 3):
            damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        asked(folder)  # a flipped digit may still be a release; what is not must be named
    for other in ("tables.npz", "release.json", "answers.csv", "card.html"):
        if other != name:
            shutil.copyfile(whole / kind / other, path)
            assert asked(folder) == 2, other
    path.unlink()
    for make in (os.mkfifo, lambda p: os.symlink("/dev/zero", p), os.mkdir):
        make(path)
        assert asked(folder) == 2
        path.rmdir() if path.is_dir() else path.unlink()


def test_odd_facts_are_refused_or_ignored(whole, tmp_path):
    folder = tmp_path / "r"
    shutil.copytree(whole / "out", folder)
    facts = read_json(folder / "release.json")
    for key, value in facts.items():
        inner = (
            [value | {part: ODD[i % 3]} for i, part in enumerate(value)]
            if isinstance(value, dict)
            else []
        )
        for odd in [*ODD, *inner]:
            write_json(folder / "release.json", facts | {key: odd})
            asked(folder)
