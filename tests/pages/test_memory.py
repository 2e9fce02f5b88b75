"""What was typed about columns comes back with the same columns, and nothing of a record ever leaves for a browser."""

import json

from pages._ui.jobs.browser_memory import _restore, said
from pages._ui.session.table import unheard
from tests.pages.headless import button, press, settled, table, upload, wrong
from tests.pages.test_data import opened
from tests.small_problems import integer

CSV = ("city,age,left\n" + "\n".join(f"town-{i % 3},{i % 90},{i % 2}" for i in range(200))).encode()
TYPED = integer(0, 120, bins=12)


def test_what_was_typed_is_what_differs_from_the_guess_and_comes_back_with_the_same_columns():
    mine = table(opened(CSV))
    assert said(mine) is None
    mine.change({"age": TYPED, "left": None})
    kept = json.loads(json.dumps(said(mine)))
    assert kept["entries"] == {"age": TYPED, "left": None}
    again = table(opened(CSV))
    _restore(kept, again, unheard)
    assert again.schema == mine.schema
    assert said(again) == said(mine)
    assert again.peeked, "the rest is still guessed"


def test_nothing_that_was_read_off_the_records_is_kept():
    app = opened(CSV)
    table(app).change({"age": TYPED})
    app.run()
    press(app, "Fill in from my data (not protected)")
    mine = settled(app) and table(app)
    assert "town-1" in str(mine.schema)
    assert set(said(mine)["entries"]) == {"age"}
    mine.change({"city": mine.schema["columns"]["city"] | {"missing": "category"}})
    assert "town" not in json.dumps(said(mine))


def test_what_a_browser_may_send_and_a_header_without_rows_change_nothing():
    app = opened(CSV)
    mine = table(app)
    before = mine.schema
    for found in (
        {}, {"entries": 3}, {"entries": {"age": 3, "none": TYPED}}, {"entries": {"age": {}}, "constraints": "x"},
    ):  # fmt: skip
        _restore(found, mine, unheard)
        assert mine.schema == before
    upload(app, b"city,age\n", "empty.csv")
    assert table(app).name == "t.csv"
    assert "no rows" in wrong(app)
    assert button(app, "Forget my table")
