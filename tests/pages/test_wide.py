"""Wide tables on Explore: all columns up to a public limit, what it takes said beforehand, and which
columns are tied.
"""

import json

import numpy as np
import pandas as pd

from dpcore.accuracy import work_forecast
from dpcore.models.graphical_model import GraphicalModel
from dpcore.models.junction_tree import build_junction_tree
from dpcore.models.tree_model import JunctionTreeModel
from dpcore.schema.inference import default_columns
from pages._ui.charts.clique_chart import clique_square
from pages._ui.explore.linked_columns import describe_cliques
from tests.pages.headless import (
    caption_text,
    click_and_wait,
    error_text,
    markdown_text,
    schema_entries,
    set_fields,
    switch_page,
    typed_schema,
    visible_text,
)
from tests.pages.test_data import opened
from tests.small_problems import integer_domain, seeded

COLUMNS = {f"c{i}": {"kind": "integer", "size": 6} for i in range(12)}


def content():
    rng = seeded(0)
    first = rng.integers(6, size=400)
    frame = pd.DataFrame({name: (first + rng.integers(2, size=400)) % 6 for name in COLUMNS})
    return frame.to_csv(index=False).encode()


def explored(typed):
    app = opened(content())
    typed_schema(app, typed)
    app.query_params["below"] = "Associations"
    return switch_page(app, "explore")


def words(app):
    return f"{caption_text(app)} {error_text(app)}"


def test_all_columns_are_asked_about_at_once_and_their_ties_are_shown(one_value):
    app = explored({"columns": COLUMNS})
    assert "columns to begin with" not in words(app), "12 columns are within the public limit"
    assert "Which columns are linked?" in " ".join(h.value for h in app.subheader)
    assert "of 66 pairs of columns are linked, in" in words(app)
    assert any("strong links are kept" in h.value for h in app.subheader), "the columns are alike"
    assert "in a wrong cell" in markdown_text(app)
    for chosen in (list(COLUMNS), list(COLUMNS)[:3]):
        assert next(m for m in app.multiselect if m.label == "Columns").value == chosen
        set_fields(app, Columns=list(COLUMNS)[:3])
    assert "This run keeps no tree" in words(app), "a few columns are listed"


def test_columns_beyond_the_public_limit_are_one_click_away(one_value, monkeypatch):
    monkeypatch.setattr(default_columns, "MAX_PAIRED_COLUMNS", 3)
    app = explored({"columns": {name: COLUMNS[name] for name in list(COLUMNS)[:4]}})
    assert "3 of 4 columns to begin with" in words(app)
    click_and_wait(app, "Use all 4 columns")
    assert next(m for m in app.multiselect if m.label == "Columns").value == list(COLUMNS)[:4]


def test_coarser_bins_make_a_table_large_enough():
    rng = seeded(0)
    n = 5000
    names = ("sex", "married")
    frame = pd.DataFrame({name: rng.choice(["f", "m"], n) for name in names})
    for name, high in (("age", 99), ("hours", 80)):
        frame[name] = rng.integers(0, high + 1, n)
    numbers = {
        name: {"kind": "integer", "low": 0, "high": int(frame[name].max())}
        for name in ("age", "hours")
    }
    columns = {name: {"kind": "categorical", "values": ["f", "m"]} for name in names} | numbers
    app = opened(frame.to_csv(index=False).encode())
    typed_schema(app, {"columns": columns})
    app.query_params["epsilon"] = "0.5"
    app.query_params["repeats"] = "1"
    switch_page(app, "explore")
    assert "This table is too small for these questions at ε = 0.5." in visible_text(app)
    click_and_wait(app, "Coarser bins")
    assert {len(schema_entries(app)[name]["edges"]) < 20 for name in numbers} == {True}
    assert "Good for: shares by" in visible_text(app)


def test_what_the_machine_cannot_hold_is_refused_on_the_page(monkeypatch):
    monkeypatch.setattr(work_forecast, "machine_memory_bytes", lambda: 1000.0)
    app = explored({"columns": {name: COLUMNS[name] for name in ("c0", "c1", "c2")}})
    assert "this run would take about" in words(app)
    assert "choose fewer columns" in words(app)


def test_what_is_said_of_ties_is_the_tree_of_the_release():
    domain = integer_domain(2, 3, 4, 5)
    tree = JunctionTreeModel(domain, build_junction_tree(domain.shape, [(0, 1, 2)]))
    release = tree.release(tree.normalise(np.zeros(tree.size))[1])
    assert isinstance(release, GraphicalModel)
    summary, frame, ties = describe_cliques(release)
    assert summary == (
        "3 of 6 pairs of columns are linked, in 2 groups with 29 combinations together. The "
        "largest has 24: a × b × c."
    )
    assert frame.to_dict("list") == {"linked columns": ["a × b × c", "d"], "combinations": [24, 5]}
    assert ties == dict.fromkeys([(0, 1), (0, 2), (1, 2)], "a × b × c")
    figure = clique_square(domain.names, ties)
    filled = np.isfinite(figure.data[0].z)
    assert [tuple(pair) for pair in np.argwhere(np.triu(filled))] == sorted(ties)
    assert (filled == filled.T).all()
    assert (figure.data[0].customdata[filled] == "a × b × c").all()
    assert figure.layout.xaxis.ticktext == figure.layout.yaxis.ticktext == ("a", "b", "c", "d")


def test_hostile_names_are_text_in_the_square():
    shown = json.dumps(
        clique_square(["<b>x</b>", "$y$"], {(0, 1): "<i>z</i>"}).to_dict(), default=str
    )
    assert "<b>" not in shown
    assert "<i>" not in shown
