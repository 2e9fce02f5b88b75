"""A table in a database, which counts it itself: the optional extra `sql`.

Encoding is pushed down to the database, and only counts come back.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...core.errors import InputError
from ...core.types import Array, Axes, Json, ProgressCallback, Texts, frozen, ignore_progress
from ...schema.cell_text import (
    DAY_PATTERN,
    MIDNIGHT_PATTERN,
    MISSING_TEXTS,
    WHOLE_NUMBER_PATTERN,
    ZERO_FRACTION_PATTERN,
    ZERO_PATTERN,
    canonical_text_of_value,
)
from ...schema.column import OTHER_LABEL, Column
from ...schema.column_readings import AS_WRITTEN
from ...schema.domain import Domain
from ..input_files import open_regular_file
from .source import Source, Tally, source_column_positions
from .table_counting import choose_wide_tables, sum_to_tables

Case = tuple[Any, int]  # a condition on a cell, and the cell's code where it holds
Refusal = tuple[Any, Any, str]  # a condition on refused cells, the text to show, and the reason
# tested ones: what takes characters off both ends of a text, composes its accents (NFC), makes
# bytes of it, and a text of bytes
TEXT_FUNCTIONS_BY_ENGINE = {
    "duckdb": ("trim", "nfc_normalize", "encode", "decode"),
    "postgres": ("btrim", "normalize", "convert_to", "convert_from", "UTF8"),
}
ADDRESS_PREFIXES = ("duckdb://", "postgres://", "postgresql://")
# DuckDB takes the name of a file for a table, and views may read any file: neither leaves the
# database that was named.
CLOSED_DUCKDB_SETTINGS = dict.fromkeys(
    (
        "enable_external_access",
        "autoinstall_known_extensions",
        "autoload_known_extensions",
        "allow_community_extensions",
    ),
    False,
)
MAX_DATABASE_BYTES = 1 << 50  # largest database, which is never read whole
SPACE_CHARACTERS = "".join(
    c for c in map(chr, range(0x110000)) if c.isspace()
)  # what `str.strip` takes off
REFUSED_CODE = -1
MAX_CHECKS_PER_QUERY = (
    500  # reasons to refuse that one query looks for: PostgreSQL answers with at most 1,664 columns
)
MISSING_EXTRA_MESSAGE = (
    "a database needs the extra `sql`: pip install "
    "'privacy-utility-explorer[sql]', and the engine's own driver"
)
TABLE_EXISTS_QUERY = (
    "SELECT 1 FROM information_schema.tables WHERE table_catalog = current_database() AND "
    "table_name = ? "
    "AND table_schema = coalesce(?, current_schema())"
)


def is_database_address(text: str) -> bool:
    """Return whether a text names a table in a database, not a file."""
    return text.startswith(ADDRESS_PREFIXES)


def connect_database(text: str) -> "DatabaseSource":
    """Return the source for an address ENGINE://…#TABLE or …#SCHEMA.TABLE.

    A password should stay in the engine's own files. Raises InputError, which never repeats the
    address, if the extra is missing or nobody answers.
    """
    address, _, table = text.partition("#")
    if not is_database_address(address) or not table:
        raise InputError(
            "a table in a database is named ENGINE://…#TABLE, with ENGINE duckdb or postgres"
        )
    engine = address.partition("://")[0].replace("postgresql", "postgres")
    *schema, name = table.split(".")
    database = schema[0] if schema else None
    try:
        import ibis

        if engine == "duckdb":
            path = address.partition("://")[2]
            with open_regular_file(
                path, MAX_DATABASE_BYTES
            ):  # a regular file, which reads no other one and loads no extension
                pass
            backend: Any = ibis.duckdb.connect(Path(path), read_only=True, **CLOSED_DUCKDB_SETTINGS)
            if not backend.con.execute(TABLE_EXISTS_QUERY, [name, database]).fetchall():
                raise InputError("there is no such table or view in it")
        else:
            backend = ibis.connect(address)
            backend.con.execute(
                "SET standard_conforming_strings = on"
            )  # else a backslash in a value is a command
            backend.con.commit()
        ibis_table = backend.table(name, database=database)
    except ImportError:
        raise InputError(MISSING_EXTRA_MESSAGE) from None
    except Exception as error:  # of any driver; its words may hold a password
        reason = str(error) if isinstance(error, InputError) else type(error).__name__
        raise InputError(
            f"{engine}: the table {table[:80]!r} cannot be opened ({reason})"
        ) from None
    return DatabaseSource(backend, ibis_table, f"{engine} table {table}")


@frozen
class DatabaseSource(Source):
    """A table in a database, as a source whose counts the database computes.

    It is a table of an Ibis backend. Its expressions compute the codes of `Column.encode`, bit for
    bit. Numbers are compared as 64-bit floats with edges that are written in full. What cannot be
    pushed down exactly is refused: dates, decimals, numbers in 32-bit floats (0.7 is less there
    than its text says), texts that are to be read as numbers, and cells that are read in other ways
    than as written. The table must not change meanwhile: counts that do not add up to one n are
    refused.
    """

    backend: Any
    table: Any
    name: str = "the table"

    def __post_init__(self) -> None:
        if self.backend.name not in TEXT_FUNCTIONS_BY_ENGINE:
            tested = ", ".join(TEXT_FUNCTIONS_BY_ENGINE)
            raise InputError(
                f"{self.backend.name} is no database whose codes were tested; these were: {tested}"
            )

    @property
    def columns(self) -> Texts:
        """The column names, as the database spells them."""
        return tuple(self.table.columns)

    def close(self) -> None:
        """Close the connection."""
        self.backend.disconnect()

    def count(
        self, domain: Domain, tables: Sequence[Axes], progress: ProgressCallback = ignore_progress
    ) -> Tally:
        """Return n and the counts of the tables, computed by the database.

        One query gives n and refused cells, then each wide table is a GROUP BY of a packed number.
        """
        positions = source_column_positions(self, domain)
        expressions = [
            self._code_expression(c, self.columns[position])
            for c, position in zip(domain.columns, positions, strict=True)
        ]
        refusals = [
            (c.name, *refused)
            for c, (_, refused_cells) in zip(domain.columns, expressions, strict=True)
            for refused in refused_cells
        ]
        row_counts = {
            self._check_and_count_rows(refusals[i : i + MAX_CHECKS_PER_QUERY])
            for i in range(0, len(refusals) or 1, MAX_CHECKS_PER_QUERY)
        }
        n = max(row_counts)
        progress(n, None)
        table_counts = {}
        for axes in choose_wide_tables(tables, domain.shape):
            table_counts[axes] = self._count_cells(
                [expressions[a][0] for a in axes], [domain.shape[a] for a in axes]
            )
            if row_counts != {table_counts[axes].sum()}:
                raise InputError(f"{self.name} changed while it was counted")
            progress(n, None)
        return Tally(n, sum_to_tables(table_counts, tables, domain.shape))

    def fingerprints(self, key: bytes, progress: ProgressCallback = ignore_progress) -> NoReturn:
        """Raise InputError: a fingerprint would need every row."""
        self.fingerprint(key, progress)

    def fingerprint(self, key: bytes, progress: ProgressCallback = ignore_progress) -> NoReturn:  # noqa: ARG002
        """Raise InputError: a fingerprint would need every row."""
        raise InputError(
            f"{self.name}: a release is of a table that its ledger knows by a fingerprint of all "
            "rows, and rows do not "
            "leave a database; export it to Parquet for a release"
        )

    def _check_and_count_rows(self, refusals: Sequence[tuple[str, Any, Any, str]]) -> int:
        """Return the number of rows n; raise InputError if any cell is refused.

        The error is for the first column with refused cells: the smallest one, and how many.
        """
        import ibis

        aggregates: Json = {"n": self.table.count()}
        for i, (_, bad, cells, _) in enumerate(refusals):
            aggregates[f"bad_{i}"] = bad.ifelse(1, 0).sum()
            aggregates[f"least_{i}"] = ibis.cases((bad, cells.cast("string")), else_=None).min()  # type: ignore[attr-defined]
        (result,) = self._run_query(self.table.aggregate(**aggregates)).to_pylist()
        for i, (name, _, _, reason) in enumerate(refusals):
            refused_count = result[f"bad_{i}"]
            if refused_count:
                least = result[f"least_{i}"]
                value = "a value" if least is None else repr(least[:60])
                like = f"({refused_count:,} of {result['n']:,} rows like it)"
                raise InputError(f"{self.name}: column {name!r}: {value} {reason} {like}")
        return int(result["n"])

    def _count_cells(self, codes: Sequence[Any], shape: Sequence[int]) -> Array:
        """Return the number of rows in each cell (size,)."""
        key = codes[0]
        for code, size in zip(codes[1:], shape[1:], strict=True):
            key = key * size + code
        result = self._run_query(self.table.group_by(cell=key).aggregate(times=lambda t: t.count()))
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        counts[result["cell"].to_numpy()] = result["times"].to_numpy()
        return counts

    def _run_query(self, query: Any) -> Any:
        """Return the answer to a database query as an Arrow table."""
        try:
            return self.backend.to_pyarrow(query)
        except Exception as error:
            # of a column of its own kind
            reason = f"the database did not answer ({type(error).__name__})"
            raise InputError(
                f"{self.name}: {reason}; in a view, cast unusual columns to text, or read a file"
            ) from None

    def _code_expression(self, column: Column, name: str) -> tuple[Any, list[Refusal]]:
        """Return a column's code as a database expression, and its refused cells.

        Each of these is a condition, the text to show, and the reason.
        """
        import ibis

        cells = self.table[name]
        kind = cells.type()
        is_number = kind.is_integer() or kind.is_floating()
        self._check_column_type(column, kind, is_number=is_number)
        float_cells: Any = cells.cast("float64") if is_number else None
        absent = cells.isnull() | float_cells.isnan() if kind.is_floating() else cells.isnull()
        if column.values:
            cases, is_missing_text = self._value_conditions(column, cells, float_cells)
            if is_missing_text is not None:
                absent = absent | is_missing_text
            default_code, refusals = _unlisted_values(column, cells, cases, absent)
        else:
            absent, refusals = _refused_numbers(column, cells, float_cells, absent)
            cases, default_code = _number_conditions(column, float_cells)
        if column.missing == "refuse":
            refusals.append((absent, cells, "is missing"))
        missing_code = (
            column.values.index(OTHER_LABEL)
            if column.missing == "other"
            else column.nonmissing_size
        )
        code = ibis.cases((absent, missing_code), *cases, else_=default_code)
        return code.cast("int64"), refusals

    def _check_column_type(self, column: Column, kind: Any, *, is_number: bool) -> None:
        """Raise InputError for a database type, `kind`, that a column's codes are not made from."""
        is_supported = is_number or kind.is_boolean() or kind.is_string()
        if not (is_supported if column.values else is_number and not kind.is_float32()):
            holds = f"holds {type(kind).__name__.lower()} in the database"
            problem = (
                f"{holds}, from which its {'codes' if column.values else 'numbers'} are not made"
            )
            raise InputError(
                f"{self.name}: column {column.name!r} {problem}: cast it in a view, or read a file"
            )
        is_date_part = " of " in column.read
        if column.read != AS_WRITTEN and (column.values or not is_number or is_date_part):
            raise InputError(
                f"{self.name}: column {column.name!r}: reading it as {column.read!r} needs a file"
            )
        if column.same or column.missing_codes:
            statement = "same" if column.same else "missing_codes"
            raise InputError(
                f'{self.name}: column {column.name!r}: "{statement}" needs a file; or replace '
                "these values in a view"
            )

    def _value_conditions(
        self, column: Column, cells: Any, float_cells: Any
    ) -> tuple[list[Case], Any]:
        """Return a condition for each listed value, with its code, and one for missing values.

        The latter is for a text that means a missing value.
        """
        code_of_key = {column.category_key(value): code for code, value in enumerate(column.values)}
        kind = cells.type()
        if kind.is_string():
            text = self._stripped_text(cells)
            cases = [(_equals_canonical_text(text, key), code) for key, code in code_of_key.items()]
            return cases, text.isin(sorted(MISSING_TEXTS - set(code_of_key)))
        if kind.is_boolean():
            cases = [
                (cells == (key == "True"), code)
                for key, code in code_of_key.items()
                if key in ("True", "False")
            ]
            return cases, None
        return _number_value_conditions(code_of_key, cells, float_cells), None

    def _stripped_text(self, cells: Any) -> Any:
        """Return the cells' texts without space at their ends, to be compared byte by byte."""
        names = TEXT_FUNCTIONS_BY_ENGINE[self.backend.name]
        trim_name, compose_name, encode_name, decode_name, *encoding = names
        encoding_types = ["string"] * len(encoding)
        trim = _engine_function(trim_name, "string", "string", "string")
        compose = _engine_function(compose_name, "string", "string")
        text = compose(trim(cells + "", SPACE_CHARACTERS))  # of an enumeration, too
        # Bytes have no collation, under which different texts may be equal.
        encode = _engine_function(encode_name, "string", *encoding_types, "binary")
        decode = _engine_function(decode_name, "binary", *encoding_types, "string")
        return decode(encode(text, *encoding), *encoding)


def _unlisted_values(
    column: Column, cells: Any, cases: Sequence[Case], absent: Any
) -> tuple[int, list[Refusal]]:
    """Return the code of values that a categorical column does not list, and their refusals.

    There is no refusal where they count as another value.
    """
    if column.out_of_range == "other":
        return column.values.index(OTHER_LABEL), []
    outside = ~absent
    for condition, _ in cases:
        outside = outside & ~condition
    reason = f"is not one of the allowed values {column.allowed_text}"
    return REFUSED_CODE, [(outside, cells, reason)]


def _refused_numbers(
    column: Column, cells: Any, float_cells: Any, absent: Any
) -> tuple[Any, list[Refusal]]:
    """Return which cells of a column of numbers count as missing, and which are refused."""
    # Ibis's own makes whole numbers of 64 bits
    floor = _engine_function("floor", "float64", "float64")
    refusals = []
    number_checks = []
    if cells.type().is_floating():
        number_checks.append((float_cells.isinf(), "is not a finite number"))
    if column.kind == "integer":
        is_fraction = float_cells != floor(float_cells)
        number_checks.append((is_fraction, f"is not a whole number in {column.allowed_text}"))
    for is_refused, reason in number_checks:
        if column.unreadable == "missing":
            absent = absent | is_refused
        else:
            refusals.append((~absent & is_refused, cells, reason))
    if column.out_of_range == "refuse":
        low, high = map(_exact_literal, column.bounds)
        is_outside = ~absent & ((float_cells < low) | (float_cells > high))
        refusals.append((is_outside, cells, f"is outside {column.allowed_text}"))
    return absent, refusals


def _number_conditions(column: Column, float_cells: Any) -> tuple[list[Case], Any]:
    """Return conditions with their codes for a column of numbers, and the code where none holds."""
    last_code = column.nonmissing_size - 1
    if column.edges:
        cases = [
            (float_cells < _exact_literal(edge), i) for i, edge in enumerate(column.edges[1:-1])
        ]
        return cases, last_code
    low, high = map(_exact_literal, column.bounds)
    cases = [(float_cells <= low, 0), (float_cells >= high, last_code)]
    return cases, (float_cells - low).cast("int64")


def _number_value_conditions(
    code_of_key: Mapping[str, int], cells: Any, float_cells: Any
) -> list[Case]:
    """Return a condition with its code for each listed value that a number cell may hold.

    A value that no cell of this type of number can hold has none.
    """
    import ibis

    kind = cells.type()
    conditions = []
    for key, code in code_of_key.items():
        try:
            value = _parse_as_type(key, kind)
        except ValueError:
            continue
        if canonical_text_of_value(value) != key or _is_nan(value):
            continue
        if kind.is_floating():
            conditions.append((float_cells == _exact_literal(value), code))
        elif kind.bounds.lower <= value <= kind.bounds.upper:
            conditions.append((cells == ibis.literal(value, kind), code))
    return conditions


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _parse_as_type(key: str, kind: Any) -> Any:
    """Return the number that a text is in a database's type; raise ValueError where it is none."""
    if kind.is_integer():
        return int(key)
    if kind.is_float32():
        return np.float32(key)
    return float(key)


def _equals_canonical_text(text: Any, key: str) -> Any:
    """Return a database condition for a text that equals a canonical one.

    The rule is that of `canonical_text`.
    """
    if re.fullmatch(f"{ZERO_PATTERN}|{WHOLE_NUMBER_PATTERN}", key):
        sign = "-?" if key == ZERO_PATTERN else ""
        return text.re_search(f"^{sign}{key}({ZERO_FRACTION_PATTERN})?$")
    return (
        text.re_search(f"^{key}({MIDNIGHT_PATTERN})?$")
        if re.fullmatch(DAY_PATTERN, key)
        else text == key
    )


def _exact_literal(value: float) -> Any:
    """Return a number as a literal that is written out in full.

    So the database reads the very same float, not a decimal.
    """
    import ibis

    return ibis.literal(repr(float(value))).cast("float64")


def _engine_function(name: str, *kinds: str) -> Any:
    """Return a function of the database engine by its name.

    `kinds` are the types of its arguments, then that of its value.
    """
    import ibis

    *argument_types, value_type = kinds
    function = _one_argument if len(argument_types) == 1 else _two_arguments
    signature = (tuple(argument_types), value_type)
    return ibis.udf.scalar.builtin(function, name=name, signature=signature)  # type: ignore[call-overload]


def _one_argument(a: Any) -> Any:
    """Stand for an engine's function of one argument, whose code is the engine's."""


def _two_arguments(a: Any, b: Any) -> Any:
    """Stand for an engine's function of two arguments, whose code is the engine's."""
