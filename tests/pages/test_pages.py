"""Every page runs without an exception, headless; what a visitor sees first is there."""

import re
from html import unescape

import numpy as np
from plotly.graph_objects import Figure

from dpcore import ALGORITHMS, Budget, Marginals
from dpcore.core.parameters import SYMBOL_MEANINGS
from dpcore.core.provenance import Provenance
from pages._ui.charts import figure_frame
from pages._ui.charts.dragged_bars import read_reported_stop
from pages._ui.components import EPSILON_OPTIONS, glossary_words, question_choice
from pages._ui.components.frame import PUBLIC_SAMPLE_TEXT
from pages._ui.components.menu import ENTRIES_BY_LABEL
from pages._ui.lessons import lesson as lessons
from pages._ui.session import sample_table
from pages._ui.start.admissions import SEEDS, SHOWN_COLUMNS
from tests.pages.headless import (
    ROOT,
    algorithm_title,
    click_and_wait,
    dataframe,
    error_text,
    figures,
    follower_values,
    heading,
    markdown_text,
    new_tab,
    open_page,
    set_fields,
    switch_page,
)
from tests.small_problems import QUERIES, all_tables, parametrize, run_to_end
from tests.source_map import Source

HOSTILE = [
    "",
    "inf",
    "1e999",
    "NaN",
    "-1",
    "[]",
    "9" * 400,
    "<script>",
    "$x^2$",
    "x" * 3000,
    "../../etc/passwd",
    "1,2",
]


@parametrize(
    "name",
    [
        "release",
        "ask",
        "guarantee",
        "audit",
        "evolution",
        "learning",
        "compare",
        "alternatives",
    ],
)
def test_nothing_in_the_address_breaks_a_page(name):
    texts = [path.read_text() for path in (ROOT / "pages").rglob("*.py")]
    keys = sorted({key for text in texts for key in re.findall(r'key="([a-z-]+)"', text)})
    assert {"question", "compared-by"} <= set(keys), "the pattern finds the keys of widgets"
    app = new_tab()
    for i, key in enumerate(keys):
        app.query_params[key] = HOSTILE[i % len(HOSTILE)]
    assert switch_page(app, name).title[0].value


BADGE = re.compile(r":\w+-badge\[:material/\w+: ([^\]]*)\]")
BADGES = {
    "explore": [Provenance.REAL_DATA],
    "compare": [Provenance.REAL_DATA],
    "learning": [Provenance.REAL_DATA],
    "release": [Provenance.PUBLIC],
    "ask": [Provenance.PUBLIC],
    "guarantee": [Provenance.PUBLIC],
    "alternatives": [Provenance.REAL_DATA],
    "audit": [Provenance.PUBLIC],
    "evolution": [Provenance.PUBLIC],
}


def badges(app):
    found = [words for element in app.markdown for words in BADGE.findall(element.value)]
    return [
        Provenance.REAL_DATA
        if words == PUBLIC_SAMPLE_TEXT
        else Provenance(words.removesuffix(" yet"))
        for words in found
    ]


@parametrize("page", ["app", *sorted(path.stem for path in (ROOT / "pages").glob("*.py"))])
def test_a_page_runs_and_has_one_badge_and_others_only_where_they_differ(page):
    app = open_page(page, **{} if page == "app" else {"sample": "berkeley"})
    assert not app.error
    assert app.title[0].value
    own = BADGES.get(page, [])
    found = badges(app) if page != "glossary" else []
    assert found[: len(own)] == own
    assert not set(own) & set(found[len(own) :]), "no badge repeats the page's"
    assert Provenance.RELEASED not in found, "nothing was released"


def heavy_pages(source):
    """The pages that are long, or that compute by themselves."""
    for path in source.pages:
        if path.count("/") < 2:
            if len(source.texts[path].splitlines()) > 160:
                yield f"{path} is long"
            if "numpy" in source.packages(path):
                yield f"{path} computes"


def test_a_page_is_short_and_computes_nothing():
    source = Source.real()
    assert list(heavy_pages(source)) == []
    for path in ("app.py", "pages/explore.py"):
        assert list(heavy_pages(source.with_breach({path: "import numpy as np"}))) == [
            f"{path} computes"
        ]
        assert list(heavy_pages(source.with_breach({path: "\n" * 161}))) == [f"{path} is long"]


def stop(data):
    return data["stops"][data["at"]]


def test_start_has_a_chart_before_any_click_and_follows_epsilon():
    data = follower_values(open_page("app"))
    at = data["at"]
    first = np.array(data["synthetic"])[:, at][0]
    others = np.array(data["synthetic"])[1:, at]
    assert 0.01 < np.abs(first - data["real"]).max() < 0.03, "seen, and small"
    assert ((others.min(axis=0) < first) & (first < others.max(axis=0))).all(), (
        "no bar at the end of its range"
    )
    assert stop(data) == "ε = 0.1"
    assert "ε = 0.1**" in data["sentences"][0][at]
    assert "50.4 times in 100" in data["sentences"][0][at]
    frames_are_runs(data)
    data = follower_values(open_page("app", epsilon="1"))
    assert stop(data) == "ε = 1"
    assert "54 times in 100" in data["sentences"][0][data["at"]]


@parametrize(
    "said", [None, "x", [1], {}, *({"stop": v} for v in ("1", 1.5, True, -1, 3, [1], None, 10**9))]
)
def test_what_a_browser_sends_that_is_no_stop_moves_nothing(said):
    assert read_reported_stop(said, 3) is None
    assert [read_reported_stop({"stop": stop}, 3) for stop in range(3)] == [0, 1, 2]


def frames_are_runs(data):
    """With the same noise at every ε."""
    table = sample_table("berkeley")
    rows = table.encoded_rows(table.domain.names)
    problem = all_tables(table.domain, rows.n)
    shown = Marginals(table.domain, [SHOWN_COLUMNS])
    assert data["real"] == shown.answers_of_rows(rows).tolist()
    for drawing, epsilon in ((0, 0.01), (1, 0.3), (3, 10.0)):
        run = run_to_end("gaussian_maxent", problem, rows, Budget(epsilon, 1e-9), SEEDS[drawing])
        released = data["synthetic"][drawing][EPSILON_OPTIONS.index(epsilon)]
        assert released == run.release.answers(shown).tolist()
        off = float(np.abs(np.subtract(released, data["real"])).max())
        said = data["sentences"][drawing][EPSILON_OPTIONS.index(epsilon)]
        assert f"off by **{round(rows.n * off):,} of {rows.n:,} people**" in said
    assert np.array_equal(data["low"], np.min(data["synthetic"], axis=0))
    assert np.array_equal(data["high"], np.max(data["synthetic"], axis=0))
    assert np.max(data["synthetic"]) <= data["top"]


def test_explore_has_every_chart_and_follows_what_is_chosen_and_typed():
    app = open_page("explore")
    assert [tab.label for tab in app.tabs] == [
        "Groups",
        "Ask a question",
        "Associations",
        "Budget used",
        "Two settings",
        "Download",
    ]
    drawn = figures(app)
    at_one = dataframe(app, "error")["error"].max()
    assert len(drawn) == 5
    assert all(Figure(figure).data for figure in drawn), "Plotly checks all of it"
    scales = [
        trace["colorscale"]
        for figure in drawn
        for trace in figure["data"]
        if trace["type"] == "heatmap"
    ]
    assert scales == [figure_frame.SHADES, figure_frame.DIVERGING]
    app = set_fields(
        open_page("explore", below="Ask a question"), question="sex = Female and age < 35"
    )
    assert "**Real " in markdown_text(app)
    assert Provenance.RELEASED not in badges(app), (
        "an answer of an exploration is not called protected"
    )
    set_fields(app, question="sex = Femal")
    assert "Femal" in error_text(app)
    set_fields(app, question="", delta=0.0)
    assert "delta=0" in error_text(app)
    set_fields(app, epsilon=0.01, delta=1e-9)
    assert dataframe(app, "error")["error"].max() > 3 * at_one, (
        "a smaller ε costs more, and no choice is lost"
    )


@parametrize("name", QUERIES)
def test_explore_runs_every_algorithm(name):
    """Opened by a link, with the slider of α where the algorithm has one."""
    app = open_page("explore", sample="berkeley", algorithm=algorithm_title(name), repeats="1")
    assert app.selectbox(key="algorithm").value == algorithm_title(name)
    assert len(figures(app)) == 5
    sliders = [w.label for w in app.sidebar.select_slider]
    assert sliders[:2] == ["Privacy budget (ε)", "Failure probability (δ)"]
    assert (sliders[2:3] == ["Smoothness (α)"]) == hasattr(ALGORITHMS[name](), "alpha")


def test_explore_asks_every_kind_of_question():
    """Each kind is a run of its own: no two say the same."""
    told = []
    for kind in question_choice.kinds_on_offer(sample_table("census").domain):
        app = open_page("explore", questions=kind, repeats="1")
        pattern = r"(People in a wrong cell|Error of an answer).*"
        told.append(re.search(pattern, markdown_text(app), re.DOTALL)[0])
    assert len(set(told)) == len(told)


@parametrize("key", lessons.LESSONS)
def test_a_lesson_asks_first_and_then_shows_and_explains(key):
    lesson = lessons.LESSONS[key]
    app = open_page("explore", lesson=key, sample=lesson.settings["sample"])
    (asked,) = figures(app)
    assert asked["data"][0]["text"][1] == "<b>?</b>", "the answer is no part of the question"
    assert app.radio[0].help == (glossary_words.glossary_tooltip(*lesson.glossary_terms) or "")
    right = lesson.answers[lesson.find_answer().right_answer_index]
    app.radio[0].set_value(right).run()
    click_and_wait(app, "Reveal")
    assert f"Right: {right}." in markdown_text(app)
    assert follower_values(app)["labels"] == [bar.name for bar in lesson.bars]
    later = [link.proto.label for link in app.get("link_button")]
    number = list(lessons.LESSONS).index(key)
    assert heading(app).startswith(f"Lesson {number + 1} of {len(lessons.LESSONS)}: ")
    following = [
        f"Next lesson: {one.title}"
        for one in list(lessons.LESSONS.values())[number + 1 : number + 2]
    ]
    assert later == following
    assert figures(app)


def glossary(app):
    """What people say for each word of the glossary, and its meaning, by the word."""
    body = next(h.proto.body for h in app.get("html") if "<details" in h.proto.body)
    card = r"<b>(.*?) \((.*?)\)</b><br>(.*?)</summary><div>(.*?)(?: <i>(.*?)</i>)?</div>"
    cards = re.findall(card, unescape(body))
    return {
        word: (said, f"{first} {rest}".strip(), example)
        for said, word, first, rest, example in reversed(cards)
    }


def test_the_glossary_has_the_words_that_pages_use_and_finds_them():
    app = open_page("glossary")
    told = glossary(app)
    for word in (
        "marginal",
        "cell",
        "workload",
        "point",
        "frontier",
        "sampling floor",
        "disagreement",
    ):
        assert (
            glossary_words.glossary_tooltip(word)
            == f"**{word[0].upper()}{word[1:]}**: {told[word][1]}"
        )
        assert told[word][0]
    assert all(re.search(r"\d", told[word][2]) for word in glossary_words.GLOSSARY), (
        "an example in numbers"
    )
    assert "at most 50.4 at ε = 0.1, 54 at ε = 1, 78 at ε = 10. A coin: 50." in told["ε"][2]
    assert "12 releases of ε = 1 fit into a whole budget of 3" in told["composition"][2], (
        "as Release says"
    )
    assert f"{sample_table('census').domain.size:,} combinations" in told["cell"][2]
    assert lessons.LESSONS["small-groups"].find_answer().sentence in told["disagreement"][2], (
        "one rounding"
    )
    set_fields(app, glossary_search="REPEAT")
    assert set(glossary(app)) == {"seed", "trial"}
    set_fields(app, glossary_search="mwem")
    assert list(app.dataframe[0].value["algorithm"]) == ["Multiplicative weights (MWEM)"]
    assert {len(cls.about.brief.split()) <= 7 for cls in ALGORITHMS.values()} == {True}


def test_a_page_has_one_name_in_the_menu_and_as_its_title():
    titled = {label for label, entry in ENTRIES_BY_LABEL.items() if entry.title}
    assert titled == {"Start"}, "which greets; any other page is titled as the menu names it"


@parametrize(
    "search", ["mwem", "ε", "Sampling", "protected", "noise", "frank-wolfe", "zzz", "<b>*zz*"]
)
def test_the_search_filters_every_part_of_the_glossary_and_says_how_many_it_found(search):
    app = set_fields(open_page("glossary"), glossary_search=search)
    counts = {
        tab.label.partition(" (")[0]: int(re.search(r"\((\d+)\)$", tab.label)[1])
        for tab in app.tabs
    }
    parts = {tab.label.partition(" (")[0]: tab for tab in app.tabs}
    assert list(counts) == ["Words", "Algorithms", "Letters", "Labels"]
    whole = {
        "Words": [
            f"{word} {entry['plain']} {entry['means']}"
            for word, entry in glossary_words.GLOSSARY.items()
        ],
        "Letters": [f"{sign} {means}" for sign, means in SYMBOL_MEANINGS.items()],
        "Labels": [f"{kind.value} {kind.meaning}" for kind in Provenance],
    }
    for name, texts in whole.items():
        assert counts[name] == sum(search.casefold() in text.casefold() for text in texts), name
    assert counts["Algorithms"] == (
        len(parts["Algorithms"].dataframe[0].value) if counts["Algorithms"] else 0
    )
    assert counts["Algorithms"] >= sum(
        search.casefold() in cls.about.title.casefold() for cls in ALGORITHMS.values()
    )
    assert (len(parts["Letters"].dataframe[0].value) if counts["Letters"] else 0) == counts[
        "Letters"
    ]
    assert all(len(frame.value) for frame in app.dataframe), "no table is empty"
    for name, count in counts.items():
        empty = [
            caption.value
            for caption in parts[name].caption
            if caption.value.startswith("Nothing behind")
        ]
        assert bool(empty) == (not count), name
        assert all(other in empty[0] for other, some in counts.items() if some and empty)


def test_the_open_part_of_the_glossary_stays_open_while_one_searches():
    app = open_page("glossary")
    app.session_state["glossary-part"] = "Letters"
    app.run()
    assert app.session_state["glossary-part"] == "Letters"
    set_fields(app, glossary_search="noise")
    assert app.session_state["glossary-part"].startswith("Letters (")
