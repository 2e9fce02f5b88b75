"""What a tab holds is closed with its table: after "Forget my table" nothing of it is left anywhere."""

import gc
import os
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui.shell.session import MEMOS, Session
from pages._ui.shell.table import Table
from tests.pages.test_pages import button, figures, settled

pytestmark = pytest.mark.usefixtures("tab")
ROOT = Path(__file__).parents[2]
UNIQUE = "zebra-crossing-4711"


def blocks(session: Session) -> set[str]:
    """The blocks of shared memory that a session holds, by name."""
    return {block.name for held in session.held.values() for _, block in getattr(held, "_blocks", {}).values()}


def pages_of(app):
    for page in sorted((ROOT / "pages").glob("*.py")):
        app.switch_page(str(page))
        yield page.stem, settled(app.run())


def uploaded() -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=90)
    app = app.switch_page(str(ROOT / "pages/data.py")).run()
    rows = "\n".join(f"{(UNIQUE, 'plain')[i % 2]},{i % 3}" for i in range(600))
    settled(app.file_uploader(key="upload").set_value(("t.csv", f"kind,size\n{rows}\n".encode(), "text/csv")).run())
    values = {"kind": "categorical", "values": [UNIQUE, "plain"]}
    table = app.session_state["session"].table
    table.set_schema({"columns": {"kind": values, "size": {"kind": "integer", "size": 3}}})
    return app.run()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="shared memory has no folder on this system")
def test_after_forget_nothing_of_the_table_is_left_in_memory_files_caches_session_or_on_any_page():
    app = uploaded()
    assert settled(app.switch_page(str(ROOT / "pages/explore.py")).run()).session_state["session"].held["explore"].jobs
    assert UNIQUE in str(app)
    app.switch_page(str(ROOT / "pages/compare.py")).run()
    app.multiselect(key="compared").set_value(["gaussian_maxent"])
    app.multiselect(key="epsilons").set_value([1.0])
    app.number_input(key="sweep-seeds").set_value(1)
    button(app, "Run the comparison").click().run()
    assert figures(settled(app))
    mine = app.session_state["session"]
    shared = blocks(mine)
    assert len(shared) == 2
    assert shared <= set(os.listdir("/dev/shm")), "the encoded rows are shared with the workers"
    assert mine.held["sweep"].found
    app.switch_page(str(ROOT / "pages/data.py")).run()
    button(app, "Forget my table").click().run()
    assert not mine.held
    assert not any(mine.memos.values())
    assert not shared & set(os.listdir("/dev/shm"))
    for name, page in pages_of(app):
        assert not page.exception, name
        assert UNIQUE not in str(page), f"the page {name} still shows it"
    assert UNIQUE not in str(app.session_state)
    gc.collect()
    assert not [o for o in gc.get_objects() if isinstance(o, Table) and UNIQUE in str(o.schema)]


class Thing:
    closed = 0

    def close(self):
        self.closed += 1


def test_a_session_makes_each_thing_once_and_closes_it_with_itself():
    session, thing = Session(), Thing()
    assert session.own("a", lambda: thing) is thing
    assert session.own("a", Thing) is thing
    session.close()
    assert thing.closed == 1
    assert session.own("a", Thing) is not thing


def test_a_memo_is_computed_once_a_key_and_the_oldest_is_let_go():
    session, asked = Session(), []
    for key in [*range(MEMOS + 1), MEMOS, 0]:
        assert session.memo("square", key, lambda key=key: asked.append(key) or key * key) == key * key
    assert asked == [*range(MEMOS + 1), 0]
