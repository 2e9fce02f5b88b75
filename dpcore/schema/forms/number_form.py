"""The form in which a column's numbers are written, stated by how it writes 1000: `€ 1.000,00`.

The signs beside the digits say all: the decimal and the thousands sign, the number of digits after
the point (`#` for one that is left out where it is 0), and a unit before or after them. Where minus
is not simply put first, the form is that of −1000: `(1,000.00)`, `1000-`, `€ -1.000,00`.
"""

import re
from fractions import Fraction
from functools import cached_property

from ...core.errors import InputError, shorten
from ...core.types import value_object
from ..cell_text import NumberText

MAX_DECIMALS = 9  # digits after the point
MAX_UNIT_CHARS = 20
MAX_STEPS = 2.0**50  # of a number, beyond which floating point cannot tell them apart
MINUS_SIGNS = "-\u2212"
SIGNS = MINUS_SIGNS + "()"
SPACES = " \u00a0\u202f"
NUMBER_FORM_PATTERN = re.compile(
    rf"(?P<before>[^0-9#]*)1(?P<thousands>[,.'{SPACES}]?)000"
    r"(?:(?P<decimal>[.,])(?P<zeros>0*)(?P<optional>#*))?(?P<after>[^0-9#]*)",
    re.ASCII,
)
# a unit has no digit, no sign that numbers have, and a point only as that of a short word
UNIT_PATTERN = re.compile(r"(?:[^\d\s.,'+\-−()<>≤≥#;]++\.?(?: (?=\S))?)*")
FORM_HELP = 'write 1000 as the column does, such as "1,000.00", "€ 1.000,00", "1000 kg"'


@value_object
class NumberForm:
    """A form of numbers: what stands before and after the digits, and how these are written.

    `before` and `after` hold the signs of a negative number, too. `decimals` is the number of
    digits after the point, `min_decimals` of them also where they are 0.
    """

    before: str = ""
    after: str = ""
    thousands: str = ""
    decimal: str = "."
    decimals: int = 0
    min_decimals: int = 0

    @property
    def step(self) -> Fraction:
        """The distance between two numbers that the form can tell apart."""
        return Fraction(1, 10**self.decimals)

    def write(self, number: float) -> str:
        """Return the text of a number, rounded to the form's digits."""
        steps = round(number * 10**self.decimals)
        whole, part = divmod(abs(steps), 10**self.decimals)
        text = f"{whole:,}".replace(",", self.thousands)
        digits = str(part).zfill(self.decimals) if self.decimals else ""
        digits = digits[: self.min_decimals] + digits[self.min_decimals :].rstrip("0")
        if digits:
            text += self.decimal + digits
        if steps >= 0:
            return without_signs(self.before) + text + without_signs(self.after)
        has_sign = any(sign in SIGNS for sign in self.before + self.after)
        return ("" if has_sign else "-") + self.before + text + self.after

    def bare_number_text(self, text: str) -> str:
        """Return a cell's text without the form's unit; as it is where it has none."""
        if type(text) is NumberText:
            return text
        for pattern in self._unit_patterns:
            text = pattern.sub("", text, count=1)
        return text

    @cached_property
    def _unit_patterns(self) -> list[re.Pattern]:
        """Patterns of the unit with the spaces beside it."""
        units = (without_signs(self.before).strip(), without_signs(self.after).strip())
        space = rf"[{SPACES}]*"
        return [re.compile(space + re.escape(unit) + space) for unit in units if unit]


def parse_number_form(text: str) -> NumberForm:
    """Return the form that a schema states; InputError for what is none.

    >>> parse_number_form("€ 1.000,00").write(-1234.5)
    '-€ 1.234,50'
    >>> parse_number_form("1000.## kg").write(1.5)
    '1.5 kg'
    """
    match = NUMBER_FORM_PATTERN.fullmatch(text)
    if not match:
        raise InputError(f"{shorten(repr(text))} does not write 1000; {FORM_HELP}")
    before = match["before"]
    after = match["after"]
    signs = "".join(sign for sign in before + after if sign in SIGNS)
    if signs not in ("", "()", *MINUS_SIGNS) or "(" in after or ")" in before:
        raise InputError(
            f"{shorten(repr(text))} has other signs than one minus or ( ); {FORM_HELP}"
        )
    for unit in (without_signs(before).strip(), without_signs(after).strip()):
        if len(unit) > MAX_UNIT_CHARS or not UNIT_PATTERN.fullmatch(unit):
            raise InputError(f"{shorten(repr(unit))} is no unit; {FORM_HELP}")
    decimals = len(match["zeros"] or "") + len(match["optional"] or "")
    if decimals > MAX_DECIMALS or (match["decimal"] and not decimals):
        raise InputError(
            f"{shorten(repr(text))} has {decimals} digits after the point; write 1 to "
            f"{MAX_DECIMALS}, or no point"
        )
    if match["decimal"] and match["decimal"] == match["thousands"]:
        raise InputError(f"{shorten(repr(text))} has one sign for thousands and decimals")
    return NumberForm(
        before=before,
        after=after,
        thousands=match["thousands"],
        decimal=match["decimal"] or ".",
        decimals=decimals,
        min_decimals=len(match["zeros"] or ""),
    )


def without_signs(text: str) -> str:
    """Return what stands beside the digits of a number that is not negative."""
    return "".join(character for character in text if character not in SIGNS)
