"""The Evolution page, headless: every part runs, and what it draws is what the library says."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.evaluation.run import Run
from dpcore.geometry.point_samples import POINT_SAMPLES
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.tags import Tag
from pages._ui.evolution import choice as evolution_choice
from pages._ui.evolution import figures as evolution_figures
from pages._ui.evolution.choice import OFF, verdict
from pages._ui.evolution.player import points
from tests.pages.headless import (
    button,
    captions,
    dataframe,
    figures,
    numbers,
    open_page,
    press,
    put,
    said,
    settled,
    table,
    traces,
    wrong,
)

pytestmark = pytest.mark.usefixtures("tab")
PE = ALGORITHMS["private_evolution"]


def part(name, **query):
    app = open_page("evolution", **query)
    return app if name == "Watch it evolve" else put(app, part=name)


def watched(**values):
    """The first part at n = 100 with other settings."""
    return put(part("Watch it evolve"), pe_n=100, pe_seeds=2, **values)


def test_before_anything_ran_the_page_says_so():
    app = part("For experts: research")
    assert "Nothing has run yet" in app.info[0].value
    for name in ("Which should I use?", "On a table"):
        put(app, part=name)
        assert "Nothing has run yet" in app.info[0].value


def test_every_step_and_the_distance_at_every_step_are_drawn():
    app = watched(**{"pe-rounds": 3})
    problem, rows = points("clusters", 100)
    run = Run(build(PE, {"rounds": "3"}), problem, rows, Budget(1, 1e-9), seed=0, path=True).finish()
    band = traces(app, 1)["range over repeats"]
    t, y = numbers(band["x"]), numbers(band["y"])
    for record in run.records:
        inside = [value for at, value in zip(t, y, strict=True) if at == record.t]
        assert min(inside) - 1e-9 <= record.empirical.w1 / 2 <= max(inside) + 1e-9, "of the map's width, 2"
    while app.session_state["evolve-plays"]:  # it plays by itself
        assert app.slider(key="evolve-t-3-playing").disabled
        app.run()
    assert app.slider(key="evolve-t-3").value == 3
    slider = app.slider(key="evolve-t-3").set_value(0).run().slider(key="evolve-t-3")
    assert (slider.min, slider.max, slider.value) == (0, 3, 0)
    assert len(numbers(figures(app)[0]["data"][1]["x"])) == run.plan["samples"], "the initial points"
    put(app, evolve_t_3=2)
    _, candidates, chosen = figures(app)[0]["data"]
    assert numbers(candidates["x"]) == pytest.approx(run.path[1].points[:, 0])
    assert len(numbers(chosen["x"])) == np.count_nonzero(run.path[1].weights)
    button(app, "Play").click().run()
    assert app.slider(key="evolve-t-3").value == 3, "stops at the end"
    button(app, "Play").click().run()
    assert app.slider(key="evolve-t-3-playing").value == 0, "and begins again"


def test_a_person_reads_how_near_how_private_and_what_may_be_published():
    app = watched(**{"pe-rounds": 3})
    first, *_, last = numbers(traces(app, 1)["measured"]["y"])  # of two repeats median and mean are one
    assert app.subheader[1].value == f"They end {last:.0%} of the map's width away"
    assert f"Mean distance at the start: {first:.0%}." in captions(app)
    assert "It is measured; no theorem promises it for so few points." in captions(app)
    tile = next(m.value for m in app.markdown if m.value.startswith("Someone who knows"))
    assert "**guesses right 54 times in 100**" in tile, "as on other pages"
    assert "Publish only the orange points" in said(app)
    assert Tag.PUBLIC.value in said(app)


def test_every_preset_runs():
    app = watched(**{"pe-rounds": 2})
    for preset in PE.presets:
        put(app, pe_preset=preset)
        assert not app.error
        assert len(figures(app)) == 2
        told = dataframe(app, "setting").set_index("setting")["value"]
        assert told["post"] == PE.presets[preset]["post"]


def test_settings_that_do_not_go_together_are_said_in_words():
    app = watched(**{"pe-post": "laplace", "delta": 0.0})
    assert "delta=0" in wrong(app)


@pytest.mark.parametrize("name", evolution_figures.FIGURES)
def test_every_figure_runs(name, monkeypatch):
    figure = evolution_figures.FIGURES[name]
    if name[0] in "24":  # the others have references for the sizes on offer only
        monkeypatch.setitem(evolution_figures.FIGURES, name, replace(figure, sizes=[100, 1000]))
    app = part("For experts: research")
    put(app, pe_figure=name)
    app.selectbox(key=next(s.key for s in app.selectbox if str(s.key).startswith("pe-n-"))).set_value(
        evolution_figures.FIGURES[name].sizes[0]
    )
    app.number_input(key="pe-runs").set_value(2)
    app = press(app, "Run the figure")
    assert not app.error
    assert figures(app)[0]["data"]
    assert "The smallest mean W1 is" in captions(app)


def test_a_figures_point_is_the_mean_of_its_runs():
    figure = evolution_figures.FIGURES["3: number of steps"]
    wanted = list(evolution_figures._wanted(figure, 500, 2))
    assert {one.key[1] for one in wanted} == {2, 4, 8, 12, 30}, "12 is what the theory says"
    assert len({id(one.rows) for one in wanted}) == 2, "a sample for each run, not for each setting"
    assert all(
        one.task["algorithm"].plan(one.task["problem"], Budget(1, 1e-4))["rounds"] == one.key[1] for one in wanted
    )


def test_a_start_between_the_private_points_and_the_origin():
    wanted = list(evolution_figures._wanted(evolution_figures.FIGURES["2: initialisation"], 500, 1))
    spans = {one.key[1]: np.abs(one.task["algorithm"].random.points).max() for one in wanted}
    assert spans[0.5] == 0
    assert spans[0.25] == pytest.approx(spans[0.0] / 2)


def test_methods_are_compared_on_numbers_of_the_table(monkeypatch):
    app = part("Which should I use?", sample="berkeley")
    assert "fewer than two columns of numbers" in app.info[0].value
    monkeypatch.setattr(evolution_choice, "RUNS", 1)
    app = part("Which should I use?", sample="census")
    table(app).frame = table(app).frame.head(300)
    app = press(app, "Compare them")
    assert not app.error
    shown = dataframe(app, "mean W1")
    assert shown["method"].tolist() == list(evolution_choice.METHODS)
    assert 0 < shown["mean W1"].min() < shown["mean W1"].iloc[-1], "any method is nearer than random points"
    assert "is nearest: W1" in captions(app)


def test_rows_evolve_on_the_sessions_table():
    app = part("On a table", sample="titanic")
    app = press(app, "Evolve the rows")
    assert not app.error
    drawn = figures(app)
    assert len(drawn) == 3
    final = captions(app)
    put(app, recipe_t_6=1)
    assert figures(app)[0] == drawn[0], "the curve stays"
    assert figures(app)[2]["data"] != drawn[2]["data"], "the heat map is of another step"
    assert "after step 1" in captions(app)
    assert captions(app) != final


def test_lessons_say_what_the_printed_noise_keeps():
    app = part("For experts: two lessons")
    assert not figures(app)
    for i in range(2):
        app.radio[i].set_value(app.radio[i].options[-1]).run()
        settled([b for b in app.button if b.label == "Reveal"][i].click().run())
    assert said(app).count("Right: ") == 2
    told = captions(app)
    assert "3.035, its true δ 0.0043" in told
    assert "4.505 is needed" in told
    assert len(figures(app)) == 2
    true = numbers(figures(app)[1]["data"][0]["y"])
    assert true[0] <= 1 + 1e-9, "one round alone is as printed"
    assert all(b > a for a, b in pairwise(true)), "every round costs more"


def test_samples_lie_in_the_disc_and_are_the_same_for_the_same_seed():
    for sample in POINT_SAMPLES.values():
        one, two = sample.table(200, 0), sample.table(200, 0)
        assert one.equals(two)
        assert not one.equals(sample.table(200, 1))
        assert (np.linalg.norm(one, axis=1) <= 1).all()


def test_the_verdict_names_the_nearest_and_says_when_seeds_or_the_distance_decide():
    budget, methods = Budget(1, 1e-9), ["PSMM", "PSMM", "Private Evolution"]
    clear = pd.DataFrame({"method": methods, "w1": [0.1, 0.11, 0.3], OFF: [0.0, 0.0, 0.02]})
    close = clear.assign(w1=[0.1, 0.3, 0.21])
    assert "PSMM is nearest: W1 0.105; Private Evolution 0.3 ± 0.02. Where a grid" in verdict(clear, 2, 10, budget)
    assert "Runs differ more" in verdict(close, 2, 10, budget)
    assert "W1 is not known well enough" in verdict(clear.assign(**{OFF: 0.1}), 2, 10, budget)
    evolved = clear.assign(method=["Private Evolution"] * 2 + ["PSMM"])
    assert "Evolution wins" in verdict(evolved, 3, 10, budget)


@pytest.mark.parametrize("name", ["Watch it evolve", "On a table"])
def test_stakeholders_see_no_peek(name):
    app = part(name, view="stakeholder", sample="titanic")
    app = settled(button(app, "Evolve the rows").click().run() if name == "On a table" else app)
    assert not figures(app)
    assert any("setting" in f.value for f in app.dataframe), "what was chosen is public"
