"""The stakeholder view of a private table: nothing that is sent, drawn or handed over there depends
on its rows.
"""

import ast
import re

import numpy as np
import pandas as pd
import pytest

from dpcore import PrivacyUnit
from pages._ui.guarantee import promise
from pages._ui.jobs import predicted_runs
from pages._ui.session import stakeholder_wall
from pages._ui.session import visible_table as table_of_page
from pages._ui.session.table import Table
from tests.pages.headless import (
    ROOT,
    button_labels,
    click_and_wait,
    close_tab,
    error_text,
    everything,
    figures,
    new_tab,
    run_comparison,
    run_until_settled,
    session,
    set_fields,
    switch_page,
    table,
    unescape_markdown,
    upload,
)
from tests.pages.stream import streamed
from tests.pages.test_measuring import TRY
from tests.pages.test_release import release
from tests.small_problems import categorical, integer, parametrize, private

N = 307
MARKER = "MARKER_x7"
OTHER_MARKER = "MARKER_q3"
JOBS = ["cook", "clerk", "nurse"]
SCHEMA = {
    "columns": {
        "job": categorical(*JOBS),
        "sex": categorical("f", "m"),
        "age": integer(0, 99, bins=5),
        "pay": integer(0, 9999, bins=4, out_of_range="clip"),
    }
}
OPEN = {
    "columns": SCHEMA["columns"]
    | {"job": private("categorical"), "pay": private("integer", bins=4)}
}
PERSON = "who"
# Pages, each with what opens its parts: in the session, as a click leaves it there.
VISITS = [
    ("start", {}),
    *(
        ("data", {"data-part": part})
        for part in ("File and schema", "Rows", "Impossible combinations", "For experts")
    ),
    *(
        ("explore", {"below": part, "whole-table": part == "Groups"})
        for part in (
            "Groups",
            "Ask a question",
            "Associations",
            "Budget used",
            "Two settings",
            "Download",
        )
    ),
    *(
        ("compare", {"details": part})
        for part in ("Ranking", "Where from", "Conclusions", "Purposes", "Other tools", "Report")
    ),
    ("release", {}),
    *(
        ("guarantee", {"expert": part})
        for part in ("Suspicions", "Mistakes", "Cost", "Proof", "All releases")
    ),
    ("alternatives", {}),
    ("audit", {}),
    ("lessons", {}),
    ("glossary", {}),
    *(("evolution", {"part": part}) for part in ("My places", "My table", "For experts")),
    *(("learning", {"part": part}) for part in ("Median", "Line", "Prediction", "For experts")),
]
UNSAFE = (
    "Forget my table",
    "Release",
    "Apply and play",
    "Run the figure",
    "Read it",
    "Play",
    "Pause",
    "Try my places",
)


@pytest.fixture(autouse=True)
def predictions_at_once(monkeypatch):
    """Predictions are there when a page is first drawn: their progress is that of the machine."""
    monkeypatch.setattr(predicted_runs, "wait_or_draw_progress", lambda group, _: group.wait(60))


def rows(seed, marker, rare):
    """A table of N rows: another one for each seed, with a value that stands in no schema in `rare`
    of its rows.
    """
    draws = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "who": draws.integers(0, 120, N),
            "job": draws.choice(JOBS, N, p=draws.dirichlet(np.ones(3))),
            "sex": draws.choice(["f", "m"], N, p=draws.dirichlet(np.ones(2))),
            "age": draws.integers(0, 100, N),
            "pay": draws.integers(1, 9999, N),
        }
    )
    frame["note"] = np.where(np.arange(N) < rare, marker, "-")
    return frame


FIRST = rows(1, MARKER, 17)
SECOND = rows(2, OTHER_MARKER, 23)


def brought(frame, schema=None, person=None, **query):
    """The Data page in a new tab, with a table and what a person says of it."""
    close_tab()
    app = new_tab(**query)
    switch_page(app, "data")
    upload(app, frame.to_csv(index=False).encode())
    whole = table(app)
    if schema is not None:
        whole.set_schema(schema)
    if person is not None:
        whole.set_privacy_unit(PrivacyUnit(*person))
    return run_until_settled(app.run())


def hide(app):
    """Turn the view on, as an address does."""
    app.query_params["view"] = "stakeholder"
    return run_until_settled(app.run())


def work(app):
    """Do in the normal view what a session does with a table: run, compare, learn, evolve."""
    set_fields(switch_page(app, "explore"), repeats=2)
    run_comparison(switch_page(app, "compare"), epsilons=(1.0,))
    set_fields(switch_page(app, "alternatives"), disclosure_rules=["exact tables"])
    click_and_wait(app, "Attack these tables")
    click_and_wait(visit(app, "learning", {"part": "Prediction"}), "Learn")
    click_and_wait(visit(app, "evolution", {"part": "My table"}), "Evolve the rows")
    return app


def visit(app, page, opened):
    """A page with that part of it open, as a click opens it."""
    if app.session_state["page"] != page.capitalize():
        switch_page(app, page)
    for key, value in opened.items():
        app.session_state[key] = value
    return run_until_settled(app.run())


def crawl(app, heard, *, deep=False):
    """All that is sent on every page and part of it, by page and part; where `deep`, by widget that
    was moved, too.
    """
    sent = {}

    def seen(*what):
        sent[what] = heard.elements
        heard.empty()

    heard.empty()
    for page, opened in VISITS:
        if app.session_state["page"] != page.capitalize():
            switch_page(app, page)
            if (
                page != "evolution"
            ):  # it begins with runs on a public sample, whose progress is that of the machine
                seen(page)
            heard.empty()
        visit(app, page, opened)
        part = next(iter(opened.values()), "")
        seen(page, part)
        if deep and part in ("", *LAST):
            for name in moved(app):
                seen(page, part, name)
    return sent


LAST = (
    "For experts",
    "Download",
    "Report",
    "Proof",
    "Median",
)  # parts in which every widget is moved, too


def moved(app):
    """Move each widget of a page, one after the other: to its last option, on, or pressed; yields
    its name.
    """
    for kind in ("selectbox", "radio", "toggle", "checkbox", "button"):
        names = [(w.key, w.label) for w in getattr(app, kind) if not w.disabled]
        for key, label in names:
            if (
                label.startswith(UNSAFE)
                or key in ("stakeholder-view", "sample")
                or label == "Cancel"
            ):
                continue
            found = [w for w in getattr(app, kind) if (w.key, w.label) == (key, label)]
            if not found:  # a change of another one took it away
                continue
            if kind == "button":
                found[0].click()
            elif kind in ("toggle", "checkbox"):
                found[0].set_value(not found[0].value)
            elif kind == "radio":
                found[0].set_value(found[0].options[-1])
            elif len(found[0].options) > 1:
                found[0].select_index(len(found[0].options) - 1)
            run_until_settled(app.run())
            yield kind, label


def different(one, two):
    """Where two crawls differ, each with the first lines that do."""
    assert one.keys() == two.keys()
    found = {}
    for what, sent in one.items():
        if sent != two[what]:
            pairs = (
                (a, b)
                for x, y in zip(sent, two[what], strict=False)
                for a, b in zip(x.split("\n"), y.split("\n"), strict=False)
                if a != b
            )
            found[what] = next(pairs, (len(sent), len(two[what])))
    return found


STATES = {
    "as it was guessed": (None, None),
    "typed": (SCHEMA, None),
    "to be measured": (OPEN, None),
    "of people": (SCHEMA, (PERSON, 2)),
    "that does not serve it": (
        {"columns": {"job": categorical(*JOBS[:2]), "age": integer(0, 50)}},
        None,
    ),
    "that serves the first alone": (SCHEMA, None),
}


@parametrize("state", STATES)
def test_what_is_sent_is_the_same_whatever_the_rows_are(state):
    both = []
    with streamed() as heard:
        for frame in (
            FIRST,
            SECOND.assign(age=200) if state == "that serves the first alone" else SECOND,
        ):
            both.append(crawl(hide(brought(frame, *STATES[state])), heard, deep=state == "typed"))
    assert different(*both) == {}
    words = "\n".join(both[0]["explore", "Groups"])
    assert (
        stakeholder_wall.LEFT_OUT_TEXT in words
        or stakeholder_wall.SCHEMA_LEFT_OUT_TEXT in words
        or "Some columns of this table are to be measured" in words
    )
    assert (":small[predicted" in words) == (state not in ("as it was guessed", "to be measured"))
    assert MARKER not in "\n".join(text for sent in both[0].values() for text in sent)


def test_what_ran_before_the_view_is_not_found_in_it_and_is_there_again_after_it():
    both = []
    normal = []
    with streamed() as heard:
        for frame in (FIRST, SECOND):
            app = work(brought(frame, SCHEMA))
            heard.empty()
            assert len(figures(switch_page(app, "explore"))) >= 4, "the normal view shows what ran"
            normal.append(heard.elements)
            runs = session(app).resources["explore"].group.requested
            assert not figures(hide(app))
            assert len(figures(set_fields(app, stakeholder_view=False))) >= 4
            assert session(app).resources["explore"].group.requested is runs, "nothing runs anew"
            both.append(crawl(hide(app), heard))
    assert different(*both) == {}
    assert normal[0] != normal[1], "the normal view depends on the rows"


def test_a_trial_before_the_view_is_not_found_in_it():
    both = []
    with streamed() as heard:
        for frame in (FIRST, SECOND):
            app = click_and_wait(brought(frame, OPEN), TRY)
            assert table(app).trial is not None
            both.append(crawl(hide(app), heard))
    assert different(*both) == {}
    assert "values shared by fewer than about" in "\n".join(both[0]["data", "Rows"]), (
        "what it costs needs no data"
    )


def test_the_normal_view_sends_the_marker_and_the_counts():
    """The positive control of the stream: rows, guesses and bars reach it, and so would they in the
    view.
    """
    with streamed() as heard:
        app = brought(FIRST, SCHEMA)
        visit(app, "data", {"data-part": "Rows"})
        assert MARKER in heard.text
        heard.empty()
        set_fields(
            visit(app, "explore", {"below": "Ask a question"}), question="sex = f and job = cook"
        )
        share = ((FIRST["sex"] == "f") & (FIRST["job"] == "cook")).mean()
        assert f"Real {share:.2%}" in unescape_markdown(heard.text.replace("\\\\", "\\"))


def test_a_seeded_run_on_an_invented_table_leaves_nothing_to_take_off():
    """The attack: what the view shows of a seeded run, less what it shows of an invented table, is
    the difference.
    """
    shown = []
    with streamed() as heard:
        for frame in (FIRST, SECOND):
            app = hide(brought(frame, SCHEMA))
            heard.empty()
            for part in ("Ask a question", "Associations", "Download"):
                visit(app, "explore", {"below": part})
                if any(field.key == "question" for field in app.text_input):
                    set_fields(app, question="sex = f and job = cook")
            shown.append(re.findall(r"-?\d+(?:\.\d+)?", "\n".join(heard.elements)))
            begun = [name for name in session(app).resources if name.startswith("explore")]
    assert len(shown[0]) > 100
    assert shown[0] == shown[1]
    assert not begun, "no run was begun"


BROKEN = b"a,b\n1,2\n" + MARKER.encode() + b",2,3\n"


def test_what_is_wrong_with_a_file_is_not_quoted_in_any_message():
    with streamed() as heard:
        app = new_tab()
        switch_page(app, "data")
        upload(app, BROKEN)
        assert "line 3" in heard.text, "the positive control"
        close_tab()
        app = new_tab(view="stakeholder")
        switch_page(app, "data")
        heard.empty()
        upload(app, BROKEN)
        assert "line 3" not in heard.text
        assert MARKER not in heard.text
        assert unescape_markdown(error_text(app)) == stakeholder_wall.REASON_LEFT_OUT_TEXT


def test_a_release_made_before_is_shown_and_downloaded_in_the_view(tmp_path):
    app = brought(FIRST, SCHEMA)
    set_fields(switch_page(app, "release"), ledger_folder=str(tmp_path))
    reason = [area for area in app.text_area if area.key == "reason"]
    if reason:
        set_fields(app, reason="a test")
    made = release(app)
    files = session(made).resources["desk"].job.result
    with streamed() as heard:
        hide(app)
        assert repr(files["card.html"]) in heard.downloads
        click_and_wait(app, "Prepare another release")
        assert stakeholder_wall.ONLY_RELEASED_TEXT in everything(app)
        assert not [label for label in button_labels(app) if label.startswith("Release: permanent")]
        assert "Download an earlier release again" in [s.value for s in app.subheader]


# The wall itself


def test_all_that_a_table_has_is_withheld_but_what_the_wall_lists():
    whole = Table("t.csv", FIRST, SCHEMA, "", uploaded=True)
    face = stakeholder_wall.public_table_of(whole)
    names = {name for name in [*dir(Table), *vars(whole)] if not name.startswith("__")}
    listed = {
        "name",
        "names",
        "row_count",
        "unit",
        "version",
        "entries",
        "constraints",
        "schema",
        "domain",
        "partial_schema",
        "n",
    }
    listed |= {
        "uploaded",
        "trial",
        "large_table",
        "source",
        "row_count_text",
        "is_schema_inferred",
        "schema_uses_real_data",
        "identity",
        "limited_rows_text",
    }
    withheld = set()
    for name in names:
        try:
            getattr(face, name)
        except stakeholder_wall.WithheldError:
            withheld.add(name)
    assert names - withheld == listed
    assert {
        "frame",
        "encoded_rows",
        "limited_frame",
        "column_cells",
        "counts",
        "encoded_by_columns",
        "guesses",
        "problems",
        "first_values",
    } <= withheld
    assert not [v for v in vars(face).values() if isinstance(v, pd.DataFrame | Table)], (
        "no way round leads to the rows"
    )


def test_a_new_panel_that_asks_for_rows_draws_the_words_in_its_place(monkeypatch):
    monkeypatch.setattr(promise, "draw_picture", lambda _: table_of_page().encoded_rows(("sex",)))
    app = switch_page(hide(brought(FIRST, SCHEMA)), "guarantee")
    assert not app.exception
    assert stakeholder_wall.LEFT_OUT_TEXT in [info.value for info in app.info]


def sources():
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]:
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def reached(attributes, names, tree):
    """Whether a file names one of these names, or takes one of these attributes of what `session()`
    returns.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if (
            isinstance(node, ast.Attribute)
            and node.attr in attributes
            and ast.unparse(node.value) == "session()"
        ):
            return True
    return False


CHANGE = {
    f"pages/_ui/data/{name}.py"
    for name in (
        *("table_choice", "column_grid", "grid_edits", "schema_measurement"),
        *("reading_doubts", "value_editor"),
    )
}
CHANGE |= {f"pages/_ui/jobs/{name}.py" for name in ("table_changes", "browser_memory")}
CHANGE |= {"pages/_ui/project/opened_project.py"}  # which the view does not let anybody open


def test_only_what_changes_a_table_reaches_round_the_wall():
    users = {
        path
        for path, tree in sources()
        if reached({"table", "resources", "memos"}, {"whole_table"}, tree)
    }
    assert users == CHANGE | {"pages/_ui/session/current_table.py"}
    for text in (
        "whole_table()",
        "session().table",
        "session().resources['explore']",
        "session().memos",
    ):
        assert reached({"table", "resources", "memos"}, {"whole_table"}, ast.parse(text)), (
            "the positive control"
        )
