"""What a page shows of two rows of a person: a map of what follows what, from a release's files."""

import json
from pathlib import Path

import pandas as pd

from dpcore.accuracy.intervals.question_intervals import Interval
from pages._ui.charts import succession_map
from pages._ui.released import released_views, successions
from tests.cli.test_release import released
from tests.small_problems import (
    approx,
    categorical,
    integer,
    parametrize,
    run_command,
    write_json,
)

HOSTILE = 'a" = b \u202e'


def release_files(*time):
    """The files of a release of stays: each third person has one, two or three of them."""
    stays = [(person, ward) for person in range(60) for ward in "xyx"[: 1 + person % 3]]
    frame = pd.DataFrame(stays, columns=pd.Index(["id", HOSTILE]))
    frame["day"] = range(len(stays))
    frame.to_csv("t.csv", index=False)
    write_json("s.json", {"columns": {HOSTILE: categorical("x", "y"), "day": integer(0, 200)}})
    name = HOSTILE.replace('"', '""')
    people = ("--person=id", "--most-rows=3", *time)
    released("out", *people, queries=f'successions:"{name}"', epsilon=50, total=("400", "1e-6"))
    return {path.name: path.read_bytes() for path in Path("out").iterdir()}


@parametrize("time", [("--time-column=day",), ()])
def test_the_map_shows_what_the_command_answers(here, time):
    views = released_views._read_release(release_files(*time))
    cells = successions.succession_cells(
        views.release.domain, HOSTILE, lambda q: released_views.released_interval(views, [q])
    )
    quoted = HOSTILE.replace('"', '""')
    answers = json.loads(run_command("ask out", f'successions:"{quoted}"', "--json"))
    expected = [a for a in answers if "only one row" not in a["question"]]
    assert [cell.interval.estimate for cell in cells] == [a["estimate"] for a in expected]
    assert [cell.interval.low for cell in cells] == [a["low"] for a in expected]
    frame = succession_map.map_frame(cells)
    assert frame[["first", "second"]].to_numpy().tolist() == [
        ["x", "x"],
        ["x", "y"],
        ["y", "x"],
        ["y", "y"],
    ]
    share = 1 / 2 if time else 1 / 6 + 1 / 9
    assert frame["share"][1] == approx(share, abs=0.05)
    assert frame["weak"].tolist() == [not a["low"] for a in expected], (
        "noise decides of those near 0"
    )
    assert not frame["weak"][1]
    assert succession_map.map_sentence(cells).startswith("Most often x → y: ") or not time
    single = successions.single_row_text(
        views.release.domain, HOSTILE, lambda q: released_views.released_interval(views, [q])
    )
    assert single.startswith("With only one row: 3")
    order = successions.order_text(views.release.facts["protects"])
    assert ("by day" in order) == bool(time)


def test_a_map_draws_only_what_is_known_and_names_travel_as_data():
    unknown = Interval("q", None, None, None, None, None, None, 0.95, "cannot be bounded: x")
    cells = [succession_map.SuccessionCell("x", HOSTILE, unknown)]
    assert succession_map.map_frame(cells).empty
    assert succession_map.map_sentence(cells) == "The release does not say what follows what."
    (row,) = succession_map.numbers_frame(cells).to_dict("records")
    assert "\u202e" not in row["then"]
    spec = json.dumps(succession_map.map_spec())
    assert HOSTILE not in spec
    assert "datasets" not in spec
