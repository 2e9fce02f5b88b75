"""The waves of a panel: columns of one thing at consecutive times, recognised by their names.

A wave's name ends with a whole number, such as `y1`, `income_2019`, `wave 01`. What stands before
the number is the stem. Waves of one thing have the same stem, and each number is one more than the
number before it. Only names are read, never a row.
"""

import re
from collections.abc import Sequence

from ..core.errors import InputError
from ..core.types import Texts, value_object
from ..schema.domain import Domain

MIN_WAVES = 3  # fewer columns with consecutive numbers are a pair, no panel
WAVE_PATTERN = re.compile(r"(.*?)(?<![0-9])([0-9]{1,9})", re.DOTALL)  # stem and number


@value_object
class WaveName:
    """A column's name that ends with a whole number: the text before it, and its digits."""

    stem: str
    digits: str

    @property
    def number(self) -> int:
        """The number of the wave."""
        return int(self.digits)

    def name_of(self, number: int) -> str:
        """Return the name of another wave of the same thing: zeros in front are kept."""
        return f"{self.stem}{number:0{len(self.digits)}d}"


def recognise_waves(names: Sequence[str]) -> tuple[Texts, ...]:
    """Return the panels among columns' names, each with at least MIN_WAVES waves in their order.

    A column is in one panel only.

    >>> recognise_waves(["sex", "y2", "y1", "y3", "y5", "job_08", "job_09", "job_10"])
    (('y1', 'y2', 'y3'), ('job_08', 'job_09', 'job_10'))
    """
    wave_by_name = {}
    for name in names:
        wave = _parse_wave(name)
        if wave is not None:
            wave_by_name[name] = wave
    successors = {wave.name_of(wave.number + 1) for wave in wave_by_name.values()}
    free_names = set(wave_by_name)
    panels = []
    for name, wave in wave_by_name.items():
        if name in successors:
            continue
        panel = []
        number = wave.number
        while wave.name_of(number) in free_names:
            panel.append(wave.name_of(number))
            number += 1
        if len(panel) >= MIN_WAVES:
            panels.append(tuple(panel))
            free_names.difference_update(panel)
    return tuple(panels)


def waves_between(domain: Domain, first: str, last: str) -> Texts:
    """Return the names of all waves from the first to the last one.

    Raises InputError for a name that is no column or no wave, for waves of different things, and
    for a wave between them that is no column.
    """
    first = domain.column(first).name
    last = domain.column(last).name
    start = _require_wave(first)
    end = _require_wave(last)
    if start.stem != end.stem:
        raise InputError(
            f"{first!r} and {last!r} are not waves of one thing: their names must be the same up "
            "to the number at the end"
        )
    if start.number > end.number:
        raise InputError(f"the wave {last!r} comes before {first!r}; name the earlier one first")
    if start.name_of(end.number) != last:
        raise InputError(
            f"the waves {first!r} and {last!r} have zeros in front of their numbers in different "
            "ways; rename one of the columns"
        )
    waves: list[str] = []
    # the first wave that is missing ends it: after few names, whatever the last number is
    for number in range(start.number, end.number + 1):
        name = start.name_of(number)
        if name not in domain.names:
            raise InputError(
                f"the wave {name!r} between {first!r} and {last!r} is no column; ask windows up to "
                f"{waves[-1]!r}, and others from the next wave on"
            )
        waves.append(name)
    return tuple(waves)


def _parse_wave(name: str) -> WaveName | None:
    """Return the stem and the number of a wave's name; None where it does not end with one."""
    match = WAVE_PATTERN.fullmatch(name)
    return None if match is None else WaveName(match[1], match[2])


def _require_wave(name: str) -> WaveName:
    """Return the stem and the number of a wave's name; InputError where it has none."""
    wave = _parse_wave(name)
    if wave is None:
        raise InputError(
            f"the column {name!r} is no wave: its name must end with a whole number of at most 9 "
            "digits, as in y1..y12"
        )
    return wave
