"""When a page is drawn: in turns, and anew without taking back another page that was asked for.

Concurrent threads in one interpreter only slow each other down. In turns each page finishes early
instead of all at the end, a click that was overtaken by another costs nothing while it waits, and
the thread that answers the network is not starved.
"""

import gc
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import script_runner

MAX_CONCURRENT_RENDERS = 3  # pages drawn at a time
MAX_WAIT_SECONDS = (
    6.0  # seconds after which one is drawn all the same: a long reading must not hold up everybody
)


class RenderSlots:
    """Slots for threads that draw, given in the order in which they were asked for.

    Who has drawn what a person waits for, and goes on with the rest, comes after all others.
    """

    def __init__(self, count: int) -> None:
        self._free_count = count
        self._lock = threading.Lock()
        self._urgent_turns: deque[threading.Event] = deque()
        self._later_turns: deque[threading.Event] = deque()

    def acquire(self, timeout: float, *, is_urgent: bool = True) -> bool:
        """Wait for a slot, `timeout` seconds at the most; return whether there was one."""
        turns = self._urgent_turns if is_urgent else self._later_turns
        with self._lock:
            if self._free_count:
                self._free_count -= 1
                return True
            turn = threading.Event()
            turns.append(turn)
        if turn.wait(timeout):
            return True
        with self._lock:
            if turn.is_set():  # given between the end of the wait and here
                return True
            turns.remove(turn)
            return False

    def release(self) -> None:
        """Give a slot back: to who waits for it, if anybody does."""
        with self._lock:
            turns = self._urgent_turns or self._later_turns
            if turns:
                turns.popleft().set()
            else:
                self._free_count += 1


_free_slots = RenderSlots(MAX_CONCURRENT_RENDERS)
_thread_state = threading.local()
_has_garbage = threading.Event()  # whether a page was drawn since garbage was last collected


@contextmanager
def render_slot() -> Iterator[None]:
    """Hold a slot while the calling thread draws a page, or part of one."""
    if getattr(_thread_state, "drawing", False):  # part of a page whose turn it is
        yield
        return
    _thread_state.held = _free_slots.acquire(MAX_WAIT_SECONDS)
    _thread_state.drawing = True
    try:
        yield
    finally:
        _thread_state.drawing = False
        if _thread_state.held:
            _free_slots.release()


@contextmanager
def yield_slot(*, is_urgent: bool = True) -> Iterator[None]:
    """Let others draw while this thread waits for something.

    It goes on when all have drawn who wait, unless it `is_urgent`.
    """
    if not getattr(_thread_state, "drawing", False) or not _thread_state.held:
        yield
        return
    _free_slots.release()
    _thread_state.held = False
    try:
        yield
    finally:
        _thread_state.held = _free_slots.acquire(MAX_WAIT_SECONDS, is_urgent=is_urgent)


def redraw_page() -> NoReturn:
    """Draw the page anew, unless another run was asked for meanwhile, such as that of a new page.

    Of two requests Streamlit serves the later one, and a redraw asks for the page it is called on:
    a click on the menu while a page waited was lost. So an element comes first, at which a run ends
    where another waits.
    """
    st.empty()
    st.rerun()


def install() -> None:
    """Patch Streamlit so that every page waits for its turn to be drawn.

    Streamlit has no hook around a run, so its function is wrapped.
    """
    draw = getattr(script_runner, "exec_func_with_error_handling", None)
    if draw is not None:  # another version: slower where many draw at once, and else the same
        script_runner.exec_func_with_error_handling = _with_render_slot(draw)


def _with_render_slot(draw: Callable[..., Any]) -> Callable[..., Any]:
    def draw_in_slot(*args: Any, **kwargs: Any) -> Any:
        try:
            with render_slot():
                return draw(*args, **kwargs)
        finally:
            _has_garbage.set()

    return draw_in_slot


def collect_garbage() -> None:
    """Collect what drawn pages left behind, if any was drawn since the last time.

    Streamlit would do so after each page of each tab, which looks at everything that all tabs hold:
    with thirty of them that took as long as to draw the page.
    """
    if _has_garbage.is_set():
        _has_garbage.clear()
        gc.collect()
