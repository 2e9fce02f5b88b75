"""Pages drawn at the same time take turns, wait for nobody for ever, and let others draw while they
wait.
"""

import threading
import time

import pytest
from streamlit import get_option

from pages._ui.session import render_turns


@pytest.fixture
def one(monkeypatch):
    """One page at a time."""
    monkeypatch.setattr(render_turns, "_free_slots", render_turns.RenderSlots(1))


def drawing(inside, until):
    def draw():
        with render_turns.render_slot():
            inside.set()
            until.wait(30)

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    return thread


def test_a_second_page_waits_for_the_first(one):
    inside = threading.Event()
    second = threading.Event()
    done = threading.Event()
    first = drawing(inside, done)
    assert inside.wait(30)
    other = drawing(second, done)
    assert not second.wait(0.1)
    done.set()
    assert second.wait(30)
    first.join(30)
    other.join(30)


def test_nobody_waits_for_ever(one, monkeypatch):
    monkeypatch.setattr(render_turns, "MAX_WAIT_SECONDS", 0.01)
    inside = threading.Event()
    second = threading.Event()
    done = threading.Event()
    drawing(inside, done)
    assert inside.wait(30)
    other = drawing(second, done)
    assert second.wait(30)
    done.set()
    other.join(30)
    assert render_turns._free_slots.acquire(30)
    assert not render_turns._free_slots.acquire(0), "who did not get a turn gives none back"


def test_who_waits_lets_others_draw(one):
    inside = threading.Event()
    done = threading.Event()
    with render_turns.render_slot():
        with render_turns.yield_slot():
            drawing(inside, done)
            assert inside.wait(30)
            done.set()
        assert not render_turns._free_slots.acquire(0), "back in turn"
    assert render_turns._free_slots.acquire(0)


def test_what_is_drawn_after_the_verdict_waits_for_those_who_have_none(one):
    order = []
    begun = threading.Event()
    done = threading.Event()

    def draw_verdict_and_charts():
        with render_turns.render_slot():
            order.append("verdict")
            begun.set()
            done.wait(30)
            with render_turns.yield_slot(is_urgent=False):
                pass
            order.append("charts")

    first = threading.Thread(target=draw_verdict_and_charts, daemon=True)
    first.start()
    assert begun.wait(30)
    others = [threading.Thread(target=draw_verdict_and_charts, daemon=True) for _ in range(2)]
    for other in others:
        other.start()
    while len(render_turns._free_slots._urgent_turns) < 2:
        time.sleep(0.01)
    done.set()
    for thread in (first, *others):
        thread.join(30)
    assert order == ["verdict"] * 3 + ["charts"] * 3


def test_a_part_of_a_page_is_in_its_turn_and_an_error_ends_it(one):
    def broken():
        with render_turns.render_slot(), render_turns.render_slot():
            raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert render_turns._free_slots.acquire(0)


def test_outside_of_a_page_nothing_waits():
    with render_turns.yield_slot():
        pass


def test_garbage_is_collected_once_for_all_pages_drawn_since_the_last_time(monkeypatch):
    collected = []
    monkeypatch.setattr(render_turns.gc, "collect", lambda: collected.append("once"))
    monkeypatch.setattr(render_turns, "_has_garbage", threading.Event())
    render_turns.collect_garbage()
    assert not collected, "no page was drawn"
    draw = render_turns._with_render_slot(lambda: "drawn")
    assert [draw(), draw()] == ["drawn", "drawn"]
    assert not get_option("runner.postScriptGC"), "Streamlit would collect after each"
    render_turns.collect_garbage()
    render_turns.collect_garbage()
    assert collected == ["once"]
