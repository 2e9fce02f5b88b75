"""Every page runs without an exception, headless; what a visitor sees first is there."""

import json
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpcore import samples
from dpcore.algorithms import ALGORITHMS
from dpcore.schema import domain_from_json, domain_to_json
from pages._ui.state import Table
from pages._ui.table_editor import _from_grid, _to_grid

ROOT = Path(__file__).parents[1]
PAGES = ["app.py", "pages/explore.py"]


def open_page(path):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    return settled((app if path == "app.py" else app.switch_page(str(ROOT / path))).run())


def settled(app):
    """Run again, as the page's own polling does, until no job is on its way."""
    while any(button.label == "Cancel" for button in app.button):
        app.run()
    return app


def figures(app):
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


@pytest.fixture(autouse=True)
def fresh():
    yield
    st.cache_resource.clear()


@pytest.mark.parametrize("path", PAGES)
def test_page_runs(path):
    app = open_page(path)
    assert not app.exception
    assert app.title[0].value


def test_explore_shows_verdict_and_every_chart_with_data():
    app = open_page("pages/explore.py")
    assert "Typical error" in " ".join(m.value for m in app.markdown)
    drawn = figures(app)
    assert len(drawn) == 6
    assert all(figure["data"] for figure in drawn)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_explore_runs_every_algorithm(name):
    app = open_page("pages/explore.py")
    settled(app.selectbox(key="sample").set_value("berkeley").run())
    settled(app.selectbox(key="algorithm").set_value(name).run())
    assert not app.exception
    assert not app.error
    assert len(figures(app)) == 6


def test_a_smaller_epsilon_costs_more():
    app = open_page("pages/explore.py")

    def worst():
        return max(frame.value["error"].max() for frame in app.dataframe if "error" in frame.value)

    at_one = worst()
    settled(app.select_slider(key="epsilon").set_value(0.01).run())
    assert worst() > 3 * at_one


def test_wrong_choices_are_said_in_words_and_nothing_is_lost():
    app = open_page("pages/explore.py")
    app.select_slider(key="delta").set_value(0.0).run()
    assert "delta=0" in app.error[0].value.replace("\\", "")
    assert not app.exception
    app.select_slider(key="delta").set_value(1e-9).run()
    assert not app.error


def test_an_upload_is_refused_or_taken_with_a_message():
    app = open_page("pages/explore.py")
    app.file_uploader(key="upload").set_value(("t.csv", b"", "text/csv")).run()
    assert "empty" in app.error[0].value
    app.file_uploader(key="upload").set_value(("t.csv", b"a,b\n1,x\n2,y\n3,x\n", "text/csv")).run()
    assert not app.exception
    assert "Fill in the schema" in app.info[0].value


@pytest.mark.parametrize("sample", [samples.census, samples.berkeley])
def test_the_schema_grid_says_what_the_schema_says(sample):
    domain = sample().domain
    table = Table("t", sample().frame, domain_to_json(domain), "", uploaded=True)
    assert domain_from_json(_from_grid(_to_grid(table), table.schema)) == domain
