"""What a tab holds is closed with its table: after "Forget my table" nothing of it is left
anywhere.
"""

import gc
import os

import pytest

from pages._ui.session.session import MAX_MEMOS_PER_NAME, Session
from pages._ui.session.table import Table
from tests.pages.headless import (
    click_and_wait,
    figures,
    open_page,
    run_comparison,
    session,
    switch_page,
    typed_schema,
    upload,
)
from tests.small_problems import categorical

UNIQUE = "zebra-crossing-4711"


def blocks(session):
    """The blocks of shared memory that a session holds, by name."""
    return {
        rows.block.name
        for held in session.resources.values()
        for _, rows in getattr(getattr(held, "group", held), "_shared_blocks", {}).values()
    }


def uploaded():
    rows = "\n".join(f"{(UNIQUE, 'plain')[i % 2]},{i % 3}" for i in range(600))
    app = upload(open_page("data"), f"kind,size\n{rows}\n".encode())
    values = categorical(UNIQUE, "plain")
    return typed_schema(app, {"columns": {"kind": values, "size": {"kind": "integer", "size": 3}}})


@pytest.mark.skipif(
    not os.path.isdir("/dev/shm"), reason="shared memory has no folder on this system"
)
def test_after_forget_nothing_of_the_table_is_left_in_memory_files_caches_session_or_on_any_page():
    app = uploaded()
    assert session(switch_page(app, "explore")).resources["explore"].group.jobs
    assert UNIQUE in str(app)
    assert figures(run_comparison(switch_page(app, "compare")))
    mine = session(app)
    shared = blocks(mine)
    assert len(shared) == 2
    assert shared <= set(os.listdir("/dev/shm")), "the encoded rows are shared with the workers"
    assert mine.resources["sweep"].outcomes
    click_and_wait(switch_page(app, "data"), "Forget my table")
    assert {*mine.resources} == {"experiment", "project"}, "what Share draws anew"
    assert mine.resources["experiment"].experiment is None
    assert mine.resources["project"].project is None
    assert not any(mine.memos.values())
    assert not shared & set(os.listdir("/dev/shm"))
    for page in ("explore", "compare", "release"):
        assert UNIQUE not in str(switch_page(app, page)), f"{page} still shows it"
    assert UNIQUE not in str(app.session_state)
    gc.collect()
    assert not [o for o in gc.get_objects() if isinstance(o, Table) and UNIQUE in str(o.schema)]


class Thing:
    closed = 0

    def close(self):
        self.closed += 1


def test_a_session_makes_each_thing_once_and_closes_it_with_itself():
    session = Session()
    thing = Thing()
    assert session.get_or_create("a", lambda: thing) is thing
    assert session.get_or_create("a", Thing) is thing
    session.close()
    assert thing.closed == 1
    assert session.get_or_create("a", Thing) is not thing


def test_a_memo_is_computed_once_a_key_and_the_oldest_is_let_go():
    session = Session()
    asked = []
    for key in [*range(MAX_MEMOS_PER_NAME + 1), MAX_MEMOS_PER_NAME, 0]:
        assert (
            session.memoize("square", key, lambda key=key: asked.append(key) or key * key)
            == key * key
        )
    assert asked == [*range(MAX_MEMOS_PER_NAME + 1), 0]
