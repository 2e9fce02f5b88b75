"""Categories with an order that everybody knows: months, days of the week, ranges, levels.

They are recognised by their words alone.
"""

import re
from collections.abc import Collection

from ..plain_letters import without_accents

# words from the least to the largest; a column of some words of one line is in its order
SCALES = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "january february march april may june july august september october november december",
    "mon tue wed thu fri sat sun",
    "mon tues wed thur fri sat sun",
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miercoles jueves viernes sabado domingo",
    "spring summer autumn winter",
    "spring summer fall winter",
    "no none very-low low lowest medium moderate mid middle high highest very-high",
    "none slight mild moderate marked severe extreme",
    "never rarely seldom occasionally sometimes often usually always",
    "not-at-all a-little somewhat moderately quite-a-bit very extremely",
    "never seldom fairly-often very-often always",
    "very-small small medium large very-large extra-large",
    "xs s m l xl xxl",
    "terrible very-poor poor fair average good very-good excellent ideal",
    "very-bad bad neutral good very-good",
    "strongly-disagree disagree neutral undecided agree strongly-agree",
    "very-dissatisfied dissatisfied neutral satisfied very-satisfied",
    "first second third fourth fifth",
    "i ii iii iv v vi",
    "freshman sophomore junior senior",
    "child adult elderly",
)
MIN_WORDS = 2
MIN_LETTERS = 3  # single letters, as S M L: two of them may mean anything
RANGE_TEXT = re.compile(
    r"(?P<below>[<≤]|under |below |less than )?\s*[$€£]?(?P<first>\d+(\.\d+)?)"
    r"(?P<end>\s*(-|–|to)\s*[$€£]?\d+(\.\d+)?|\s*(\+|and over|and more|or more|or over))?"
)
ORDINAL_TEXT = re.compile(r"(?P<first>\d+)(st|nd|rd|th)\b.*")


def order_on_scale(values: Collection[str]) -> list[str]:
    """Return values in the order of the scale that all of them are on; empty if there is none.

    >>> order_on_scale(["High", "Low"])
    ['Low', 'High']
    >>> order_on_scale(["65+", "5-9", "<5"])
    ['<5', '5-9', '65+']
    """
    if len(values) < MIN_WORDS:
        return []
    word_by_value = {value: _word(value) for value in values}
    if len(values) < MIN_LETTERS and all(len(word) == 1 for word in word_by_value.values()):
        return []
    for scale in _WORDS_BY_SCALE:
        if all(word in scale for word in word_by_value.values()):
            return sorted(values, key=lambda value: (scale[word_by_value[value]], value))
    return _order_of_ranges(values) or _order_of_ordinals(values)


def _order_of_ranges(values: Collection[str]) -> list[str]:
    """Return ranges such as `5-9` and `65+` by where they begin; empty if some value is none."""
    matches = {value: RANGE_TEXT.fullmatch(value.casefold()) for value in values}
    are_ranges = all(m and (m["end"] or m["below"]) for m in matches.values())
    if not are_ranges or not any(m and m["end"] for m in matches.values()):
        return []
    keys = {value: (float(m["first"]), not m["below"]) for value, m in matches.items() if m}
    return sorted(values, key=lambda value: (*keys[value], value))


def _order_of_ordinals(values: Collection[str]) -> list[str]:
    """Return texts such as `1st class` and `2nd class` by their number; empty if one has none."""
    matches = {value: ORDINAL_TEXT.fullmatch(value.casefold()) for value in values}
    keys = {value: int(match["first"]) for value, match in matches.items() if match}
    if len(keys) < len(matches):
        return []
    return sorted(values, key=lambda value: (keys[value], value))


def _word(value: str) -> str:
    """Return a value as the scales write it: in small letters, hyphens between its words."""
    return re.sub(r"[\W_]+", "-", without_accents(value)).strip("-")


_WORDS_BY_SCALE = [{word: rank for rank, word in enumerate(line.split())} for line in SCALES]
