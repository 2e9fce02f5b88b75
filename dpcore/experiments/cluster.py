"""The same sweep on a Dask cluster: the optional extra `cluster`.

The records travel to the cluster's workers, or their counts, and errors come back: whoever runs the cluster can see
the table. A table that is read in parts stays where it is: the workers read it themselves.
"""

import ipaddress
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ..data.domain import Domain, Rows
from ..data.sources.base import Axes, Tally, Watch, unwatched
from ..data.sources.counting import count
from ..data.sources.counts import Counts
from ..data.sources.parquet import ParquetSource
from ..errors import InputError
from ..problems import QueryRelease
from .sweep import POLL_SECONDS, Case, run_case
from .sweep_point import SweepPoint

CONNECT_SECONDS = 10
SHARES = 4  # for each worker, so that one that is slow or dies holds up little


def check_address(address: str) -> str:
    """The address of a scheduler; InputError unless it is tls://, or tcp:// on this very machine.

    A table must not travel in the clear.
    """
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or port is None:
        raise InputError(f"{address[:80]!r} is not the address of a scheduler, tls://HOST:PORT or tcp://127.0.0.1:PORT")
    if parts.scheme == "tcp" and not _loopback(parts.hostname):
        raise InputError(f"{address[:80]!r}: records would travel in the clear; use tls:// for another machine")
    return address


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def connect(address: str, certificates: dict[str, str] | None = None) -> Any:
    """A client of the scheduler at `address`, to be closed by the caller.

    `certificates` for tls://: file names by "ca", "cert" and "key". Raises InputError where the extra is not installed,
    the address is refused or nobody answers.
    """
    check_address(address)
    try:
        from distributed import Client
        from distributed.security import Security
    except ImportError:
        raise InputError(
            "a cluster needs the extra `cluster`: pip install 'privacy-utility-explorer[cluster]'"
        ) from None
    files = certificates or {}
    named = {"tls_ca_file": files.get("ca"), "tls_client_cert": files.get("cert"), "tls_client_key": files.get("key")}
    try:
        security = Security(require_encryption=True, **named) if address.startswith("tls:") else None
        return Client(address, timeout=CONNECT_SECONDS, security=security, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise InputError(
            f"no scheduler answers at {address[:80]}: {str(error)[:200] or type(error).__name__}"
        ) from None


@dataclass(frozen=True, eq=False)
class OnCluster:
    """A source of Parquet files that the workers of a cluster read and count, share by share, where they see its path.

    Every share is counted once: one whose worker dies is counted again elsewhere, and only then added. Paths and the
    schema travel to the workers, and counts come back.
    """

    client: Any
    source: ParquetSource

    @property
    def name(self) -> str:
        """That of the source."""
        return self.source.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the source."""
        return self.source.columns

    def count(self, domain: Domain, tables: Sequence[Axes], watch: Watch = unwatched) -> Tally:
        """The counts of all shares together, added as they come; what `watch` raises cancels the others."""
        from distributed import as_completed

        workers = max(1, len(self.client.scheduler_info()["workers"]))
        k = max(1, min(self.source.groups, SHARES * workers))
        asked = self.client.scatter([self.source, domain, list(tables)], broadcast=True, hash=False)
        running = {self.client.submit(_share, *asked, (i, k), pure=False) for i in range(k)}
        waiting, found = as_completed(list(running), loop=self.client.loop), None
        try:
            while not waiting.is_empty():
                watch(found.n if found else 0)
                batch = waiting.next_batch(block=False)
                for future in batch:
                    if future.status in ("lost", "pending"):  # it ended, and its worker died before it was read
                        waiting.add(future)
                        continue
                    running.remove(future)
                    if future.status != "finished":
                        raise InputError(f"{self.name}: the cluster lost a share of it; nothing was counted")
                    tally = future.result()
                    if isinstance(tally, str):
                        raise InputError(tally)
                    found = tally if found is None else found + tally
                if not batch:
                    time.sleep(POLL_SECONDS)
        finally:
            self.client.cancel([*running, *asked], force=True)
        return found or Tally(0, {})

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> str:
        """That of the source, read here."""
        return self.source.fingerprint(key, watch)


def _share(source: ParquetSource, domain: Domain, tables: list[Axes], share: tuple[int, int]) -> Tally | str:
    """The counts of a share, on a worker; words for what is refused, as an error would be tried again."""
    try:
        return count(source, domain, tables, share=share)
    except InputError as error:
        return str(error)


def sweep_on(
    client: Any,
    waiting: Iterable[Case],
    problem: QueryRelease,
    rows: Rows | Counts,
    *,
    population: np.ndarray | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Iterator[SweepPoint]:
    """`sweep.sweep` on a cluster: the same points, in the order in which they come back.

    A run whose worker dies is run again elsewhere, and as it is seeded it gives the same numbers. Lazy: closing the
    generator, or an exception in it, cancels what runs.
    """
    from distributed import as_completed

    running: dict[Any, Case] = {}
    rows = rows.apart if isinstance(rows, Counts) else rows  # whose file is this machine's
    shared = client.scatter([problem, rows, population], broadcast=True, hash=False)
    try:
        for case in waiting:
            if refused := case.refused(problem):
                yield refused
            else:
                future = client.submit(run_case, case, *shared, pure=False)
                running[future] = case
        done = as_completed(list(running), loop=client.loop)
        while not done.is_empty():
            watch()
            batch = done.next_batch(block=False)
            for future in batch:
                if future.status in ("lost", "pending"):  # it ended, and its worker died before it was read
                    done.add(future)
                    continue
                case = running.pop(future)
                yield future.result() if future.status == "finished" else case.failed("the cluster lost this run")
            if not batch:
                time.sleep(POLL_SECONDS)
    finally:
        client.cancel([*running, *shared], force=True)
