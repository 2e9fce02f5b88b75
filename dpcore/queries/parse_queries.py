"""The reader of `--queries`: each text is a workload, several texts are their union."""

import csv
import io
import json
import re
from collections.abc import Sequence

from ..core.errors import InputError
from ..core.types import Texts
from ..data.readers import read_matrix
from ..data.row_pairs import pair_in_domain
from ..schema.domain import Domain
from . import Explicit, Marginals, TableQueries, Union, Workload
from .questions import parse_question
from .waves import waves_between

QUERY_FORMS_HELP = (
    'marginals:W (all W-way), marginals:[["a","b"],["c"]] (chosen ones), windows:y1..y12:3 '
    "(every 3 waves in a row), ranges:a,b and prefixes:a,b (1-D, of columns with an order), "
    "conjunctions:W:N (N random ones over W columns), halfspaces:a,b:N (N random ones over columns "
    "of numbers), successions:a,b (of people who count once: what follows what in two rows of a "
    "person), question:sex = Female and age > 50 (one question in words), matrix:FILE.npy (m × "
    "k, in -1..1); "
    "given several times, they are asked together; in a list a,b a name with a comma or a quote "
    'is put in double quotes, with "" for a quote'
)
SUCCESSIONS = "successions"
WORKLOAD_DESCRIPTIONS = {
    "marginals:1": "every single column",
    "marginals:2": "every pair of columns",
    "marginals:3": "every three columns",
}
WAVE_NAME = r'"(?:[^"]|"")+"|(?:(?!\.\.)[^":])+'
WINDOWS_PATTERN = re.compile(rf"windows:({WAVE_NAME})\.\.({WAVE_NAME}):([0-9]{{1,9}})")
WINDOWS_HELP = (
    "write windows:FIRST..LAST:W, such as windows:y1..y12:3; a name with .. or : or a quote, or "
    'with a dot at an end, is put in double quotes, with "" for a quote'
)


def read_queries(texts: Sequence[str], domain: Domain) -> tuple[Workload, list[str]]:
    """Return the union of the workloads that the texts describe, and notes on how they were read.

    >>> domain = domain_from_json({"a": 2, "b": 3})
    >>> workload, notes = read_queries(["marginals:2", "ranges:b"], domain)
    >>> workload.m
    12
    """
    notes: list[str] = []
    workloads = [_parse_workload(text, domain, notes) for text in texts]
    return (workloads[0] if len(workloads) == 1 else Union(workloads)), notes


def _parse_workload(text: str, domain: Domain, notes: list[str]) -> Workload:
    """Return the workload that one text describes; add notes on how it was read to `notes`.

    Raises InputError, which lists the allowed forms.
    """
    kind, _, argument = text.partition(":")
    columns_text, _, count_text = argument.rpartition(":")
    if kind == "marginals" and _is_count(argument):
        return Marginals.all(domain, int(argument))
    if kind == "marginals":
        try:
            column_sets = json.loads(argument)
            if all(
                isinstance(names, list) and all(isinstance(n, str) for n in names)
                for names in column_sets
            ):
                return Marginals(domain, column_sets)
        except (ValueError, TypeError, RecursionError):
            pass
    if kind == "windows":
        first, last, width = _parse_windows(text)
        return Marginals.windows(domain, waves_between(domain, first, last), width)
    if kind == "ranges" and argument:
        return TableQueries.ranges(domain, split_column_names(argument))
    if kind == "prefixes" and argument:
        return TableQueries.prefixes(domain, split_column_names(argument))
    if kind == "conjunctions" and _is_count(columns_text) and _is_count(count_text):
        return TableQueries.conjunctions(domain, int(columns_text), int(count_text))
    if kind == "halfspaces" and columns_text and _is_count(count_text):
        return TableQueries.half_spaces(domain, split_column_names(columns_text), int(count_text))
    if kind == SUCCESSIONS and argument:
        names = split_column_names(argument)
        return Marginals(domain, [pair_in_domain(domain, name) for name in names])
    if kind == "question":
        question = parse_question(argument, domain)
        notes += question.notes
        return question.workload
    if kind == "matrix":
        return Explicit(domain, read_matrix(argument))
    raise InputError(f"--queries {text[:80]!r}: give {QUERY_FORMS_HELP}")


def succession_columns(texts: Sequence[str]) -> Texts:
    """Return the columns of whose successions the texts ask, each once.

    >>> succession_columns(["marginals:1", "successions:ward,code", "successions:ward"])
    ('ward', 'code')
    """
    names = list[str]()
    for text in texts:
        kind, _, argument = text.partition(":")
        if kind == SUCCESSIONS and argument:
            names.extend(split_column_names(argument))
    return tuple(dict.fromkeys(names))


def split_column_names(text: str) -> list[str]:
    """Return the column names in a list separated by commas.

    A name that contains a comma stands in double quotes.
    """
    try:
        return next(csv.reader([text]))
    except (csv.Error, StopIteration):
        raise InputError(
            f"{text[:80]!r} is not a list of column names separated by commas"
        ) from None


def windows_text(waves: Texts, width: int) -> str:
    """Return the text of the windows of `width` waves, which `read_queries` reads."""
    first = _quote_wave(waves[0])
    last = _quote_wave(waves[-1])
    return f"windows:{first}..{last}:{width}"


def _parse_windows(text: str) -> tuple[str, str, int]:
    """Return the names of the first and the last wave, and the width, of a text of windows."""
    match = WINDOWS_PATTERN.fullmatch(text)
    if match is None:
        raise InputError(f"--queries {text[:80]!r}: {WINDOWS_HELP}")
    return _unquote_wave(match[1]), _unquote_wave(match[2]), int(match[3])


def _quote_wave(name: str) -> str:
    """Return a name as it stands in a text of windows."""
    is_plain = ".." not in name and not set('":') & set(name) and name.strip(".") == name
    quoted = name.replace('"', '""')
    return name if is_plain else f'"{quoted}"'


def _unquote_wave(text: str) -> str:
    """Return the name that stands in a text of windows."""
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def join_column_names(names: Sequence[str], delimiter: str = ",") -> str:
    """Return the column names as a text that `split_column_names` reads."""
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="").writerow(names)
    return line.getvalue()


def describe_queries_in_everyday_words(text: str) -> str:
    """Return the queries in everyday words, such as "every pair of columns".

    Texts of other forms are returned unchanged.

    >>> describe_queries_in_everyday_words("windows:y1..y12:3")
    'every 3 waves in a row, from y1 to y12'
    """
    if WINDOWS_PATTERN.fullmatch(text):
        first, last, width = _parse_windows(text)
        return f"every {width} waves in a row, from {first} to {last}"
    return WORKLOAD_DESCRIPTIONS.get(text, text.removeprefix("question:"))
