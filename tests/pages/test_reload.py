"""After a reload the same table finds its questions and the record of its budget again."""

import datetime
import json

from pages._ui.jobs import browser_memory, ledger_memory
from pages._ui.jobs.ledger_memory import LedgerMemory, RememberedLedger
from pages._ui.session import current_table
from tests.pages.headless import (
    button,
    button_labels,
    everything,
    session,
    set_fields,
    switch_page,
    table,
    unescape_markdown,
)
from tests.pages.test_release import PEOPLE, SCHEMA, go, release, uploaded
from tests.small_problems import categorical, parametrize

LEDGER = {"folder": "/home/you/releases", "used_share": 0.08, "day": "2026-11-28"}


def kept_by_browser(app):
    """What the browser is given to keep of the table."""
    component = next(
        c for c in app.get("bidi_component") if browser_memory.COMPONENT_KEY in str(c.proto.id)
    )
    return json.loads(component.proto.json)


def remember(app, ledger):
    """A tab to which its browser has said what it knows of the table's ledger."""
    known = {table(app).identity: RememberedLedger.from_json(ledger)}
    session(app).resources[ledger_memory.MEMORY_NAME] = LedgerMemory(known)
    return app


def test_a_release_is_remembered_and_its_folder_is_offered_for_the_same_data(tmp_path):
    app = release(go(uploaded(), "release", tmp_path))
    kept = kept_by_browser(app)
    assert kept["columns"] == ["who", "job"]
    ledger = kept["said"]["ledger"]
    assert ledger["folder"] == str(tmp_path)
    assert 0 < ledger["used_share"] < 1
    assert ledger["day"] == datetime.date.today().isoformat()
    assert not {"a", "b"} & set(json.dumps(kept["said"]["ledger"]).split('"')), "no value"

    other = go(remember(uploaded(), ledger), "release")
    label = next(label for label in button_labels(other) if label.startswith("Use "))
    assert "(used today: " in unescape_markdown(label)
    assert unescape_markdown(label).startswith(f"Use {tmp_path}")
    button(other, label).click().run()
    assert "Used before" in everything(other)
    assert not any(name.startswith("Use /") for name in button_labels(other))


def test_a_second_record_is_warned_of(tmp_path):
    app = go(remember(uploaded(), LEDGER), "release", tmp_path)
    texts = [unescape_markdown(warning.value) for warning in app.warning]
    assert any("recorded in /home/you/releases (used " in text for text in texts)


def test_another_table_is_offered_no_folder(tmp_path):
    app = go(uploaded(), "release")
    assert not any(label.startswith("Use ") for label in button_labels(app))


@parametrize(
    "days, text",
    [
        (0, "used today: 8%"),
        (1, "used yesterday: 8%"),
        (40, "used on "),
    ],
)
def test_when_it_was_used_is_said_in_words(days, text):
    day = datetime.date.today() - datetime.timedelta(days)
    assert text in RememberedLedger("/a", 0.08, day).text


@parametrize(
    "document",
    [
        None,
        [],
        "x",
        LEDGER | {"folder": ""},
        LEDGER | {"folder": 3},
        LEDGER | {"folder": "x" * 1001},
        LEDGER | {"used_share": "8"},
        LEDGER | {"used_share": True},
        LEDGER | {"used_share": float("nan")},
        LEDGER | {"used_share": 10**400},
        LEDGER | {"used_share": -1},
        LEDGER | {"day": "yesterday"},
        LEDGER | {"day": 3},
    ],
)
def test_what_a_browser_may_send_of_a_ledger_is_checked(document):
    assert RememberedLedger.from_json(document) is None


def test_nothing_of_a_ledger_is_kept_on_a_server_for_others(monkeypatch):
    memory = LedgerMemory({})
    monkeypatch.setattr(ledger_memory, "_memory", lambda: memory)
    monkeypatch.setattr(ledger_memory, "is_public_host", lambda: True)
    mine = current_table.sample_table("titanic")
    mine.uploaded = True
    ledger_memory.remember_ledger(mine, "/a", 0.1)
    ledger_memory.restore_ledger(LEDGER, mine)
    assert not memory.ledgers


def test_the_questions_of_the_last_experiment_are_kept_and_chosen_again(monkeypatch):
    schema = {"columns": SCHEMA["columns"] | {"who": categorical(*map(str, range(300)))}}
    app = switch_page(uploaded(PEOPLE, schema), "explore")
    set_fields(app, Columns=["job"], questions=["every single column"])
    kept = kept_by_browser(app)["said"]
    assert (kept["chosen"], kept["questions"]) == (["job"], ["every single column"])

    chosen = {}
    mine = table(app)
    monkeypatch.setattr(browser_memory, "set_columns", lambda table, names: chosen.update(c=names))
    monkeypatch.setattr(
        browser_memory, "set_widget_value", lambda key, value: chosen.update({key: value})
    )
    browser_memory._restore_asked(kept, mine)
    assert chosen == {"c": ["job"], "questions": ["every single column"]}
    chosen.clear()
    for stored in (
        {},
        {"chosen": "job", "questions": 3},
        {"chosen": ["none"], "questions": ["drop table"]},
        {"chosen": [[]], "questions": [{}]},
    ):
        browser_memory._restore_asked(stored, mine)
    assert chosen == {}
