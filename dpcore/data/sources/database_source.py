"""A table in a database, counted there: the optional extra `sql`. Encoding is pushed down, only counts come back."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...core.errors import InputError
from ...core.types import Array, Axes, Json, Texts, Watch, frozen, unwatched
from ...schema.cell_text import DAY, MIDNIGHT, MISSING_TEXTS, POINT, WHOLE, ZERO, written
from ...schema.column import OTHER, Column
from ...schema.column_readings import AS_WRITTEN
from ...schema.domain import Domain
from ..input_files import opened
from .source import Source, Tally, places
from .table_counting import cover, narrowed

ENGINES = {  # tested ones: what takes characters off both ends of a text, makes bytes of it, and a text of bytes
    "duckdb": ("trim", "encode", "decode"),
    "postgres": ("btrim", "convert_to", "convert_from", "UTF8"),
}
SCHEMES = ("duckdb://", "postgres://", "postgresql://")
# DuckDB takes the name of a file for a table, and views may read any file: neither leaves the database that was named.
CLOSED = dict.fromkeys(
    (
        "enable_external_access",
        "autoinstall_known_extensions",
        "autoload_known_extensions",
        "allow_community_extensions",
    ),
    False,
)
MOST_BYTES = 1 << 50  # largest database, which is never read whole
SPACES = "".join(c for c in map(chr, range(0x110000)) if c.isspace())  # what `str.strip` takes off
UNCOUNTED = -1
AT_ONCE = 500  # reasons to refuse that one query looks for: PostgreSQL answers with at most 1,664 columns
EXTRA = "a database needs the extra `sql`: pip install 'privacy-utility-explorer[sql]', and the engine's own driver"
OWN = (
    "SELECT 1 FROM information_schema.tables WHERE table_catalog = current_database() AND table_name = ? "
    "AND table_schema = coalesce(?, current_schema())"
)


def is_database(text: str) -> bool:
    """Whether a text names a table in a database, not a file."""
    return text.startswith(SCHEMES)


def connect(text: str) -> "DatabaseSource":
    """The source for ENGINE://…#TABLE or …#SCHEMA.TABLE; a password should stay in the engine's own files.

    Raises InputError, which never repeats the address, where the extra is missing or nobody answers.
    """
    address, _, table = text.partition("#")
    if not is_database(address) or not table:
        raise InputError("a table in a database is named ENGINE://…#TABLE, with ENGINE duckdb or postgres")
    engine = address.partition("://")[0].replace("postgresql", "postgres")
    *schema, name = table.split(".")
    database = schema[0] if schema else None
    try:
        import ibis

        if engine == "duckdb":
            path = address.partition("://")[2]
            with opened(path, MOST_BYTES):  # a regular file, which reads no other one and loads no extension
                pass
            backend: Any = ibis.duckdb.connect(Path(path), read_only=True, **CLOSED)
            if not backend.con.execute(OWN, [name, database]).fetchall():
                raise InputError("there is no such table or view in it")
        else:
            backend = ibis.connect(address)
            backend.con.execute("SET standard_conforming_strings = on")  # else a backslash in a value is a command
            backend.con.commit()
        found = backend.table(name, database=database)
    except ImportError:
        raise InputError(EXTRA) from None
    except Exception as error:  # of any driver; its words may hold a password
        why = str(error) if isinstance(error, InputError) else type(error).__name__
        raise InputError(f"{engine}: the table {table[:80]!r} cannot be opened ({why})") from None
    return DatabaseSource(backend, found, f"{engine} table {table}")


@frozen
class DatabaseSource(Source):
    """A table of an Ibis backend. Its expressions compute the codes of `Column.encode`, bit for bit.

    Numbers are compared as 64-bit floats with edges that are written in full. What cannot be pushed down exactly is
    refused: dates, decimals, numbers in 32-bit floats (0.7 is less there than its text says), texts that are to be read
    as numbers, and cells that are read in other ways than as written. The table must not change meanwhile: counts that
    do not add up to one n are refused.
    """

    backend: Any
    table: Any
    name: str = "the table"

    def __post_init__(self) -> None:
        if self.backend.name not in ENGINES:
            tested = ", ".join(ENGINES)
            raise InputError(f"{self.backend.name} is no database whose codes were tested; these were: {tested}")

    @property
    def columns(self) -> Texts:
        """The column names, as the database spells them."""
        return tuple(self.table.columns)

    def close(self) -> None:
        """Close the connection."""
        self.backend.disconnect()

    def count(self, domain: Domain, tables: Sequence[Axes], watch: Watch = unwatched) -> Tally:
        """The counts from one query for n and refused cells, then a GROUP BY of a packed number for each wide
        table.
        """
        there = places(self, domain)
        pushed = [self._pushed(c, self.columns[place]) for c, place in zip(domain.columns, there, strict=True)]
        refusals = [(c.name, *refused) for c, (_, some) in zip(domain.columns, pushed, strict=True) for refused in some]
        found = {self._checked(refusals[i : i + AT_ONCE]) for i in range(0, len(refusals) or 1, AT_ONCE)}
        n = max(found)
        watch(n)
        counted = {}
        for axes in cover(tables, domain.shape):
            counted[axes] = self._grouped([pushed[a][0] for a in axes], [domain.shape[a] for a in axes])
            if found != {counted[axes].sum()}:
                raise InputError(f"{self.name} changed while it was counted")
            watch(n)
        return Tally(n, narrowed(counted, tables, domain.shape))

    def fingerprints(self, key: bytes, watch: Watch = unwatched) -> NoReturn:
        """Raise InputError: a fingerprint would need every row."""
        self.fingerprint(key, watch)

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> NoReturn:  # noqa: ARG002
        """Raise InputError: a fingerprint would need every row."""
        raise InputError(
            f"{self.name}: a release is of a table that its ledger knows by a fingerprint of all rows, and rows do not "
            "leave a database; export it to Parquet for a release"
        )

    def _checked(self, refusals: Sequence[tuple[str, Any, Any, str]]) -> int:
        """The number n; InputError for the first column with refused cells: the smallest one, and how many."""
        import ibis

        asked: Json = {"n": self.table.count()}
        for i, (_, bad, cells, _) in enumerate(refusals):
            asked[f"bad_{i}"] = bad.ifelse(1, 0).sum()
            asked[f"least_{i}"] = ibis.cases((bad, cells.cast("string")), else_=None).min()  # type: ignore[attr-defined]
        (found,) = self._asked(self.table.aggregate(**asked)).to_pylist()
        for i, (name, _, _, why) in enumerate(refusals):
            if times := found[f"bad_{i}"]:
                least = found[f"least_{i}"]
                value = "a value" if least is None else repr(least[:60])
                like = f"({times:,} of {found['n']:,} rows like it)"
                raise InputError(f"{self.name}: column {name!r}: {value} {why} {like}")
        return int(found["n"])

    def _grouped(self, codes: Sequence[Any], shape: Sequence[int]) -> Array:
        """The number of records in each cell (size,)."""
        key = codes[0]
        for code, size in zip(codes[1:], shape[1:], strict=True):
            key = key * size + code
        found = self._asked(self.table.group_by(cell=key).aggregate(times=lambda t: t.count()))
        out = np.zeros(math.prod(shape), dtype=np.int64)
        out[found["cell"].to_numpy()] = found["times"].to_numpy()
        return out

    def _asked(self, question: Any) -> Any:
        """The answer to a query as an Arrow table."""
        try:
            return self.backend.to_pyarrow(question)
        except Exception as error:
            why = f"the database did not answer ({type(error).__name__})"  # of a column of its own kind
            raise InputError(f"{self.name}: {why}; in a view, cast unusual columns to text, or read a file") from None

    def _pushed(self, column: Column, name: str) -> tuple[Any, list[tuple[Any, Any, str]]]:
        """A column's code as an expression, and its refused cells: a condition, the text to show, and the reason."""
        import ibis

        cells, kind = self.table[name], self.table[name].type()
        number = kind.is_integer() or kind.is_floating()
        coded = number or kind.is_boolean() or kind.is_string()
        if not (coded if column.values else number and not kind.is_float32()):
            holds = f"holds {type(kind).__name__.lower()} in the database"
            what = f"{holds}, from which its {'codes' if column.values else 'numbers'} are not made"
            raise InputError(f"{self.name}: column {column.name!r} {what}: cast it in a view, or read a file")
        if column.read != AS_WRITTEN and (column.values or not number):
            raise InputError(f"{self.name}: column {column.name!r}: reading it as {column.read!r} needs a file")
        floats: Any = cells.cast("float64") if number else None
        absent = cells.isnull() | floats.isnan() if kind.is_floating() else cells.isnull()
        refusals = []
        if column.values:
            cases, said_missing = self._values(column, cells, floats)
            absent = absent | said_missing if said_missing is not None else absent
            outside = ~absent
            for condition, _ in cases:
                outside = outside & ~condition
            beyond = column.values.index(OTHER) if column.out_of_range == "other" else UNCOUNTED
            if beyond == UNCOUNTED:
                refusals.append((outside, cells, f"is not one of the allowed values {column.allowed}"))
        else:
            floor = _builtin("floor", "float64", "float64")  # Ibis's own makes whole numbers of 64 bits
            wrong = []
            if kind.is_floating():
                wrong.append((floats.isinf(), "is not a finite number"))
            if column.kind == "integer":
                wrong.append((floats != floor(floats), f"is not a whole number in {column.allowed}"))
            for bad, why in wrong:
                if column.unreadable == "missing":
                    absent = absent | bad
                else:
                    refusals.append((~absent & bad, cells, why))
            low, high = map(_exactly, column.bounds)
            if column.out_of_range == "refuse":
                refusals.append((~absent & ((floats < low) | (floats > high)), cells, f"is outside {column.allowed}"))
            if column.edges:
                cases = [(floats < _exactly(edge), i) for i, edge in enumerate(column.edges[1:-1])]
                beyond = column.present - 1
            else:
                last = column.present - 1
                cases = [(floats <= low, 0), (floats >= high, last)]
                beyond = (floats - low).cast("int64")
        if column.missing == "refuse":
            refusals.append((absent, cells, "is missing"))
        nothing = column.values.index(OTHER) if column.missing == "other" else column.present
        return ibis.cases((absent, nothing), *cases, else_=beyond).cast("int64"), refusals

    def _values(self, column: Column, cells: Any, floats: Any) -> tuple[list[tuple[Any, int]], Any]:
        """Conditions for each listed value with its code, and for a text that means a missing value."""
        import ibis

        keys = {column.key(value): code for code, value in enumerate(column.values)}
        kind = cells.type()
        if kind.is_string():
            trim, encode, decode, *more = ENGINES[self.backend.name]
            encoding = ["string"] * len(more)
            text = _builtin(trim, "string", "string", "string")(cells + "", SPACES)  # of an enumeration, too
            text = _builtin(encode, "string", *encoding, "binary")(text, *more)  # bytes have no collation, under which
            text = _builtin(decode, "binary", *encoding, "string")(text, *more)  # different texts may be equal
            absences = sorted(MISSING_TEXTS - set(keys))
            return [(_same(text, key), code) for key, code in keys.items()], text.isin(absences)
        if kind.is_boolean():
            return [(cells == (key == "True"), code) for key, code in keys.items() if key in ("True", "False")], None
        found = []
        for key, code in keys.items():
            try:
                value: Any = (int if kind.is_integer() else np.float32 if kind.is_float32() else float)(key)
            except ValueError:
                continue
            if written(value) != key or value != value:
                continue
            if kind.is_floating():
                found.append((floats == _exactly(value), code))
            elif kind.bounds.lower <= value <= kind.bounds.upper:
                found.append((cells == ibis.literal(value, kind), code))
        return found, None


def _same(text: Any, key: str) -> Any:
    """Whether a text equals a canonical one, by the rule of `canonical`."""
    if re.fullmatch(f"{ZERO}|{WHOLE}", key):
        return text.re_search(f"^{'-?' * (key == ZERO)}{key}({POINT})?$")
    return text.re_search(f"^{key}({MIDNIGHT})?$") if re.fullmatch(DAY, key) else text == key


def _exactly(value: float) -> Any:
    """A number written out in full, so that the database reads the very same float, not a decimal."""
    import ibis

    return ibis.literal(repr(float(value))).cast("float64")


def _builtin(name: str, *kinds: str) -> Any:
    """A function of the engine's own: the types of its arguments, then that of its value."""
    import ibis

    *given, value = kinds
    function = (lambda a: ..., lambda a, b: ...)[len(given) - 1]  # noqa: ARG005 - what it does is the engine's
    return ibis.udf.scalar.builtin(function, name=name, signature=(tuple(given), value))  # type: ignore[call-overload]
