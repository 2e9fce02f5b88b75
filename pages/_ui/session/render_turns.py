"""Pages that are drawn at the same time take turns: many threads in one interpreter only slow each other down.

Each finishes early instead of all at the end, a click that was overtaken by another costs nothing while it waits, and
the thread that answers the network is not starved.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from streamlit.runtime.scriptrunner import script_runner

AT_ONCE = 3  # pages drawn at a time
PATIENCE = 6.0  # seconds after which one is drawn all the same: a long reading must not hold up everybody

_free = threading.Semaphore(AT_ONCE)
_mine = threading.local()


@contextmanager
def turn() -> Iterator[None]:
    """One page, or part of a page, is drawn by the calling thread."""
    if getattr(_mine, "drawing", False):  # part of a page whose turn it is
        yield
        return
    _mine.held, _mine.drawing = _free.acquire(timeout=PATIENCE), True
    try:
        yield
    finally:
        _mine.drawing = False
        if _mine.held:
            _free.release()


@contextmanager
def aside() -> Iterator[None]:
    """Let others draw while this thread waits for something."""
    if not getattr(_mine, "drawing", False) or not _mine.held:
        yield
        return
    _free.release()
    _mine.held = False
    try:
        yield
    finally:
        _mine.held = _free.acquire(timeout=PATIENCE)


def take() -> None:
    """From now on every page takes its turn. Streamlit has no hook around a run, so its function is wrapped."""
    draw = getattr(script_runner, "exec_func_with_error_handling", None)
    if draw is not None:  # another version: slower where many draw at once, and else the same
        script_runner.exec_func_with_error_handling = _in_turn(draw)


def _in_turn(draw: Callable[..., Any]) -> Callable[..., Any]:
    def drawn(*args: Any, **kwargs: Any) -> Any:
        with turn():
            return draw(*args, **kwargs)

    return drawn
