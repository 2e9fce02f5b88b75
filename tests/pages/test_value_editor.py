"""What a person edits of a column's values on Data, and that every change there is taken back."""

import pandas as pd

from pages._ui.data.value_editor import EDITOR_KEY
from pages._ui.session.current_table import sample_table
from pages._ui.session.table_history import MAX_READINGS, TableHistory
from tests.pages.headless import (
    button,
    button_labels,
    click_and_wait,
    run_until_settled,
    schema_entries,
    set_fields,
    table,
    upload_schema,
    visible_text,
)
from tests.pages.test_data import READ, grid, opened
from tests.small_problems import integer

SEXES = ("Male", "Male", "M", "Female", "F", "unknown")
LINES = [f"{SEXES[i % 6]},{-9 if i % 12 == 0 else 20 + i % 60},{i % 7}" for i in range(240)]
PEOPLE = "\n".join(["Staff of 2026,,", "sex,age,visits", *LINES, "Total,999,"]).encode()


def edited(app, name):
    """The page with the editor of a column's values open."""
    app.session_state[EDITOR_KEY] = table(app).identity, name
    return run_until_settled(app.run())


def filled():
    return click_and_wait(opened(PEOPLE, bars=False), READ)


def test_one_click_takes_a_suggestion_and_one_takes_it_back():
    app = filled()
    assert grid(app)["sex"]["state"] == "ready; M may be Male; F may be Female"
    assert grid(app)["sex"]["next"] == "Merge values"
    assert "Optional: 1 column holds values that may be the same: sex" in visible_text(app)
    click_and_wait(app, "Look at them")
    assert "M may be the same as **Male**" in visible_text(app)
    click_and_wait(app, "Count as one")
    assert schema_entries(app)["sex"]["same"] == {"Male": ["M"]}
    assert schema_entries(app)["sex"]["values"] == ["F", "Female", "Male", "unknown"]
    assert table(app).domain is not None
    assert grid(app)["sex"]["state"] == "ready; M counted as Male; F may be Female"
    click_and_wait(app, "Take apart")
    assert "same" not in schema_entries(app)["sex"]
    assert schema_entries(app)["sex"]["values"] == ["F", "Female", "M", "Male", "unknown"]


def test_any_values_are_merged_by_drop_downs():
    app = edited(filled(), "sex")
    set_fields(app, **{"Values that are the same": ["unknown", "F"]})
    set_fields(app, **{"Count them as": "unknown"})
    button_keys = [b for b in app.button if b.key == "own-merge-button"]
    run_until_settled(button_keys[0].click().run())
    assert schema_entries(app)["sex"]["same"] == {"unknown": ["F"]}


def test_a_code_becomes_a_value_of_its_own_and_missing_again():
    app = edited(filled(), "age")
    before = schema_entries(app)["age"]
    assert before["missing_codes"] == [-9]
    assert grid(app)["age"]["state"] == "ready; counted as missing: -9"
    click_and_wait(app, "Make it a value of its own")
    assert "missing_codes" not in schema_entries(app)["age"]
    assert grid(app)["age"]["state"] == "ready; -9 a value of its own"
    column = table(app).domain.column("age")
    assert column.labels[column.encode(pd.Series(["-9"]))[0]] == "-9"
    click_and_wait(app, "Count as missing")
    assert schema_entries(app)["age"] == before
    set_fields(app, **{"Another value": "refused"})
    run_until_settled(next(b for b in app.button if b.key == "add-code").click().run())
    assert schema_entries(app)["age"]["missing_codes"] == [-9, "refused"]
    run_until_settled(next(b for b in app.button if b.key == "add-code").click().run())
    assert "a code is a number or a text" in " ".join(e.value for e in app.error)


def test_every_question_about_the_file_stays_until_it_is_settled():
    app = opened(PEOPLE)
    assert "**2 questions about the file**" in visible_text(app)
    lines = [frame.value for frame in app.dataframe if "read as" in frame.value.columns]
    assert lines[0]["read as"].tolist()[:3] == ["left out", "names", "row"]
    assert any("999" in frame.value.to_string() for frame in app.dataframe), "what is left out"
    click_and_wait(app, "Yes, right")
    assert "**1 question about the file**" in visible_text(app)
    assert "No, line 1 holds the names" not in button_labels(app)
    assert table(app).stated_format == {"header": 2}
    click_and_wait(app, "No, leave no line out")
    assert "about the file" not in visible_text(app)
    assert (table(app).text_format.header, table(app).text_format.skip_end) == (2, 0)
    assert len(table(app).frame) == 241
    click_and_wait(app, "Undo")
    assert "**1 question about the file**" in visible_text(app)
    click_and_wait(app, "Undo")
    click_and_wait(app, "No, line 1 holds the names")
    assert "**1 question about the file**" in visible_text(app), "the other one is still open"
    assert "looks like a total" in visible_text(app)


def test_every_change_is_taken_back_one_after_the_other_and_made_again():
    app = opened(PEOPLE, bars=False)
    states = [table(app).statement]

    def changed(*_):
        assert table(app).statement != states[-1], len(states)
        states.append(table(app).statement)

    changed(click_and_wait(app, "Yes, right"))
    changed(click_and_wait(app, READ))
    edited(app, "sex")
    changed(click_and_wait(app, "Count as one"))
    changed(click_and_wait(app, "Take apart"))
    edited(app, "age")
    changed(click_and_wait(app, "Make it a value of its own"))
    app.session_state["data-part"] = "Impossible combinations"
    assert button(app.run(), "Add it").disabled
    set_fields(app, **{"its values": ["M"], "from": "-9"})
    changed(click_and_wait(app, "Add it"))
    assert table(app).constraints == [{"impossible": {"sex": "M", "age": {"from": -9, "to": -9}}}]
    assert "Never together: sex M and age -9" in visible_text(app)
    changed(click_and_wait(app, "Remove"))
    changed(set_fields(app, **{"Can one person": "visits"}))
    changed(set_fields(app, **{"Maximum rows": 3}))
    changed(upload_schema(app, b'{"columns": {"age": {"kind": "integer", "low": 0, "high": 99}}}'))
    for state in states[-2::-1]:
        click_and_wait(app, "Undo")
        assert table(app).statement == state
    assert button(app, "Undo").disabled
    for state in states[1:]:
        click_and_wait(app, "Redo")
        assert table(app).statement == state
    assert button(app, "Redo").disabled


def test_history_keeps_the_rows_of_few_readings():
    history = TableHistory()
    readings = [sample_table("titanic") for _ in range(MAX_READINGS + 2)]
    for reading in readings:
        reading.frame = reading.frame.copy()
        history.store_change(reading)
        reading.update_entries({"age": integer(0, 9)})
        history.store_change(reading)
    kept = {id(state.frame) for state in history.past}
    assert kept == {id(reading.frame) for reading in readings[-MAX_READINGS:]}
    assert all(not state.encoded_by_columns for state in history.past)
    assert not history.undone


def test_all_codes_of_a_table_become_values_by_one_click():
    app = filled()
    assert "1 column holds codes for missing (-9): age" in visible_text(app)
    click_and_wait(app, "Make codes values of their own")
    assert grid(app)["age"]["state"] == "ready; -9 a value of its own"
    assert "codes for missing" not in visible_text(app)
    click_and_wait(app, "Undo")
    assert schema_entries(app)["age"]["missing_codes"] == [-9]
