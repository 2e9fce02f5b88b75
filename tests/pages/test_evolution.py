"""The Evolution page, headless: every part runs, and what it draws is what the library says."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from dpcore import ALGORITHMS, Budget, Run
from dpcore.problems.point_samples import POINT_SAMPLES
from pages._ui.evolution import method_choice as evolution_choice
from pages._ui.evolution import paper_figures as evolution_figures
from pages._ui.evolution.method_choice import ERROR_BOUND_COLUMN, GRID, ranking_sentence
from pages._ui.evolution.player import sample_points
from tests.pages.headless import (
    caption_text,
    click,
    click_and_wait,
    dataframe,
    error_text,
    figure_traces,
    figures,
    heading,
    markdown_text,
    open_code,
    open_page,
    plotly_numbers,
    run_script,
    run_until_settled,
    session,
    set_fields,
    table,
    traces_by_name,
)
from tests.small_problems import approx, parametrize

PE = ALGORITHMS["private_evolution"]


def part(name, **query):
    app = open_page("evolution", **query)
    return app if name == "Watch" else set_fields(app, part=name)


def watched(**values):
    """The first part at n = 100 with other settings."""
    return set_fields(part("Watch"), pe_n=100, pe_seeds=2, **values)


def test_every_step_and_the_distance_at_every_step_are_drawn():
    app = watched(pe_rounds=3)
    problem, rows = sample_points("clusters", 100)
    run = Run(PE(rounds=3), problem, rows, Budget(1, 1e-9), path=True).finish()
    band = traces_by_name(app, 1)["range over repeats"]
    t = plotly_numbers(band["x"])
    y = plotly_numbers(band["y"])
    for record in run.convergence:
        inside = [value for at, value in zip(t, y, strict=True) if at == record.t]
        assert min(inside) - 1e-9 <= 10 * record.empirical.w1 <= max(inside) + 1e-9, (
            "km of a map of the width 2"
        )
    while app.session_state["evolve-plays"]:  # it plays by itself
        assert app.slider(key="evolve-t-3-playing").disabled
        assert heading(app) == "Random places are becoming a map like the real one"
        app.run()
    assert (
        heading(app)
        == f"Done: the map is {plotly_numbers(figure_traces(app, 1)[0]['y'])[-1]:.1f} km off on average"
    )
    slider = app.slider(key="evolve-t-3").set_value(0).run().slider(key="evolve-t-3")
    assert (slider.min, slider.max, slider.value) == (0, 3, 0)
    assert len(plotly_numbers(figure_traces(app)[2]["x"])) == run.plan["samples"], (
        "the initial points"
    )
    set_fields(app, evolve_t_3=2)
    _, without, chosen, scale, off = figure_traces(app)
    kept = run.path[1].weights > 0
    assert plotly_numbers(without["x"]) == approx(run.path[1].points[~kept, 0])
    assert plotly_numbers(chosen["x"]) == approx(run.path[1].points[kept, 0])
    assert plotly_numbers(scale["x"]) == [-1, -0.5]
    assert off["text"][1] == f"&nbsp;{10 * (plotly_numbers(off['x'])[1] + 1):.1f} km off"
    click(app, "Play")
    assert app.slider(key="evolve-t-3").value == 3, "stops at the end"
    click(app, "Play")
    assert app.slider(key="evolve-t-3-playing").value == 0, "and begins again"


def test_a_person_reads_how_near_how_private_and_what_may_be_published():
    app = watched(pe_rounds=3)
    first, *_, last = km = plotly_numbers(
        figure_traces(app, 1)[0]["y"]
    )  # of two repeats median and mean are one
    most = next(t for t, y in enumerate(km) if first - y >= 0.9 * (first - last))
    assert heading(app, 1) == f"90% of the gain comes by step {most}"
    assert "ε = 1 covers all steps; their number, 3, is set before" in caption_text(app)
    assert "**guesses right at most 54 times in 100**" in markdown_text(app), "as on other pages"
    assert f"Good for: areas over {np.ceil(2 * last):.0f} km wide" in markdown_text(app)
    click(app, "Try my places")
    assert app.session_state["part"] == "My places"


def test_places_where_only_noise_voted_are_hollow_and_the_worst_one_s_distance_is_said():
    problem, rows = sample_points("clusters", 100)
    last = Run(PE(rounds=3, release="weights"), problem, rows, Budget(1, 1e-9)).finish().release
    away = np.linalg.norm(last.points - rows.values[:, None], axis=2)
    false = np.setdiff1d(np.flatnonzero(last.weights), away.argmin(axis=1))
    app = run_until_settled(watched(pe_rounds=3))
    while app.session_state["evolve-plays"]:
        app.run()
    assert f"only noise, up to {10 * away[:, false].min(axis=0).max():.1f} km off" in str(
        figures(app)[0]["layout"]
    )
    assert figure_traces(app)[2]["marker"]["symbol"].count("diamond-open") == len(false) > 0


def test_every_preset_runs():
    app = watched(pe_rounds=2)
    for preset in PE.presets:
        set_fields(app, pe_preset=preset)
        assert len(figures(app)) == 2
        assert (
            dataframe(app, "setting").set_index("setting")["value"]["post"]
            == PE.presets[preset]["post"]
        )


def test_settings_that_do_not_go_together_are_said_in_words():
    assert "delta=0" in error_text(watched(pe_post="laplace", delta=0.0))


@parametrize("name", evolution_figures.FIGURES)
def test_every_figure_runs(name, monkeypatch):
    figure = evolution_figures.FIGURES[name]
    if name[0] in "24":  # the others have references for the sizes on offer only
        monkeypatch.setitem(evolution_figures.FIGURES, name, replace(figure, sizes=[100, 1000]))
    app = part("For experts")
    sized = next(
        s.key for s in set_fields(app, pe_figure=name).selectbox if str(s.key).startswith("pe-n-")
    )
    click_and_wait(
        set_fields(app, pe_runs=2, **{sized: evolution_figures.FIGURES[name].sizes[0]}),
        "Run the figure",
    )
    assert figure_traces(app)
    assert "The smallest mean W1 is" in caption_text(app)


def test_a_figures_point_is_the_mean_of_its_runs():
    wanted = list(
        evolution_figures._wanted_runs(evolution_figures.FIGURES["3: number of steps"], 500, 2)
    )
    assert {one.key[1] for one in wanted} == {2, 4, 8, 12, 30}, "12 is what the theory says"
    assert len({id(one.rows) for one in wanted}) == 2, "a sample for each run, not for each setting"
    assert all(
        one.task["algorithm"].plan(one.task["problem"], Budget(1, 1e-4))["rounds"] == one.key[1]
        for one in wanted
    )


def test_a_start_between_the_private_points_and_the_origin():
    wanted = list(
        evolution_figures._wanted_runs(evolution_figures.FIGURES["2: initialisation"], 500, 1)
    )
    spans = {one.key[1]: np.abs(one.task["algorithm"].random.points).max() for one in wanted}
    assert spans[0.5] == 0
    assert spans[0.25] == approx(spans[0.0] / 2)


def test_methods_are_compared_on_numbers_of_the_table(monkeypatch, tmp_path):
    app = part("My places", sample="berkeley")
    assert "need two columns of numbers" in app.info[0].value
    monkeypatch.setattr(evolution_choice, "RUNS_PER_METHOD", 1)
    app = part("My places", sample="census")
    table(app).frame = table(app).frame.head(300)
    click_and_wait(app, "Compare them")
    shown = dataframe(app, "method")
    assert shown["method"].tolist() == list(evolution_choice.METHODS)
    assert 0 < shown["w1"].min() < shown["w1"].iloc[-1], "any method is nearer than random points"
    assert "of a column's range away" in caption_text(app)
    results = run_script(open_code(app), tmp_path)["results"]
    assert {line["algorithm"]: line["w1"] for line in results} == approx(
        dict(zip(shown["method"], shown["w1"], strict=True))
    )


def test_rows_evolve_on_the_sessions_table(tmp_path):
    app = part("My table", sample="titanic")
    click_and_wait(app, "Evolve the rows")
    drawn = figures(app)
    assert len(drawn) == 3
    final = caption_text(app)
    set_fields(app, recipe_t_6=1)
    assert figures(app)[0] == drawn[0], "the curve stays"
    assert figure_traces(app, 2) != drawn[2]["data"], "the heat map is of another step"
    assert "after step 1" in caption_text(app)
    assert caption_text(app) != final
    (run,) = run_script(open_code(app), tmp_path)["runs"]
    ((_, result),) = session(app).resources["recipe"].results
    assert run.summarise().errors.to_json() == approx(result.summary.errors.to_json())


def test_lessons_say_what_the_printed_noise_keeps():
    app = part("For experts")
    assert not figures(app)
    for i in range(2):
        click_and_wait(app.radio[i].set_value(app.radio[i].options[-1]).run(), "Reveal")
    assert markdown_text(app).count("Right: ") == 2
    told = caption_text(app)
    assert "3.035, its true δ 0.0043" in told
    assert "4.505 is needed" in told
    assert len(figures(app)) == 2
    true = plotly_numbers(figure_traces(app, 1)[0]["y"])
    assert true[0] <= 1 + 1e-9, "one round alone is as printed"
    assert all(b > a for a, b in pairwise(true)), "every round costs more"


def test_samples_lie_in_the_disc_and_are_the_same_for_the_same_seed():
    for sample in POINT_SAMPLES.values():
        one = sample.draw_table(200, 0)
        two = sample.draw_table(200, 0)
        assert one.equals(two)
        assert not one.equals(sample.draw_table(200, 1))
        assert (np.linalg.norm(one, axis=1) <= 1).all()


def test_the_verdict_names_the_nearest_and_says_when_seeds_or_the_distance_decide():
    budget = Budget(1, 1e-9)
    methods = [GRID, GRID, "Private Evolution"]
    clear = pd.DataFrame(
        {"method": methods, "w1": [0.1, 0.11, 0.3], ERROR_BOUND_COLUMN: [0.0, 0.0, 0.02]}
    )
    close = clear.assign(w1=[0.1, 0.3, 0.21])
    told = (
        f"{GRID} is nearest: 10.50% of a column's range away. Private Evolution 30.00% ± 2%. "
        "Use the grid"
    )
    assert told in ranking_sentence(clear, 2, 10, budget)
    assert "either of the best two" in ranking_sentence(close, 2, 10, budget)
    assert "either of the best two" in ranking_sentence(
        clear.assign(**{ERROR_BOUND_COLUMN: 0.1}), 2, 10, budget
    )
    assert "Evolution wins" in ranking_sentence(
        clear.assign(method=["Private Evolution"] * 2 + [GRID]), 3, 10, budget
    )


@parametrize("name", ["Watch", "My table"])
def test_stakeholders_see_no_peek(name):
    app = part(name, view="stakeholder", sample="titanic")
    run_until_settled(click(app, "Evolve the rows") if name == "My table" else app)
    assert not figures(app)
    assert any("setting" in f.value for f in app.dataframe), "what was chosen is public"
