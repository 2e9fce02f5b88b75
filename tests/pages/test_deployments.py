"""The public deployments beside the ε slider: their facts, where they stand, and what they are never shown without."""

import re

import numpy as np

from pages._ui.shell import controls, deployments
from tests.pages.headless import dataframe, open_page


def test_the_facts_are_those_of_41_records_with_source_and_date():
    text = deployments.FILE.read_text(encoding="utf-8")
    assert "commit 3e9c812 of 2026-07-15" in text.splitlines()[1]
    assert "opendp/deployments-registry-data (MIT)" in text.splitlines()[0]
    table = deployments.stated()
    assert deployments.listed() == 41
    assert 25 < len(table) < 41
    assert not table[["unit", "model", "year", "epsilon"]].isna().any().any()
    assert (np.diff(table["epsilon"]) >= 0).all()


def test_a_mark_stands_where_the_slider_has_its_epsilon():
    steps = controls.EPSILONS
    found = deployments.strip([steps[0], steps[3], 1000.0], steps[3], steps)
    marks = [float(x) for x in re.findall(r"M([\d.]+) 3v12", found)]
    width = deployments.WIDTH - 2 * deployments.EDGE
    assert marks[0] == deployments.EDGE
    assert abs(marks[1] - (deployments.EDGE + width * 3 / (len(steps) - 1))) < 0.06
    assert marks[2] == deployments.WIDTH - deployments.EDGE, "at the edge"
    assert f"M{marks[1]:.1f} 16l5" in found, "the triangle of the chosen one"


def test_the_nearest_is_told_with_unit_model_and_year():
    said = deployments.sentence(deployments.near(0.66))
    assert said == "Shared Mobility Dataset (Google, 2022): ε = 0.66, User-trip-level, central model"


def test_explore_shows_them_beside_its_slider_and_says_that_a_bare_epsilon_says_little():
    app = open_page("explore")
    assert deployments.WARNING in [t.value for t in app.text]
    assert any("public deployments by their ε. Nearest to 1: " in str(h.proto.body) for h in app.get("html"))
    assert len(dataframe(app, "ε", "protects", "model", "year")) == len(deployments.stated())
