"""The same sweep on a Dask cluster: the optional extra `cluster`.

The records travel to the cluster's workers, or their counts, and errors come back: whoever runs the
cluster can see the table. A table that is read in parts stays where it is: the workers read it
themselves.
"""

import ipaddress
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...core.errors import InputError
from ...core.types import Axes, ProgressCallback, frozen, ignore_progress
from ...data.sources.chunked_source import ChunkedSource
from ...data.sources.gathered_counts import GatheredCounts
from ...data.sources.parquet_source import ParquetSource
from ...data.sources.source import SourceWrapper, Tally
from ...problems import QueryRelease
from ...schema.domain import Countable, Domain
from .sweep import POLL_SECONDS, Case, SweepPoint, run_case

CONNECT_SECONDS = 10
MAX_ATTEMPTS = 3  # that an item is sent before it is given up
SHARES_PER_WORKER = 4  # for each worker, so that one that is slow or dies holds up little

T = TypeVar("T")
V = TypeVar("V")


def check_address(address: str) -> str:
    """Return the scheduler's address; raise InputError unless it is encrypted or local.

    tls:// is encrypted, tcp:// must be on this machine: a table must not travel in the clear.
    """
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or port is None:
        raise InputError(
            f"{address[:80]!r} is not the address of a scheduler, tls://HOST:PORT or "
            "tcp://127.0.0.1:PORT"
        )
    if parts.scheme == "tcp" and not _is_loopback(parts.hostname):
        raise InputError(
            f"{address[:80]!r}: rows would travel in the clear; use tls:// for another machine"
        )
    return address


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def connect_to_scheduler(
    address: str, *, ca: str | None = None, cert: str | None = None, key: str | None = None
) -> Any:
    """Return a client of the scheduler at `address`, for the caller to close.

    `ca`, `cert` and `key` name the files of certificates for tls://. Raises InputError where the
    extra is not installed, the address is refused or nobody answers.
    """
    check_address(address)
    try:
        from distributed import Client
        from distributed.security import Security
    except ImportError:
        raise InputError(
            "a cluster needs the extra `cluster`: pip install 'privacy-utility-explorer[cluster]'"
        ) from None
    certificate_files = {"tls_ca_file": ca, "tls_client_cert": cert, "tls_client_key": key}
    try:
        security = (
            Security(require_encryption=True, **certificate_files)
            if address.startswith("tls:")
            else None
        )
        return Client(address, timeout=CONNECT_SECONDS, security=security, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise InputError(
            f"no scheduler answers at {address[:80]}: {str(error)[:200] or type(error).__name__}"
        ) from None


@frozen
class ClusterSource(SourceWrapper):
    """A source of Parquet files that a cluster's workers read and count, share by share.

    The workers have to see its path. Every share is counted once: one whose worker dies is counted
    again elsewhere, and only then added. Paths and the schema travel to the workers, and counts
    come back.
    """

    client: Any

    def count(
        self, domain: Domain, tables: Sequence[Axes], progress: ProgressCallback = ignore_progress
    ) -> Tally:
        """Count all shares on the cluster and add the counts as they arrive.

        An error in `progress` cancels the others.
        """
        workers = max(1, len(self.client.scheduler_info()["workers"]))
        share_count = max(1, min(self.source.groups, SHARES_PER_WORKER * workers))
        shared_arguments = [self.source, domain, list(tables)]
        shares = [(i, share_count) for i in range(share_count)]
        total: Tally | None = None

        def report_rows(*_shares: float | None) -> None:
            progress(total.n if total else 0, None)

        for _, tally in _results_from_cluster(
            self.client, _count_share, shares, shared_arguments, report_rows
        ):
            if tally is None:
                raise InputError(
                    f"{self.name}: the cluster lost a share of it; nothing was counted"
                )
            if isinstance(tally, str):
                raise InputError(tally)
            total = tally if total is None else total + tally
        return total or Tally(0, {})


def _count_share(
    share: tuple[int, int], source: ParquetSource, domain: Domain, tables: list[Axes]
) -> Tally | str:
    """Count a share on a worker; return its counts, or words if it is refused.

    Words, as an error would be tried again.
    """
    try:
        return ChunkedSource.count(source, domain, tables, ignore_progress, share)
    except InputError as error:
        return str(error)


def sweep_on_cluster(
    client: Any,
    cases: Iterable[Case],
    problem: QueryRelease,
    rows: Countable,
    *,
    progress: ProgressCallback = ignore_progress,
) -> Iterator[SweepPoint]:
    """Run the cases on a cluster and yield the points of `sweep.run_sweep` as they arrive.

    A run whose worker dies is run again elsewhere, and as it is seeded it gives the same numbers.
    Lazy: closing the generator, or an exception in it, cancels what runs.
    """
    # a source's file is this machine's
    rows = rows.without_source if isinstance(rows, GatheredCounts) else rows
    runnable_cases = []
    for case in cases:
        refused_point = case.refused_point(problem)
        if refused_point:
            yield refused_point
        else:
            runnable_cases.append(case)
    for case, point in _results_from_cluster(
        client, run_case, runnable_cases, [problem, rows], progress
    ):
        yield point or case.make_point("failed", message="the cluster lost this run")


def _results_from_cluster(
    client: Any,
    function: Callable[..., V],
    items: Sequence[T],
    shared_arguments: list[Any],
    progress: ProgressCallback,
) -> Iterator[tuple[T, V | None]]:
    """Yield each item and `function(item, *shared_arguments)`, in order of arrival.

    None in place of a result that the cluster lost. What is shared is sent out once. Whatever was
    on a worker that dies is sent again, with what is shared: no other worker may have had it.
    """
    from distributed import as_completed

    shared_copies: list[Any] = []  # of what is shared, all copies
    running: dict[Any, tuple[T, int]] = {}  # the item, and which time this is

    def submit_items(items: Iterable[T], attempt: int) -> list[Any]:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        shared_copy = client.scatter(shared_arguments, broadcast=True, hash=False)
        shared_copies.extend(shared_copy)
        submitted = {
            client.submit(function, item, *shared_copy, pure=False): (item, attempt)
            for item in items
        }
        running.update(submitted)
        return list(submitted)

    completed = as_completed(submit_items(items, 1), loop=client.loop)
    try:
        while not completed.is_empty():
            progress(len(items) - len(running), len(items))
            batch = completed.next_batch(block=False)
            items_by_attempt: dict[int, list[T]] = {}
            for future in batch:
                # it ended, and its worker died before it was read
                if future.status in ("lost", "pending"):
                    completed.add(future)
                    continue
                item, attempt = running.pop(future)
                value = _result_or_none(future)
                if value is not None or future.status == "error":
                    yield item, value
                elif attempt < MAX_ATTEMPTS:
                    items_by_attempt.setdefault(attempt + 1, []).append(item)
                else:
                    yield item, None
            for attempt, lost_items in items_by_attempt.items():
                completed.update(submit_items(lost_items, attempt))
            if not batch:
                time.sleep(POLL_SECONDS)
    finally:
        client.cancel([*running, *shared_copies], force=True)


def _result_or_none(future: Any) -> Any:
    """Return the result of a run; None where it was lost.

    Also where it was lost on the way from a worker that dies.
    """
    try:
        return future.result() if future.status == "finished" else None
    except (CancelledError, OSError):
        return None
