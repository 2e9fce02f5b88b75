"""Every page runs without an exception, headless; what a visitor sees first is there."""

import json
import re
import time
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.algorithms import ALGORITHMS
from dpcore.data import samples
from dpcore.data.schema import domain_from_json, domain_to_json
from dpcore.evaluation.run import Run
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.tags import Tag
from dpcore.workloads import Marginals
from pages._ui.charts import base
from pages._ui.charts.drag import stop_told
from pages._ui.data.grid import _rows, entry_of
from pages._ui.lessons import lesson as lessons
from pages._ui.shell import questions, words
from pages._ui.shell.controls import EPSILONS
from pages._ui.shell.frame import SAMPLE
from pages._ui.shell.state import sample_table
from pages._ui.shell.table import Table
from pages._ui.start.admissions import SHOWN
from tests.helpers import QUERIES

pytestmark = pytest.mark.usefixtures("tab")
ROOT = Path(__file__).parents[2]
PAGES = ["app.py", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "pages").glob("*.py"))]
EXPLORE = "pages/explore.py"


def open_page(path, **query):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    return settled((app if path == "app.py" else app.switch_page(str(ROOT / path))).run())


def settled(app):
    """Run again, as the page's own polling does, until no job is on its way."""
    waits = ("Repeats: ", "made once, for everyone")
    while any(b.label == "Cancel" for b in app.button) or any(w in c.value for c in app.caption for w in waits):
        time.sleep(0.2)  # a page that is drawn all the time takes from its workers
        app.run()
    return app


def figures(app):
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def dragged(app):
    """What the bars that follow a slider were given."""
    return json.loads(next(c for c in app.get("bidi_component") if c.key != "copy-link").proto.json)


def said(app):
    return " ".join(m.value for m in app.markdown)


def worst(app):
    return max(frame.value["error"].max() for frame in app.dataframe if "error" in frame.value)


HOSTILE = ["", "inf", "1e999", "NaN", "-1", "[]", "9" * 400, "<script>", "$x^2$", "x" * 3000, "../../etc/passwd", "1,2"]


@pytest.mark.parametrize("name", ["release", "guarantee", "audit", "evolution", "learning", "compare"])
def test_nothing_in_the_address_breaks_a_page(name):
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.py")]
    keys = sorted({key for text in texts for key in re.findall(r'key="([a-z-]+)"', text)})
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for i, key in enumerate(keys):
        app.query_params[key] = HOSTILE[i % len(HOSTILE)]
    app.switch_page(str(ROOT / f"pages/{name}.py")).run()
    assert not app.exception
    assert app.title[0].value


def test_a_number_without_end_leaves_the_rest_of_the_address_alone():
    app = open_page("pages/guarantee.py", sample="berkeley", epsilon="3", releases="inf")
    assert not app.exception
    assert (app.select_slider(key="epsilon").value, app.slider(key="releases").value) == (3.0, 1)


BADGE = re.compile(r":\w+-badge\[:material/\w+: ([^\]]*)\]")
BADGES = {
    "explore": [Tag.PEEK], "compare": [Tag.PEEK], "learning": [Tag.PEEK], "release": [Tag.PUBLIC],
    "guarantee": [Tag.PUBLIC], "audit": [Tag.PUBLIC], "evolution": [Tag.PUBLIC],
}  # fmt: skip


def badges(app):
    found = [words for element in app.markdown for words in BADGE.findall(element.value)]
    return [Tag.PEEK if words == SAMPLE else Tag(words) for words in found]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_runs_and_has_one_badge_and_others_only_where_they_differ(path):
    app = open_page(path, **{} if path == "app.py" else {"sample": "berkeley"})
    assert not app.exception
    assert not app.error
    assert app.title[0].value
    own, found = BADGES.get(Path(path).stem, []), badges(app) if "glossary" not in path else []
    assert found[: len(own)] == own
    assert not set(own) & set(found[len(own) :]), "no badge repeats the page's"
    assert Tag.PAID not in found, "nothing was released"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_short_and_computes_nothing(path):
    code = (ROOT / path).read_text(encoding="utf-8")
    assert len(code.splitlines()) <= 120
    assert "numpy" not in code


def stop(data):
    return data["stops"][data["at"]]


def test_start_has_a_chart_before_any_click_and_follows_epsilon():
    data = dragged(open_page("app.py"))
    at = data["at"]
    assert np.abs(np.subtract(data["synthetic"][0][at], data["real"])).max() >= 0.05, "visibly wrong"
    assert np.abs(np.subtract(data["synthetic"][0][at + 1], data["real"])).max() < 0.05, "and no stronger than that"
    assert stop(data) == "ε = 0.03"
    assert "ε = 0.03**" in data["words"][0][at]
    assert "50.2 times in 100" in data["words"][0][at]
    data = dragged(open_page("app.py", epsilon="1"))
    assert stop(data) == "ε = 1"
    for texts in (data["words"], data["spoken"]):
        assert "54 times in 100" in texts[0][data["at"]]


def test_start_opens_as_it_does_where_the_address_names_no_epsilon_of_the_slider():
    for asked in ("", "0.04", "nan", "1e999", "-1", "<b>", "0.030"):
        app = open_page("app.py", epsilon=asked)
        assert not app.exception
        assert stop(dragged(app)) == "ε = 0.03", asked


@pytest.mark.parametrize(
    "said", [None, "x", [1], {}, *({"stop": v} for v in ("1", 1.5, True, -1, 3, [1], None, 10**9))]
)
def test_what_a_browser_sends_that_is_no_stop_moves_nothing(said):
    assert stop_told(said, 3) is None
    assert [stop_told({"stop": stop}, 3) for stop in range(3)] == [0, 1, 2]


def test_the_frames_of_start_are_runs_with_the_same_noise_at_every_epsilon():
    data, table = dragged(open_page("app.py")), sample_table("berkeley")
    rows = table.rows(table.domain.names)
    problem, shown = QueryRelease(Marginals.all(table.domain, 2), rows.n), Marginals(table.domain, [SHOWN])
    assert data["real"] == shown.answers_of_rows(rows).tolist()
    for seed, epsilon in ((0, 0.01), (1, 0.3), (3, 10.0)):
        run = Run(ALGORITHMS["gaussian_maxent"](), problem, rows, Budget(epsilon, 1e-9), seed=seed).finish()
        released = data["synthetic"][seed][EPSILONS.index(epsilon)]
        assert released == run.release.answers(shown).tolist()
        off = float(np.abs(np.subtract(released, data["real"])).max())
        said = data["words"][seed][EPSILONS.index(epsilon)]
        assert f"off by **{100 * off:.2g} points** (≈ {round(rows.n * off):,} people)" in said
    assert np.array_equal(data["low"], np.min(data["synthetic"], axis=0))
    assert np.array_equal(data["high"], np.max(data["synthetic"], axis=0))
    assert np.max(data["synthetic"]) <= data["top"]
    gaps = np.subtract(data["synthetic"], data["real"])[:, EPSILONS.index(0.1) :]
    for drawing in gaps:
        same = drawing @ drawing[-1] / np.linalg.norm(drawing, axis=1) / np.linalg.norm(drawing[-1])
        assert same.min() > 0.9, "where fitting takes little off, one noise scaled"


def test_explore_has_every_chart_and_follows_what_is_chosen_and_typed():
    app = open_page(EXPLORE)
    assert [tab.label for tab in app.tabs] == [
        "Groups", "Ask a question", "Linked columns", "Budget used",
        "Two settings", "Download",
    ]  # fmt: skip
    drawn, at_one = figures(app), worst(app)
    assert len(drawn) == 6
    assert all(go.Figure(figure).data for figure in drawn), "Plotly checks all of it"
    scales = [trace["colorscale"] for figure in drawn for trace in figure["data"] if trace["type"] == "heatmap"]
    assert scales == [base.SHADES, base.SHADES, base.DIVERGING]
    app.text_input(key="question").set_value("sex = Female and age < 35").run()
    assert "**Real " in said(app)
    app.text_input(key="question").set_value("sex = Femal").run()
    assert "Femal" in app.error[0].value
    app.text_input(key="question").set_value("")
    app.select_slider(key="delta").set_value(0.0).run()
    assert "delta=0" in app.error[0].value.replace("\\", "")
    assert not app.exception
    app.select_slider(key="epsilon").set_value(0.01)
    settled(app.select_slider(key="delta").set_value(1e-9).run())
    assert not app.error
    assert worst(app) > 3 * at_one, "a smaller ε costs more, and a wrong choice loses nothing"


@pytest.mark.parametrize("name", QUERIES)
def test_explore_runs_every_algorithm(name):
    """Opened by a link, with the slider of α where the algorithm has one."""
    app = open_page(EXPLORE, sample="berkeley", algorithm=ALGORITHMS[name].about.title)
    assert app.selectbox(key="algorithm").value == ALGORITHMS[name].about.title
    assert not app.exception
    assert not app.error
    assert len(figures(app)) == 6
    sliders = [w.label for w in app.sidebar.select_slider]
    assert sliders[:2] == ["Privacy budget (ε)", "Failure probability (δ)"]
    assert (sliders[2:3] == ["Smoothness (α)"]) == hasattr(ALGORITHMS[name](), "alpha")


def test_explore_asks_every_kind_of_question():
    """Each kind is a run of its own: no two say the same."""
    told = []
    for kind in questions.KINDS:
        app = open_page(EXPLORE, questions=kind)
        assert not app.exception
        assert not app.error
        told.append(re.search(r"Typical error.*", said(app), re.DOTALL)[0])
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("key", lessons.LESSONS)
def test_a_lesson_asks_first_and_then_shows_and_explains(key, monkeypatch):
    monkeypatch.setattr(lessons.Lesson.found, "__defaults__", ((0,), lambda *_: None))
    monkeypatch.setattr(lessons, "SEEDS", (0,))
    lesson = lessons.LESSONS[key]
    app = open_page(EXPLORE, lesson=key, sample=lesson.settings["sample"])
    assert not figures(app)
    assert app.radio[0].help == (words.meaning(*lesson.words) or "")
    assert bool(app.radio[0].help) == (key in ("epsilon", "small-groups", "population"))
    right = lesson.answers[lesson.found().right]
    app.radio[0].set_value(right).run()
    settled(button(app, "Reveal").click().run())
    assert not app.exception
    assert f"Right: {right}." in said(app)
    later = [link.proto.label for link in app.get("link_button")]
    number = list(lessons.LESSONS).index(key)
    assert app.subheader[0].value.startswith(f"Lesson {number + 1} of {len(lessons.LESSONS)}: ")
    following = [f"Next lesson: {one.title}" for one in list(lessons.LESSONS.values())[number + 1 : number + 2]]
    assert later == following
    assert figures(app)


def test_an_upload_is_refused_or_taken_with_a_message():
    app = open_page("pages/data.py")
    settled(app.file_uploader(key="upload").set_value(("t.csv", b"", "text/csv")).run())
    assert "empty" in app.error[0].value
    before = app.error[0].value.replace("\\", "").replace("\u2060", "")
    content = b"a;b;when\n1,5;x;2026-01-02\n2;y;2026-01-03\n"
    settled(app.file_uploader(key="upload").set_value(("t.csv", content, "text/csv")).run())
    assert not app.exception
    assert "Read as UTF-8, separated by semicolons." in " ".join(t.value for t in app.text)
    assert "The table is still the one before: census" in before
    assert "They are public: fill them in below" in said(app).replace("\\", "").replace("\u2060", "")
    assert "dates, which are too detailed" in said(app).replace("\\", "")
    settled(button(app, "Fill in from my data (not protected)").click().run())
    assert "is outside the promise" in " ".join(c.value for c in app.caption)
    button(app, "Forget my table").click().run()
    assert not app.exception
    assert any("census" in t.value for t in app.text)


def test_people_with_several_rows_are_protected_by_more_noise():
    app = open_page("pages/data.py")
    rows = "\n".join(f"{i // 3},{i % 2}" for i in range(3000))
    settled(app.file_uploader(key="upload").set_value(("t.csv", f"who,x\n{rows}\n".encode(), "text/csv")).run())
    table = app.session_state["session"].table
    table.set_schema({"columns": {"x": {"kind": "integer", "size": 2}}})
    app.run()
    next(s for s in app.selectbox if s.label == "Can one person have several rows?").set_value("who").run()
    app.number_input[0].set_value(2).run()
    assert "one person with at most 2 rows" in " ".join(c.value for c in app.caption).replace("\\", "")
    app.switch_page(str(ROOT / EXPLORE))
    app = settled(app.run())
    assert not app.error
    assert "2,000 rows" in " ".join(c.value for c in app.caption)
    assert (
        next(f.value for f in app.dataframe if "setting" in f.value)["value"].iloc[-1] == "0.007771"
    )  # √2 · 2 / (2000 μ)


def button(app, label):
    return next(b for b in app.button if b.label == label)


@pytest.mark.parametrize("sample", [samples.census, samples.berkeley])
def test_the_schema_grid_says_what_the_schema_says(sample):
    domain = sample().domain
    table = Table("t", sample().frame, domain_to_json(domain), "", uploaded=True)
    said = {row["column"]: entry_of(row["column"], row, {}) for row in _rows(table)}
    ordered = {c.name: said[c.name] | {"ordered": c.ordered} for c in domain.columns}
    assert domain_from_json({"columns": ordered}) == domain


def test_the_glossary_has_the_words_that_pages_use_and_finds_them():
    app = open_page("pages/glossary.py")
    told = app.dataframe[0].value.set_index("experts say")
    for word in ("marginal", "cell", "workload", "point", "frontier", "sampling floor", "disagreement"):
        assert words.meaning(word) == f"**{word[0].upper()}{word[1:]}**: {told.loc[word, 'meaning']}"
        assert told.loc[word, "people say"]
    app.text_input(key="glossary-search").set_value("REPEAT").run()
    assert list(app.dataframe[0].value["experts say"]) == ["seed", "trial"]
    app.text_input(key="glossary-search").set_value("mwem").run()
    assert list(app.dataframe[1].value["algorithm"]) == ["Multiplicative weights (MWEM)"]
    assert {len(cls.about.brief.split()) <= 7 for cls in ALGORITHMS.values()} == {True}
