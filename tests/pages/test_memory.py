"""What was typed about columns comes back with the same columns, and nothing of a record ever
leaves for a browser.
"""

import json

from dpcore.core.types import ignore_progress
from pages._ui.jobs.browser_memory import _restore_columns, typed_schema_parts
from tests.pages.headless import (
    button,
    click_and_wait,
    error_text,
    run_until_settled,
    table,
    upload,
)
from tests.pages.test_data import opened
from tests.small_problems import integer

CSV = ("city,age,left\n" + "\n".join(f"town-{i % 3},{i % 90},{i % 2}" for i in range(200))).encode()
TYPED = integer(0, 120, bins=12)


def test_what_was_typed_is_what_differs_from_the_guess_and_comes_back_with_the_same_columns():
    mine = table(opened(CSV))
    assert typed_schema_parts(mine) is None
    mine.update_entries({"age": TYPED, "left": None})
    kept = json.loads(json.dumps(typed_schema_parts(mine)))
    assert kept["entries"] == {"age": TYPED, "left": None}
    again = table(opened(CSV))
    _restore_columns(kept, again, ignore_progress)
    assert again.schema == mine.schema
    assert typed_schema_parts(again) == typed_schema_parts(mine)
    assert again.schema_uses_real_data, "the rest is still guessed"


def test_nothing_that_was_read_off_the_records_is_kept():
    app = opened(CSV)
    table(app).update_entries({"age": TYPED})
    app.run()
    click_and_wait(app, "Fill in from my data (not protected)")
    mine = run_until_settled(app) and table(app)
    assert "town-1" in str(mine.schema)
    assert set(typed_schema_parts(mine)["entries"]) == {"age"}
    mine.update_entries({"city": mine.schema["columns"]["city"] | {"missing": "category"}})
    assert "town" not in json.dumps(typed_schema_parts(mine))


def test_what_a_browser_may_send_and_a_header_without_rows_change_nothing():
    app = opened(CSV)
    mine = table(app)
    before = mine.schema
    for found in (
        {},
        {"entries": 3},
        {"entries": {"age": 3, "none": TYPED}},
        {"entries": {"age": {}}, "constraints": "x"},
    ):
        _restore_columns(found, mine, ignore_progress)
        assert mine.schema == before
    upload(app, b"city,age\n", "empty.csv")
    assert table(app).name == "t.csv"
    assert "no rows" in error_text(app)
    assert button(app, "Forget my table")
