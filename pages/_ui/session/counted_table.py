"""Table too large for memory: it is read in parts, and a session holds counts of its rows."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from dpcore import Domain, InputError, Marginals, PrivacyUnit, Rows
from dpcore.core.types import Axes, ProgressCallback, Texts, frozen, ignore_progress
from dpcore.data.sources.gathered_counts import (
    MAX_CONSTRAINT_CELLS,
    MAX_LISTED_CELLS,
    GatheredCounts,
)
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.data.sources.source import SourceWrapper, open_stamped_file
from dpcore.data.sources.text_source import TextSource
from dpcore.queries import Workload

MAX_COUNTED_CELLS = 50_000_000  # cells of all tables that are counted at once
MAX_PAIR_CELLS = (
    5_000_000  # cells of all pairs of columns, up to which they are counted beside what is asked
)
CountsByColumns = dict[tuple[str, ...], GatheredCounts]  # by the columns that were counted together


@frozen
class LargeTable:
    """Source of a table whose rows are read in parts, with their exact or estimated number.

    There are about `rows` rows, exactly so many where `is_row_count_exact`. `fingerprints_by_key`
    are
    its fingerprints by the keys of ledgers, and `sha256_digests` the SHA-256 of its bytes, each
    made
    once.
    """

    source: ParquetSource | TextSource
    rows: int
    is_row_count_exact: bool
    fingerprints_by_key: dict[bytes, Texts] = field(default_factory=dict, repr=False)
    sha256_digests: list[str] = field(default_factory=list, repr=False)

    def require_unchanged_file(self) -> None:
        """Refuse a file that is no longer the one that was read first."""
        for path, stamp in self.source.stamps:
            with hide_path_in_errors(path), open_stamped_file(path, stamp):
                pass


@frozen
class LedgerSource(SourceWrapper):
    """What a ledger knows a large table by; `progress` receives the rows read."""

    large_table: LargeTable
    progress: ProgressCallback = ignore_progress

    def fingerprint(self, key: bytes, progress: ProgressCallback = ignore_progress) -> str:
        """Return the fingerprint of the source; see `fingerprints`."""
        return self.fingerprints(key, progress)[0]

    def fingerprints(self, key: bytes, progress: ProgressCallback = ignore_progress) -> Texts:
        """Return the fingerprints of the source.

        An error names its file, and not where on this machine it lies.
        """
        with hide_path_in_errors(self.name):
            if key not in self.large_table.fingerprints_by_key:
                self.large_table.fingerprints_by_key[key] = self.source.fingerprints(
                    key, self.progress
                )
            self.large_table.require_unchanged_file()
        return self.large_table.fingerprints_by_key[key]

    @property
    def sha256(self) -> str:
        """That of the source's bytes."""
        with hide_path_in_errors(self.name):
            if not self.large_table.sha256_digests:
                self.large_table.sha256_digests.append(self.source.sha256)
            self.large_table.require_unchanged_file()
        return self.large_table.sha256_digests[0]


@contextmanager
def hide_path_in_errors(path: str | Path) -> Iterator[None]:
    """Remove the folders of a file's path from errors raised in the context.

    An error has the name of the file, not where on this machine it lies.
    """
    file_name = Path(path).name
    try:
        yield
    except InputError as error:
        text = str(error).replace(str(path), file_name)
        doubled_name = f"{file_name}: {file_name}"
        text = (
            file_name + text.removeprefix(doubled_name) if text.startswith(doubled_name) else text
        )
        raise InputError(text if text.startswith(file_name) else f"{file_name}: {text}") from None


@frozen
class TablesToCount:
    """Tables on columns of a `domain`, all of which are encoded, whatever the tables are."""

    domain: Domain
    tables: tuple[Axes, ...]


def tables_for_validation(domain: Domain, first_names: Sequence[str]) -> TablesToCount:
    """Return the marginals counted before any other: each used column's, and the first few's.

    The first few columns are counted together, and the small marginals of constraints, too.
    """
    constraint_axes = {tuple(sorted(domain.axes(c.columns))) for c in domain.constraints}
    small_constraint_axes = {
        axes for axes in constraint_axes if _total_cells(domain, [axes]) <= MAX_CONSTRAINT_CELLS
    }
    return TablesToCount(
        domain,
        tuple(
            sorted(
                {
                    tuple(sorted(domain.axes(first_names))),
                    *_one_way_axes(domain),
                    *small_constraint_axes,
                }
            )
        ),
    )


def tables_for_workload(workload: Workload) -> TablesToCount:
    """Return the marginals to count for a workload.

    All cells where they can be listed, else its marginals, and all pairs where they are few. Raises
    InputError where its marginals have too many cells together.
    """
    domain = workload.domain
    if domain.size <= MAX_LISTED_CELLS:
        return TablesToCount(domain, (tuple(range(len(domain.shape))),))
    tables = {*(workload.base.axes if workload.base else ()), *_one_way_axes(domain)}
    cells = _total_cells(domain, tables)
    if cells > MAX_COUNTED_CELLS:
        raise InputError(
            f"these questions need {cells:,} combinations, and {MAX_COUNTED_CELLS:,} are counted "
            "at once: ask fewer, or about fewer "
            "columns"
        )
    pairs = Marginals.all(domain, min(2, len(domain.shape))).axes
    return TablesToCount(
        domain,
        tuple(sorted({*tables, *(pairs if _total_cells(domain, pairs) <= MAX_PAIR_CELLS else ())})),
    )


def find_missing_tables(
    counts_by_columns: CountsByColumns, requested: TablesToCount, unit: PrivacyUnit
) -> TablesToCount | None:
    """Return the requested marginals that are not counted yet; None if all are."""
    if (
        requested.domain.size <= MAX_LISTED_CELLS
        and _find_covering_counts(counts_by_columns, requested.domain, unit) is not None
    ):
        return None
    existing = counts_by_columns.get(requested.domain.names)
    missing_axes = [
        axes
        for axes in requested.tables
        if existing is None or not any(set(axes) <= set(t) for t in existing.tables)
    ]
    return replace(requested, tables=tuple(missing_axes)) if missing_axes else None


def merge_counts(counts_by_columns: CountsByColumns, new_counts: GatheredCounts) -> CountsByColumns:
    """Return the counts with the new ones added.

    Counts that are in use get more tables, and stay the same object to whoever uses them.
    """
    existing = counts_by_columns.get(new_counts.domain.names)
    if existing is None:
        return {**counts_by_columns, new_counts.domain.names: new_counts}
    existing.tables.update(new_counts.tables)
    return counts_by_columns


def rows_from_counts(
    counts_by_columns: CountsByColumns, domain: Domain, unit: PrivacyUnit
) -> Rows | GatheredCounts:
    """Return the rows, or counts if the cells are too many, from what was counted.

    They are as far as the domain's columns tell. Raises InputError until these are counted.
    """
    counts = (
        _find_covering_counts(counts_by_columns, domain, unit)
        if domain.size <= MAX_LISTED_CELLS
        else counts_by_columns.get(domain.names)
    )
    if counts is None:
        raise InputError(f"the rows were not counted yet by {', '.join(domain.names)}")
    return counts.list_rows(domain.names) if domain.size <= MAX_LISTED_CELLS else counts


def _find_covering_counts(
    counts_by_columns: Mapping[tuple[str, ...], GatheredCounts], domain: Domain, unit: PrivacyUnit
) -> GatheredCounts | None:
    """Return counts with a marginal over all columns of the domain, or None.

    Which rows of a person count depends on the columns in use, so with a person column the columns
    must
    be the same.
    """
    names = set(domain.names)
    for counts in counts_by_columns.values():
        if names <= set(counts.domain.names) and (
            unit.person is None or names == set(counts.domain.names)
        ):
            axes = set(counts.domain.axes(domain.names))
            if any(axes <= set(table) for table in counts.tables):
                return counts
    return None


def _one_way_axes(domain: Domain) -> list[Axes]:
    return [(a,) for a in range(len(domain.shape))]


def _total_cells(domain: Domain, tables: Iterable[Axes]) -> int:
    return sum(math.prod(domain.shape[a] for a in axes) for axes in tables)
