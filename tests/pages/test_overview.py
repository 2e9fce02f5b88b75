"""All columns at once, groups by a click, and associations: what is sent to the browser, and said."""

import json
import re
from dataclasses import replace

import altair as alt
import numpy as np

from dpcore.accuracy.column_views import view_group
from dpcore.evaluation.group_counts import count_group
from dpcore.models.releases import SyntheticRows
from pages._ui.charts import association_maps, column_panels
from pages._ui.overview import all_columns, associations
from pages._ui.session import distinct_labels
from tests.pages.headless import everything, open_page
from tests.small_problems import categorical, domain_of, parametrize, seeded


def categorical_domain(values):
    return domain_of({name: categorical(*labels) for name, labels in values.items()})


HOSTILE = ["a.b[0]", "<script>alert(1)</script>", "datum", "x'\"y", "${1}", "\\", "<b>", "c0"]


def hostile_source(*, real=True, n=400):
    """A release and rows whose columns and values are all of the hostile texts."""
    domain = categorical_domain({name: HOSTILE[: 2 + i % 5] for i, name in enumerate(HOSTILE)})
    rng = seeded(0)
    codes = [np.column_stack([rng.integers(k, size=n) for k in domain.shape]) for _ in range(2)]
    return all_columns.PanelSource(
        key="k",
        domain=domain,
        release=SyntheticRows.from_rows(domain, codes[0]),
        unbiased_answers=None,
        n=n,
        unit="people",
        rows=domain.group_rows(codes[1]) if real else None,
        with_sidebar=True,
        epsilon=1.0,
    )


def frame_of(source, group):
    view = all_columns._view(source, group)
    return column_panels.panels_frame(view, view.views, source.domain, source.n, source.unit)


@parametrize("with_real", [True, False])
def test_the_specification_is_valid_and_knows_no_table(with_real):
    spec = column_panels.panels_spec(with_real=with_real, with_sidebar=True)
    assert column_panels.panels_spec(with_real=with_real, with_sidebar=True) is spec, "built once"
    assert set(spec["columns"]) == {"signal"}, "so many as the window holds"
    alt.Chart.from_dict(spec | {"columns": 6, "data": {"name": "cells"}})
    frame = frame_of(hostile_source(real=with_real), {})
    fields = {field for field in _strings(spec) if field in frame.columns}
    assert {"panel", "rank", "left", "right", "rows", "low", "high", "cell", "text"} <= fields
    assert not any(name in text for text in _strings(spec) for name in HOSTILE[:2])


def _strings(value):
    """Every text in a JSON value."""
    if isinstance(value, dict):
        return [*value, *(text for part in value.values() for text in _strings(part))]
    if isinstance(value, list):
        return [text for part in value for text in _strings(part)]
    return [value] if isinstance(value, str) else []


def test_every_bar_is_data_and_has_a_label():
    source = hostile_source()
    frame = frame_of(source, {2: (1,)})
    assert frame["panel"].nunique() == len(HOSTILE), "names that look alike stay apart"
    assert len(frame) == 2 * sum(source.domain.shape)
    assert frame["text"].str.contains(r"(?:real|synthetic) [\d,]+ people").all()
    assert any(HOSTILE[1] in text for text in frame["text"])
    faded = frame[frame["faded"]]
    assert set(faded["cell"].str.partition(":")[0]) == {"2"}
    assert set(frame[~frame["faded"]]["cell"]) & {"2:0", "2:1", "2:2", "2:3"} == {"2:1"}
    for _, bars in frame.groupby("panel"):
        edges = bars.sort_values("left")
        assert (edges["right"].to_numpy()[:-1] <= edges["left"].to_numpy()[1:] + 1e-12).all()


def test_a_column_of_many_values_shows_the_largest_and_the_others_together():
    domain = categorical_domain({"a": [str(i) for i in range(1000)]})
    codes = np.repeat(np.arange(1000), np.arange(1000))[:, None]
    release = SyntheticRows.from_rows(domain, codes)
    view = view_group(release, domain, {}, real=count_group(domain.group_rows(codes), domain, {}))
    frame = column_panels.panels_frame(view, view.views, domain, len(codes), "rows")
    assert len(frame) == 2 * column_panels.MAX_PANEL_VALUES
    assert frame.iloc[-1]["text"].startswith("a 977 others: ")
    assert np.isclose(frame[frame["series"] == "real"]["rows"].sum(), len(codes))


def test_thirty_columns_are_fewer_marks_than_a_browser_labels():
    domain = categorical_domain({f"c{i}": [str(v) for v in range(40)] for i in range(30)})
    release = SyntheticRows.from_rows(domain, seeded(0).integers(40, size=(50, 30)))
    view = view_group(release, domain, {}, real=[np.zeros(40)] * 30)
    frame = column_panels.panels_frame(view, view.views, domain, 5, "rows")
    labels = frame["label"].astype(bool).sum()
    whiskers = frame["low"].notna().sum()
    assert len(frame) + labels + whiskers + frame["last"].sum() <= 5000


def clicks(*cells):
    return {"selection": {column_panels.PICK: [{"cell": cell} for cell in cells]}}


def test_clicks_make_a_group_and_what_names_no_value_is_left_out():
    domain = hostile_source().domain
    assert all_columns.clicked_group(None, domain) == {}
    event = clicks("1:2", "1:0", "0:1", "0:-1", "99:0", "0:99", "x", "", "1:", None)
    assert all_columns.clicked_group(event, domain) == {1: (0, 2), 0: (1,)}
    assert all_columns.group_name({0: (1,), 1: (0, 2)}, domain) == (
        f"{HOSTILE[0]} = {HOSTILE[1]} and {HOSTILE[1]} = {HOSTILE[0]} or {HOSTILE[2]}"
    )


def test_a_group_says_its_size_and_its_error():
    source = hostile_source()
    view = all_columns._view(source, {0: (1,)})
    count = round(400 * view.real_size)
    share = column_panels.format_share(view.misplaced)
    assert all_columns.finding(source, view) == (
        f"a.b[0] = {HOSTILE[1]}: {count} people, {share} in a wrong cell"
    )
    without = hostile_source(real=False)
    said = all_columns.finding(without, all_columns._view(without, {0: (1,)}))
    assert "wrong cell" not in said, "nothing was measured that it could be predicted from"
    columns = set(all_columns.numbers_table(source, view))
    assert {"column", "value", "real", "synthetic"} <= columns


def test_maps_of_links_are_valid_and_names_in_them_are_data():
    spec = association_maps.maps_spec()
    assert association_maps.maps_spec() is spec, "built once"
    alt.Chart.from_dict(spec | {"columns": 2, "data": {"name": "pairs"}})
    source = hostile_source()
    links = associations._pair_links(source)
    assert len(links.pairs) == 28
    texts = [associations._pair_text(source, links, i, HOSTILE[1]) for i in range(28)]
    maps = {"real": links.reference, "synthetic": links.released}
    frame = association_maps.maps_frame(source.domain.names, links.pairs, maps, texts, [3])
    assert len(frame) == 56
    assert frame["lost"].sum() == 2
    assert set(frame["across"]) | set(frame["down"]) == {
        *distinct_labels(HOSTILE, association_maps.NAME_CHARS).values()
    }
    assert re.fullmatch(
        rf"{re.escape(HOSTILE[1])}: real 0\.\d\d, synthetic 0\.\d\d \(not measured together\)",
        frame["text"].iloc[0],
    )
    numbers = associations._numbers_table(source, links)
    assert numbers["real"].is_monotonic_decreasing


def test_links_of_released_answers_leave_out_what_was_not_measured():
    source = replace(hostile_source(real=False), unbiased_answers=None)
    links = associations._pair_links(source)
    assert np.isnan(links.reference).all()
    maps = {"released answers": links.reference, "synthetic": links.released}
    texts = ["x"] * 28
    frame = association_maps.maps_frame(source.domain.names, links.pairs, maps, texts, [])
    assert set(frame["map"]) == {"synthetic"}


def test_too_many_columns_for_one_map_leaves_the_weakest_out():
    pairs = [(a, b) for b in range(60) for a in range(b)]
    links = np.array([0.9 if b < 40 else 0.01 for _, b in pairs])
    frame = association_maps.maps_frame(
        [f"c{i}" for i in range(60)], pairs, {"real": links}, ["x"] * len(pairs), []
    )
    assert len(frame) == 40 * 39 / 2
    assert "c59" not in set(frame["down"])


def panel_charts(app):
    return [chart for chart in app.get("vega_lite_chart") if "pick" in chart.proto.spec]


def test_explore_shows_all_columns_by_a_switch_and_the_stakeholder_view_no_real_bar():
    app = open_page("explore", sample="berkeley")
    assert not panel_charts(app)
    app = open_page("explore", sample="berkeley", **{"whole-table": "true"})
    (chart,) = panel_charts(app)
    pictures = [c for c in app.get("bidi_component") if c.key.endswith("-pictures")]
    told = {data["chart"]: data for data in (json.loads(c.proto.json) for c in pictures)}
    charts = [*app.get("plotly_chart"), *app.get("vega_lite_chart")]
    assert {c.key for c in charts} <= told.keys(), "every chart can be saved"
    sources = {data["source"] for data in told.values()}
    assert sources == {"Privacy–Utility Explorer · berkeley · ε = 1 · public sample: free to show"}
    assert told[chart.key]["title"].startswith("Worst of ")
    configs = [json.loads(c.proto.config) for c in app.get("plotly_chart")]
    assert not any(config.get("staticPlot") for config in configs), "and zoomed, by a drag"
    assert "wrong cell" in " ".join(h.value for h in app.subheader)
    assert json.loads(chart.proto.spec)["usermeta"]["embedOptions"] == {"renderer": "svg"}
    app = open_page("explore", sample="berkeley", view="stakeholder")
    (chart,) = panel_charts(app)
    assert "uses no budget" in everything(app)
    assert "real" not in str(chart.proto.data.data)
