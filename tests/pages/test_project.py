"""A project that is saved on one tab opens on another: the same schema, settings and run."""

import json

import pytest

from dpcore import PrivacyUnit
from dpcore.evaluation.project import MAX_PROJECT_BYTES, Project
from pages._ui.project import opened_project, saved_project
from pages._ui.session.table import Table
from tests.evaluation.test_project import WRONG
from tests.pages.headless import (
    algorithm_title,
    caption_text,
    close_tab,
    error_text,
    open_page,
    run_until_settled,
    session,
    set_fields,
    switch_page,
    table,
    typed_schema,
    unescape_markdown,
    upload,
)
from tests.pages.stream import streamed
from tests.small_problems import categorical, integer, parametrize

CSV = ("who,job,age\n" + "\n".join(f"{i // 2},{'ab'[i % 2]},{i % 7}" for i in range(300))).encode()
SCHEMA = {"columns": {"job": categorical("a", "b"), "age": integer(0, 9)}}


def saved(heard):
    """The last project that a tab has handed over."""
    documents = [json.loads(text) for text in heard.downloads if '"decisions"' in text]
    return Project.from_json(documents[-1]), documents[-1]


def save(app):
    """The project that Share of the page on a tab saves."""
    with streamed() as heard:
        run_until_settled(app.run())
        return saved(heard)


def open_project(app, document, name="project.json"):
    """Bring a project's file to Share."""
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    uploader = app.file_uploader(key=opened_project.UPLOAD_KEY)
    return run_until_settled(uploader.set_value((name, content, "application/json")).run())


def link_of(app):
    """The settings of the link to Explore."""
    mine = session(app)
    project = mine.resources[opened_project.PROJECT_NAME].project
    return opened_project.link_settings(project.experiment, mine.table)[0]


def another_tab(page):
    """A page in another tab."""
    close_tab()
    return open_page(page)


def uploaded():
    app = typed_schema(upload(open_page("data"), CSV), SCHEMA)
    table(app).set_privacy_unit(PrivacyUnit("who", 2))
    return run_until_settled(app.run())


def test_an_uploads_project_opens_on_another_tab_with_the_same_run():
    app = switch_page(uploaded(), "explore")
    set_fields(app, epsilon=3.0, algorithm=algorithm_title("mwem"), seed=4, repeats=2)
    set_fields(app, questions=["every single column", "thresholds"], **{"mwem.rounds": 5})
    project, document = save(app)
    assert project.experiment.task.queries == ("marginals:1", "prefixes:age")
    assert project.experiment.budget.epsilon == 3.0
    assert project.experiment.task.unit == PrivacyUnit("who", 2)
    assert project.origins == {"job": "typed", "age": "typed"}
    assert not {"0,a,0", "299"} & set(json.dumps(document).split('"')), "no row is in it"
    other = open_project(another_tab("data"), document)
    assert "waits for a table with its columns: job, age" in unescape_markdown(other.info[0].value)
    run_until_settled(upload(other, CSV, "again.csv").run())
    assert table(other).schema == document["schema"]
    assert table(other).unit == PrivacyUnit("who", 2)
    assert "“project.json” is open." in unescape_markdown(other.success[0].value)
    link = link_of(other)
    assert link["algorithm"] == algorithm_title("mwem")
    assert (link["epsilon"], link["seed"], link["repeats"], link["mwem.rounds"]) == (
        "3",
        "4",
        "2",
        "5",
    )
    for name, value in link.items():
        other.query_params[name] = value
    again, _ = save(switch_page(other, "explore"))
    assert again.experiment.task.queries == project.experiment.task.queries
    assert again.experiment.algorithm == project.experiment.algorithm
    assert again.experiment.budget == project.experiment.budget
    assert again.experiment.seeds == project.experiment.seeds
    assert not other.run().success, "it was seen, and is not said again"


def test_a_samples_project_names_the_sample_and_its_settings():
    app = open_page("explore", sample="berkeley", epsilon="0.5")
    project, document = save(app)
    assert project.experiment.task.table == "berkeley.csv"
    other = open_project(another_tab("guarantee"), document)
    assert table(other).name == "berkeley"
    link = link_of(other)
    assert link["sample"] == "berkeley"
    assert link["columns-berkeley"] == list(project.experiment.task.columns)
    assert link["questions"] == ["every pair"]


def test_before_anything_ran_the_project_is_what_explore_begins_with():
    begun, _ = save(open_page("data", sample="titanic"))
    shown, _ = save(open_page("explore", sample="titanic"))
    assert begun.experiment == shown.experiment


def test_what_was_guessed_or_read_off_stays_so_in_a_project():
    app = upload(open_page("data"), CSV)
    mine = table(app)
    typed = saved_project.TypedChoices(budget=saved_project.selected_budget(), reason="", ledger="")
    for change in (lambda: None, lambda: mine.update_entries(SCHEMA["columns"], "read off")):
        change()
        document = saved_project.project_of_table(mine, None, typed).to_json()
        project = Project.from_json(json.loads(json.dumps(document)))
        other = Table("t.csv", mine.frame, {}, "", uploaded=True)
        opened_project._apply_schema(project, other, lambda *_: None)
        assert other.schema == mine.schema
        assert other.origins == mine.origins
        assert other.is_schema_inferred
        assert other.kinds_confirmed == mine.kinds_confirmed
        assert other.has_data_entries == mine.has_data_entries
        other.confirm_kinds()
        mine.confirm_kinds()
        assert other.is_schema_inferred == mine.is_schema_inferred
        assert other.origins == mine.origins


@parametrize("name", WRONG)
def test_a_wrong_project_changes_nothing_and_is_said(name, monkeypatch):
    taken = []
    monkeypatch.setattr(opened_project, "start_schema_change", taken.append)
    opened = opened_project.OpenedProject()
    monkeypatch.setattr(opened_project, "_opened_project", lambda: opened)
    file = FakeFile(json.dumps(WRONG[name]).encode())
    monkeypatch.setattr(opened_project.st, "session_state", {opened_project.UPLOAD_KEY: file})
    opened_project._take_project()
    assert opened.problem
    assert opened.project is None
    assert not taken


class FakeFile:
    """A file as an uploader holds it."""

    name = "p.json"

    def __init__(self, content):
        self.content = content
        self.size = len(content)

    def read(self, *_):
        """All of it, once."""
        content, self.content = self.content, b""
        return content


def test_a_hostile_file_is_one_message_in_plain_text():
    app = open_page("explore", sample="berkeley")
    before = table(app).schema
    open_project(app, b"[" * 100_000, "![x](http://evil.example).json")
    assert "json" in error_text(app)
    assert "](http://evil" not in app.error[0].value
    assert table(app).schema == before


def test_a_file_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(opened_project, "read_json", pytest.fail)
    file = FakeFile(b"")
    file.size = MAX_PROJECT_BYTES + 1
    with pytest.raises(opened_project.InputError, match="too large"):
        opened_project.read_project(file, "p.json")


def test_in_the_stakeholder_view_a_project_has_what_was_entered_and_none_is_opened():
    app = uploaded()
    app.session_state["reason"] = "because of Ann"
    app.query_params["view"] = "stakeholder"
    project, document = save(app)
    assert project.experiment.task.schema["columns"] == SCHEMA["columns"]
    assert (project.reason, project.ledger) == ("", "")
    assert "turn the stakeholder view off" in caption_text(app)
    assert opened_project.UPLOAD_KEY not in {u.key for u in app.file_uploader}


def test_in_the_stakeholder_view_nothing_is_saved_of_a_schema_that_rests_on_the_data():
    app = upload(open_page("data"), CSV)
    app.query_params["view"] = "stakeholder"
    with streamed() as heard:
        run_until_settled(app.run())
    assert not any('"decisions"' in text for text in heard.downloads)
    assert "this view saves no project" in caption_text(app)
