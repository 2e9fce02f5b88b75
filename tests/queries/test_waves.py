"""Panels: waves are recognised by their names, and their windows are asked as one text."""

import itertools

import numpy as np
import pandas as pd
import pytest

from dpcore import (
    ALGORITHMS,
    Budget,
    Marginals,
    PrivacyUnit,
    QueryRelease,
    Run,
    domain_from_json,
    limit_rows,
)
from dpcore.evaluation.experiment import Experiment, QueryTask
from dpcore.queries.parse_queries import (
    describe_queries_in_everyday_words,
    read_queries,
    windows_text,
)
from dpcore.queries.waves import recognise_waves, waves_between
from tests.small_problems import expect_error, integer, parametrize, seeded, time_limit

HOSTILE_STEMS = [
    'a"',
    "a..b",
    "a:",
    ".",
    "x.",
    "-- drop,",
    "<b>",
    "windows:y1..y3:3",
    "\n",
    "",
    '""',
]


def panel(*stems, waves=3, size=2):
    """A domain with some waves of each stem."""
    return domain_from_json({f"{stem}{t}": size for stem in stems for t in range(1, waves + 1)})


@parametrize(
    "names, panels",
    [
        (["y1", "y2", "y3"], ["y1 y2 y3"]),
        (["y3", "sex", "y1", "y2"], ["y1 y2 y3"]),
        (["y2", "y3", "y4", "y1"], ["y1 y2 y3 y4"]),
        (["y1234567890", "y1234567891", "y1234567892"], []),
        (["y_1", "y_2", "y_3", "y-2019", "y-2020", "y-2021"], ["y_1 y_2 y_3", "y-2019 y-2020 y-2021"]),
        (["y08", "y09", "y10", "y11"], ["y08 y09 y10 y11"]),
        (["y8", "y9", "y10"], ["y8 y9 y10"]),
        (["y98", "y99", "y100"], ["y98 y99 y100"]),
        (["y0", "y1", "y2"], ["y0 y1 y2"]),
        (["y9", "y09", "y10", "y11"], ["y9 y10 y11"]),  # each column is in one panel
        (["2019", "2020", "2021"], ["2019 2020 2021"]),
        (["y1", "y2"], []),
        (["y1", "y2", "y4"], []),
        (["y1", "y02", "y3"], []),
        (["y1", "Y2", "y3"], []),
        (["y1", "y2", "y3", "y5", "y6", "y7"], ["y1 y2 y3", "y5 y6 y7"]),
        (["y1a", "y2a", "y3a"], []),
        (["y²", "y³", "y١", "y٢", "y٣"], []),
        (["y" + "9" * 5000, "y1" + "0" * 5000, "y1234567890"], []),
        ([], []),
    ],
)  # fmt: skip
def test_panels_are_recognised_by_the_names_of_columns(names, panels):
    assert [" ".join(waves) for waves in recognise_waves(names)] == panels


def test_the_waves_of_a_name_with_spaces_are_recognised():
    assert recognise_waves(["wave 1", "wave 3", "wave 2"]) == (("wave 1", "wave 2", "wave 3"),)


def test_windows_are_the_tables_of_neighbouring_waves():
    domain = panel("y", waves=12)
    workload = read_queries(["windows:y2..y11:3"], domain)[0]
    assert isinstance(workload, Marginals)
    assert workload.columns == tuple((f"y{t}", f"y{t + 1}", f"y{t + 2}") for t in range(2, 10))
    assert read_queries(["windows:y4..y4:1"], domain)[0].columns == (("y4",),)
    assert read_queries(["windows:y1..y12:12"], domain)[0].columns == (domain.names,)


def test_zeros_in_front_of_a_number_are_kept():
    domain = domain_from_json({f"y{t:02d}": 2 for t in range(8, 13)} | {"y9": 2})
    assert waves_between(domain, "y08", "y12") == ("y08", "y09", "y10", "y11", "y12")
    assert waves_between(domain, "y9", "y12") == ("y9", "y10", "y11", "y12")


@parametrize("stem", HOSTILE_STEMS)
def test_any_name_can_be_written_and_read_again(stem):
    domain = panel(stem)
    (waves,) = recognise_waves(domain.names)
    text = windows_text(waves, 2)
    assert read_queries([text], domain)[0].columns == (waves[:2], waves[1:])


@parametrize(
    "text, message",
    {
        "windows:y0..y3:3": "there is no column 'y0'",
        "windows:y1..y9:3": "there is no column 'y9'",
        "windows:y1..z3:3": "'y1' and 'z3' are not waves of one thing",
        "windows:y3..y1:3": "the wave 'y1' comes before 'y3'",
        "windows:y1..y3:4": "windows of 4 waves: outside 1..3",
        "windows:y1..y3:0": "windows of 0 waves: outside 1..3",
        "windows:sex..y3:3": "the column 'sex' is no wave",
        "windows:y1..sex:3": "the column 'sex' is no wave",
        "windows:y1..y6:3": "the wave 'y4' between 'y1' and 'y6' is no column",
        "windows:y1..y999999999:3": "the wave 'y4' between 'y1' and 'y999999999' is no column",
        "windows:y1..y03:3": "zeros in front",
        "windows:y1..y3": "write windows:FIRST..LAST:W",
        "windows:y1..y3:x": "write windows:FIRST..LAST:W",
        "windows:y1..y3:" + "9" * 30: "write windows:FIRST..LAST:W",
        "windows:y1,y3:3": "write windows:FIRST..LAST:W",
        "windows:y1..y2..y3:3": "write windows:FIRST..LAST:W",
        'windows:"y1..y3:3': "write windows:FIRST..LAST:W",
        "windows:" + "." * 50_000: "write windows:FIRST..LAST:W",
        "windows:" + '"' * 50_000: "write windows:FIRST..LAST:W",
        "windows:": "write windows:FIRST..LAST:W",
    }.items(),
)
def test_other_windows_are_refused_in_words(text, message):
    names = ["sex", "y1", "y2", "y3", "y03", "y6", "y999999999", "z1", "z2", "z3"]
    domain = domain_from_json(dict.fromkeys(names, 2))
    with time_limit(5), expect_error(message):
        read_queries([text], domain)


def test_a_card_says_windows_in_everyday_words():
    text = windows_text(("a:1", "a:2", "a:3"), 2)
    assert describe_queries_in_everyday_words(text) == "every 2 waves in a row, from a:1 to a:3"


def test_an_experiment_carries_windows_in_its_file_and_its_command():
    schema = {"columns": {f"pay {t}": integer(0, 3) for t in (1, 2, 3)}}
    task = QueryTask(table="a.csv", schema=schema, queries=("windows:pay 1..pay 3:3",))
    experiment = Experiment(
        task=task, algorithm=ALGORITHMS["gaussian_maxent"](), budget=Budget(1.0, 1e-9)
    )
    again = Experiment.from_json(experiment.to_json())
    assert again.task.read_workload(again.task.planning_domain).m == 64
    assert "--queries 'windows:pay 1..pay 3:3'" in experiment.to_command()


def chain(domain, n):
    """Rows of n people: the value of a wave is mostly that of the wave before."""
    rng = seeded(3)
    waves = [rng.integers(0, 4, n)]
    while len(waves) < len(domain.names):
        moved = (waves[-1] + rng.integers(1, 4, n)) % 4
        waves.append(np.where(rng.random(n) < 0.7, waves[-1], moved))
    return domain.encode(pd.DataFrame(dict(zip(domain.names, waves, strict=True))))


@parametrize(
    "texts",
    [
        ["windows:y1..y12:2"],
        ["windows:y1..y12:3"],
        ["windows:y1..y6:3", "windows:y7..y12:3", "marginals:1"],
    ],
)
def test_the_model_of_windows_stays_a_chain(texts):
    """12 waves of 4 values have 16.8 million combinations, their windows 64 each."""
    domain = panel("y", waves=12, size=4)
    rows = chain(domain, 5000)
    workload = read_queries(texts, domain)[0]
    problem = QueryRelease(workload, rows.n)
    run = Run(ALGORITHMS["gaussian_maxent"](), problem, rows, Budget(1.0, 1e-9)).finish()
    cliques = run.release.junction.cliques
    width = int(texts[0][-1])
    assert max(map(len, cliques)) == width
    assert all(max(clique) - min(clique) == len(clique) - 1 for clique in cliques)
    errors = run.release.answers(workload) - workload.answers_of_rows(rows)
    assert np.sqrt(np.mean(errors**2)) < run.plan["sigma"]


def test_windows_of_people_have_the_noise_of_one_row_each():
    """60 people with 1 to 4 rows, of which 3 share a vote; their shares by definition."""
    rng = seeded(5)
    domain = panel("y", waves=4)
    ids = np.repeat(np.arange(60), rng.integers(1, 5, 60))
    frame = pd.DataFrame(
        {"id": ids} | {name: rng.integers(0, 2, len(ids)) for name in domain.names}
    )
    unit = PrivacyUnit("id", 3, counts_people=True)
    people = unit.encode(domain, frame)
    workload = read_queries(["windows:y1..y4:2"], domain)[0]
    kept = limit_rows(frame, "id", 3, domain.names)
    share = 1 / (60 * kept.groupby("id")["y1"].transform("size"))
    expected = [
        share[(kept[first] == a) & (kept[second] == b)].sum()
        for first, second in (("y1", "y2"), ("y2", "y3"), ("y3", "y4"))
        for a, b in itertools.product(range(2), repeat=2)
    ]
    assert workload.answers_of_rows(people) == pytest.approx(expected)
    one_row_each = domain.encode(frame.drop_duplicates("id")[list(domain.names)])
    sigmas = [
        Run(
            ALGORITHMS["gaussian_maxent"](),
            QueryRelease(workload, rows.n, group),
            rows,
            Budget(1.0, 1e-9),
        ).plan["sigma"]
        for rows, group in ((people, unit.group), (one_row_each, 1))
    ]
    assert sigmas[0] == sigmas[1]
