"""A table too large for memory: it is read in parts, and what a session knows of its records are counts."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from dpcore import Domain, InputError, Marginals, PrivacyUnit, Rows
from dpcore.core.types import Axes, Texts, Watch, frozen, unwatched
from dpcore.data.sources.gathered_counts import CONSTRAINED, LISTED, Counts
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.data.sources.source import SourceWrapper, stamped
from dpcore.data.sources.text_source import TextSource
from dpcore.queries import Workload

MOST = 50_000_000  # cells of all tables that are counted at once
PAIRS = 5_000_000  # cells of all pairs of columns, up to which they are counted beside what is asked
Known = dict[tuple[str, ...], Counts]  # by the columns that were counted together


@frozen
class Large:
    """Where the records of a table are read in parts: about so many `rows`, exactly so many where it is `said`.

    `marks` are its fingerprints by the keys of ledgers, and `digests` the SHA-256 of its bytes, each made once.
    """

    source: ParquetSource | TextSource
    rows: int
    said: bool
    marks: dict[bytes, Texts] = field(default_factory=dict, repr=False)
    digests: list[str] = field(default_factory=list, repr=False)

    def check(self) -> None:
        """Refuse a file that is no longer the one that was read first."""
        for path, stamp in self.source.stamps:
            with named(path), stamped(path, stamp):
                pass


@frozen
class LedgerSource(SourceWrapper):
    """What a ledger knows a large table by; a `watch` hears how far that is."""

    large: Large
    watch: Watch = unwatched

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> str:
        """The fingerprint of the source; see `fingerprints`."""
        return self.fingerprints(key, watch)[0]

    def fingerprints(self, key: bytes, watch: Watch = unwatched) -> Texts:  # noqa: ARG002 - nobody else listens
        """Those of the source; what is refused names its file, and not where on this machine it lies."""
        with named(self.name):
            if key not in self.large.marks:
                self.large.marks[key] = self.source.fingerprints(key, self.watch)
            self.large.check()
        return self.large.marks[key]

    @property
    def sha256(self) -> str:
        """That of the source's bytes."""
        with named(self.name):
            if not self.large.digests:
                self.large.digests.append(self.source.sha256)
            self.large.check()
        return self.large.digests[0]


@contextmanager
def named(path: str | Path) -> Iterator[None]:
    """What is refused has the name of the file, not where on this machine it lies."""
    file_name = Path(path).name
    try:
        yield
    except InputError as error:
        text, doubled_name = str(error).replace(str(path), file_name), f"{file_name}: {file_name}"
        text = file_name + text.removeprefix(doubled_name) if text.startswith(doubled_name) else text
        raise InputError(text if text.startswith(file_name) else f"{file_name}: {text}") from None


@frozen
class WantedTables:
    """Tables on columns of a `domain`, all of which are encoded, whatever the tables are."""

    domain: Domain
    tables: tuple[Axes, ...]


def check(domain: Domain, first: Sequence[str]) -> WantedTables:
    """What is counted before anything else: every column that is in use, and the first few together."""
    constraint_axes = {tuple(sorted(domain.axes(c.columns))) for c in domain.constraints}
    small_constraint_axes = {axes for axes in constraint_axes if _cells(domain, [axes]) <= CONSTRAINED}
    return WantedTables(
        domain, tuple(sorted({tuple(sorted(domain.axes(first))), *_singles(domain), *small_constraint_axes}))
    )


def questions(workload: Workload) -> WantedTables:
    """What a workload asks for: all cells where they can be listed, else its tables, and all pairs where they are few.

    Raises InputError where its tables have too many cells together.
    """
    domain = workload.domain
    if domain.size <= LISTED:
        return WantedTables(domain, (tuple(range(len(domain.shape))),))
    tables = {*(workload.base.axes if workload.base else ()), *_singles(domain)}
    if (cells := _cells(domain, tables)) > MOST:
        raise InputError(
            f"these questions need {cells:,} combinations, and {MOST:,} are counted at once: ask fewer, or about fewer "
            "columns"
        )
    pairs = Marginals.all(domain, min(2, len(domain.shape))).axes
    return WantedTables(domain, tuple(sorted({*tables, *(pairs if _cells(domain, pairs) <= PAIRS else ())})))


def missing(known: Known, wanted: WantedTables, unit: PrivacyUnit) -> WantedTables | None:
    """What of it is still to be counted; None where all is there."""
    if wanted.domain.size <= LISTED and _covering(known, wanted.domain, unit) is not None:
        return None
    existing = known.get(wanted.domain.names)
    missing_axes = [
        axes for axes in wanted.tables if existing is None or not any(set(axes) <= set(t) for t in existing.tables)
    ]
    return replace(wanted, tables=tuple(missing_axes)) if missing_axes else None


def added(known: Known, found: Counts) -> Known:
    """With what was counted; counts that are in use get more tables, and stay the same object to whoever uses them."""
    existing = known.get(found.domain.names)
    if existing is None:
        return {**known, found.domain.names: found}
    existing.tables.update(found.tables)
    return known


def rows_of(known: Known, domain: Domain, unit: PrivacyUnit) -> Rows | Counts:
    """The records as far as these columns tell, once they are counted; InputError until then."""
    counts = _covering(known, domain, unit) if domain.size <= LISTED else known.get(domain.names)
    if counts is None:
        raise InputError(f"the rows were not counted yet by {', '.join(domain.names)}")
    return counts.listed(domain.names) if domain.size <= LISTED else counts


def _covering(known: Mapping[tuple[str, ...], Counts], domain: Domain, unit: PrivacyUnit) -> Counts | None:
    """Counts with a table on all of these columns; which rows of a person count depends on the columns in use."""
    names = set(domain.names)
    for counts in known.values():
        if names <= set(counts.domain.names) and (unit.person is None or names == set(counts.domain.names)):
            axes = set(counts.domain.axes(domain.names))
            if any(axes <= set(table) for table in counts.tables):
                return counts
    return None


def _singles(domain: Domain) -> list[Axes]:
    return [(a,) for a in range(len(domain.shape))]


def _cells(domain: Domain, tables: Iterable[Axes]) -> int:
    return sum(math.prod(domain.shape[a] for a in axes) for axes in tables)
