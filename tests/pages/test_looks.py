"""Charts that draw algorithms: each algorithm looks the same in all of them, whatever else is
chosen.
"""

import re
from itertools import combinations

import numpy as np
import pandas as pd

from dpcore import QueryRelease
from dpcore.algorithms import algorithms_for_problem
from pages._ui.charts import figure_frame, frontier_charts, frontier_svg
from pages._ui.compare.overview import BASELINE_LABELS
from pages._ui.compare.sweep_jobs import ALGORITHM_STYLES, ALGORITHM_TITLES
from tests.small_problems import parametrize, seeded

ALL = list(algorithms_for_problem(QueryRelease))
EPSILONS = (0.1, 0.3, 1.0, 3.0)
LOOKS = frontier_charts.series_styles(ALL)
LEAST_DISTANCE = 12.0  # of two colours, about five times what an eye can see


def dots(names, rng, alike):
    """Errors of runs, all of them nearly the same where they are `alike`."""
    lines = [
        (
            name,
            epsilon,
            seed,
            (1 if alike else 10 ** rng.uniform(-1, 1)) * rng.uniform(0.99, 1.01) / epsilon,
        )
        for name in names
        for epsilon in EPSILONS
        for seed in range(2)
    ]
    return pd.DataFrame(lines, columns=pd.Index(["algorithm", "epsilon", "seed", "error"]))


def drawn(names, *, seed=0, alike=False):
    """The frontier of some algorithms with every other line that it may have."""
    runs = dots(names, seeded(seed), alike)
    by = runs.groupby(["algorithm", "epsilon"], sort=False)["error"]
    middle = by.agg(error="median", low="min", high="max").reset_index()
    levels = {
        "within 1 point": 1.0,
        **{f"{name}: 1": 1.0 + i / 50 for i, name in enumerate(BASELINE_LABELS)},
    }
    x = np.array(EPSILONS)
    y = 1 / np.array(EPSILONS)
    owners = {
        "promised": names[0],
        f"{ALGORITHM_TITLES[names[-1]]}, theory × 2": names[-1],
    }
    return frontier_charts.frontier_chart(
        runs,
        middle,
        levels,
        LOOKS,
        title="error",
        titles=ALGORITHM_TITLES,
        planned_epsilons=EPSILONS,
        algorithm_by_curve=owners,
        curves={name: (x, y * (1 + i / 50)) for i, name in enumerate(owners)},
        target_error=1.0,
        star=frontier_charts.Star(0.3, 1.0, names[0]),
    )


def looks_of(figure):
    """The look of each algorithm in a figure: of its line and of its dots."""
    by = {trace.customdata[0][0]: trace for trace in figure.data if trace.customdata is not None}
    lines = {
        trace.name: trace.line for trace in figure.data if trace.mode == "lines" and trace.name
    }
    return {
        name: (
            trace.marker.color,
            trace.marker.symbol,
            lines[trace.name].color,
            lines[trace.name].dash,
        )
        for name, trace in by.items()
    }


def subsets():
    """Choices of every size, in any order."""
    rng = seeded(1)
    return [list(rng.permutation(ALL)[:size]) for size in range(1, len(ALL) + 1) for _ in range(2)]


@parametrize("names", subsets(), ids=len)
@parametrize("alike", [False, True], ids=["apart", "alike"])
def test_an_algorithm_looks_the_same_and_every_line_has_a_label_that_meets_no_other(names, alike):
    figure = drawn(names, alike=alike)
    whole = {
        name: (look["color"], look["symbol"], look["color"], look["dash"])
        for name, look in LOOKS.items()
    }
    assert looks_of(figure) == {name: whole[name] for name in names}
    lines = [t.name for t in figure.data if t.mode == "lines" and t.name and t.hoverinfo]
    labels = [note.text.replace("<br>", "\n") for note in figure.layout.annotations]
    assert sorted(labels) == sorted(figure_frame.wrapped_nickname(name) for name in lines)
    assert len(lines) == len(names) + 6
    check_apart(figure)


def check_apart(figure):
    """No label of a figure meets another, and none is outside of it."""
    top = 8
    bottom = figure.layout.height - 8
    plot = top, bottom - 50  # above the axis
    low, high = (float(end) for end in figure.layout.yaxis.range)
    boxes = []
    for note in figure.layout.annotations:
        line = plot[1] - (note.y - low) / (high - low) * (plot[1] - plot[0])
        middle = line + note.ay
        half = 17 * (note.text.count("<br>") + 1) / 2
        boxes.append((middle - half, middle + half))
    for (_, above), (below, _) in zip(sorted(boxes), sorted(boxes)[1:], strict=False):
        assert above <= below + 1, sorted(boxes)
    assert min(boxes)[0] >= top - 9, "within the figure"
    assert max(boxes)[1] <= bottom, "within the figure"


def test_all_looks_can_be_told_apart():
    assert len({look["color"] for look in LOOKS.values()}) == len(ALL)
    for one, other in combinations(ALL, 2):
        first = LOOKS[one]
        second = LOOKS[other]
        assert distance(first["color"], second["color"]) > LEAST_DISTANCE, (one, other)
        assert (first["symbol"], first["dash"]) != (second["symbol"], second["dash"])


def distance(one, other):
    """The distance of two colours in the space Lab, where equal distances look equal."""
    return float(np.linalg.norm(lab(one) - lab(other)))


def lab(colour):
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    f = np.cbrt(np.array(to_xyz) @ linear / [0.9505, 1, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@parametrize("names", subsets()[::5], ids=len)
def test_other_charts_draw_algorithms_as_the_frontier_does(names):
    titles = {ALGORITHM_TITLES[name]: style for name, style in ALGORITHM_STYLES.items()}
    assert list(titles.values()) == list(LOOKS.values())
    runs = dots(names, seeded(2), alike=False).assign(
        line=lambda d: d["algorithm"].map(ALGORITHM_TITLES)
    )
    by = runs.groupby(["line", "epsilon"], sort=False)["error"]
    figure = frontier_charts.epsilon_band_chart(
        by.agg(middle="median", low="min", high="max").reset_index(), titles, "error"
    )
    for trace in figure.data:
        if trace.name:
            look = titles[trace.name]
            found = trace.line.color, trace.line.dash, trace.marker.color, trace.marker.symbol
            assert found == (look["color"], look["dash"], look["color"], look["symbol"])
    assert len(figure.layout.annotations) == len(names)
    middle = runs.assign(algorithm=runs["line"])
    text = frontier_svg.frontier_markup(middle, {}, titles, title="error", unit="points")
    for name in names:
        look = titles[ALGORITHM_TITLES[name]]
        line = rf'stroke="{look["color"]}" stroke-width="1.5"'
        dash = (
            rf'\s+stroke-dasharray="{look["dash"].replace("px", "")}"'
            if look["dash"] != "solid"
            else "/>"
        )
        assert re.search(line + dash, text), name
