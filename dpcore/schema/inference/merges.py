"""Suggestions of values that are the same: `M`, `m` and `Male`, or `yes`, `Y` and `Sí`.

They follow from the values alone, and a person confirms them as `same` in the schema.
"""

import re
from collections.abc import Mapping
from itertools import chain

import pandas as pd

from ...core.types import Json
from ..cell_text import canonical_text_of_value, count_texts
from ..column import OTHER_LABEL, missing_texts_of_reading
from ..column_readings import ANY_CASE, AS_WRITTEN, category_of_cell
from ..editing.code_values import missing_codes_of
from ..editing.merged_values import merged_texts
from ..plain_letters import without_accents

# words of the same meaning, each line one meaning; a value is compared without accents and case
MEANINGS = (
    "yes y true t ja j si s oui o sim sì da tak",
    "no n false f nein nee non nao nej nie niet",
    "male m man men homme h hombre masculino mannlich mann herr uomo maschio masculin masculine",
    "female f woman women femme mujer femenino weiblich frau w donna femmina feminin feminine",
)
WORDS_BY_MEANING = [frozenset(line.split()) for line in MEANINGS]
YES_NO = (0, 1)
SEXES = (2, 3)
MIN_BEGINNING = 3  # letters of a value that another one begins with
MIN_WORD = 3  # letters of a word that says what a column is about
MAX_OTHER_WORDS = 2  # beside words of yes and no, or of sexes
MIN_GROUP = 2
MAX_COMPARED_VALUES = 1000  # of one column
SIGNS_AT_END = "+-−#*"  # that tell values apart, as B+ and B-


def suggest_merges_of_column(entry: Json, cells: pd.Series) -> dict[str, list[str]]:
    """Return values of a column that seem to be the same, by the one that stands for them.

    It is a listed value before one that is not, and then the most frequent one. None are suggested
    for a column without listed categories.
    """
    reading = entry.get("read", AS_WRITTEN)
    values = entry.get("values")
    if reading not in (AS_WRITTEN, ANY_CASE) or not isinstance(values, list):
        return {}
    if not all(isinstance(value, (str, int, float)) for value in values):
        return {}
    is_complete = entry.get("out_of_range", "refuse") != "refuse"  # what is not listed is (other)
    texts = [canonical_text_of_value(value) for value in values]
    value_by_key = {category_of_cell(text, reading): text for text in texts}
    codes = map(canonical_text_of_value, missing_codes_of(entry))
    merged = chain.from_iterable(merged_texts(entry).values())
    skipped = missing_texts_of_reading(reading) | {
        category_of_cell(text, reading) for text in (*merged, *codes)
    }
    cell_counts: dict[str, int] = {}
    for text, count in zip(*count_texts(cells), strict=True):
        key = category_of_cell(text, reading)
        if key in value_by_key or (key not in skipped and not is_complete):
            value = value_by_key.get(key, key)
            cell_counts[value] = cell_counts.get(value, 0) + int(count)
    bonus = len(cells) + 1  # of a listed value, so that it stands for the others
    counts = cell_counts | {text: cell_counts.get(text, 0) + bonus for text in texts}
    counts.pop(OTHER_LABEL, None)
    return suggest_merges(counts) if len(counts) <= MAX_COMPARED_VALUES else {}


def suggest_merges(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Return values that seem to be the same, by the most frequent one of each group.

    Values are alike that differ in case, spaces, accents and signs, that mean yes, no or a sex in
    several languages, or of which one is the only one that begins with the other.

    >>> suggest_merges({"Male": 5, "m": 2, "Female": 4})
    {'Male': ['m']}
    """
    groups: dict[str, list[str]] = {}
    for value in counts:
        groups.setdefault(comparable_text(value), []).append(value)
    parents = {key: key for key in groups}
    for first, second in [*_same_meanings(list(groups)), *_beginnings(list(groups))]:
        parents[_root(parents, second)] = _root(parents, first)
    merged: dict[str, list[str]] = {}
    for key, values in groups.items():
        merged.setdefault(_root(parents, key), []).extend(values)
    suggestions = {}
    for values in merged.values():
        if len(values) >= MIN_GROUP:
            name = max(values, key=lambda value: (counts[value], len(value), value))
            suggestions[name] = sorted(value for value in values if value != name)
    return suggestions


def comparable_text(value: str) -> str:
    """Return a value in lower case, without accents, spaces and signs; itself if nothing is left.

    Digits and the signs between them stay, as 1.5 is not 15, and a sign at the end, as in B+.
    """
    plain = without_accents(value)
    if any(c.isdigit() for c in plain):
        return " ".join(plain.split())
    plain = plain.strip()
    sign = plain[-1:] if plain[-1:] in SIGNS_AT_END else ""
    letters = re.sub(r"[\W_]+", "", plain)
    return letters + sign if letters else value


def _root(parents: dict[str, str], key: str) -> str:
    while parents[key] != key:
        key = parents[key]
    return key


def _same_meanings(keys: list[str]) -> list[tuple[str, str]]:
    """Return pairs of keys of one meaning, where nearly all keys are of yes and no, or of sexes.

    Others may stand beside whole words, as `unknown` beside `Male`, and not beside letters alone.
    """
    for meanings in (SEXES, YES_NO):
        words = frozenset().union(*(WORDS_BY_MEANING[i] for i in meanings))
        others = set(keys) - words
        has_whole_word = any(len(key) >= MIN_WORD for key in words.intersection(keys))
        if others and (len(others) > MAX_OTHER_WORDS or not has_whole_word):
            continue
        pairs = []
        for i in meanings:
            alike = [key for key in keys if key in WORDS_BY_MEANING[i]]
            pairs += [(alike[0], key) for key in alike[1:]]
        return pairs
    return []


def _beginnings(keys: list[str]) -> list[tuple[str, str]]:
    """Return pairs of which the second key is the beginning of the first, and of no other."""
    pairs = []
    for short in keys:
        longer = [key for key in keys if key != short and key.startswith(short)]
        is_word = len(short) >= MIN_BEGINNING and short.isalpha()
        if is_word and len(longer) == 1 and longer[0].isalpha():
            pairs.append((longer[0], short))
    return pairs
