"""Counting in several processes: each reads its share of the chunks.

Only counts come back, once.
"""

import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from operator import add
from typing import Any

from ...core.errors import InputError, user_message
from ...core.types import Axes, ProgressCallback
from ...schema.domain import Domain
from .chunked_source import ChunkedSource
from .source import Source, Tally

_start_lock = threading.Lock()


@contextmanager
def hide_main_script() -> Iterator[None]:
    """Hide the parent's main script, in a context, so that spawned children do not import it.

    Under a page server that script is a page.
    """
    with _start_lock:
        main = sys.modules["__main__"]
        hidden = {
            name: main.__dict__.pop(name)
            for name in ("__file__", "__spec__")
            if name in main.__dict__
        }
        try:
            main.__spec__ = None
            yield
        finally:
            main.__dict__.update(hidden)


def spawn_process(work: Callable[..., None], *args: Any) -> tuple[BaseProcess, Connection]:
    """Start a process that does `work(pipe, *args)`; return it and its pipe's other end."""
    context = multiprocessing.get_context("spawn")
    parent_end, child_end = context.Pipe()
    process = context.Process(target=work, args=(child_end, *args), daemon=True)
    with hide_main_script():
        process.start()
    child_end.close()
    return process, parent_end


def count_in_processes(
    source: Source, domain: Domain, tables: Sequence[Axes], progress: ProgressCallback, workers: int
) -> Tally:
    """Return the counts of all shares together, by `workers` processes.

    They are counted in this process if one is enough. What `progress` raises ends the others too. A
    share whose process dies is not counted at all, and the whole is refused.
    """
    if workers < 2:
        return ChunkedSource.count(source, domain, tables, progress)
    rows_done = [0] * workers
    tallies = list[Tally]()
    pipes: dict[Any, int] = {}
    processes = []
    try:
        for i in range(workers):
            process, pipe = spawn_process(_send_share, source, domain, tables, (i, workers))
            pipes[pipe] = i
            processes.append(process)
        while pipes:
            for pipe in wait(list(pipes)):
                i = pipes[pipe]
                try:
                    message = pipe.recv()  # type: ignore[union-attr] - pipes are connections
                except EOFError:
                    raise InputError(
                        f"{source.name}: a process that counted it ended unexpectedly; try again"
                    ) from None
                if isinstance(message, InputError):
                    raise message
                if isinstance(message, Tally):
                    tallies.append(message)
                    del pipes[pipe]
                else:
                    rows_done[i] = message
                    progress(sum(rows_done), None)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()
    return reduce(add, tallies)


def _send_share(
    pipe: Connection, source: Source, domain: Domain, tables: Sequence[Axes], share: tuple[int, int]
) -> None:
    """Send the numbers of rows counted so far, and then the counts of a share or the refusal."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is the parent's to handle: it ends this one
    try:
        tally = ChunkedSource.count(source, domain, tables, lambda rows, _: pipe.send(rows), share)
        pipe.send(tally)
    except ConnectionError:
        return
    except InputError as error:
        pipe.send(error)
    except Exception as error:  # noqa: BLE001 - a bug must end the whole with a message
        pipe.send(InputError(f"{source.name}: {user_message(error)}"))
