"""Numbers as people write them: `€ 1,234.50`, `(1,234.50)`, `<0.5`, `90+` and other digits.

A unit is not converted. A number in parentheses, or with a minus after it, is negative. `<0.5` and
`90+` are the numbers 0.5 and 90, at which the range of such a column ends.
"""

import math
import re

from .plain_letters import with_ascii_digits

AMOUNT_WITH_POINT = "amount, decimal point"
AMOUNT_WITH_COMMA = "amount, decimal comma"
# the decimal and the thousands sign of each reading; those of Arabic are translated to them
SIGNS_BY_READING = {AMOUNT_WITH_POINT: (".", ","), AMOUNT_WITH_COMMA: (",", ".")}
ARABIC_DECIMAL_SIGN = "\u066b"
ARABIC_THOUSANDS_SIGN = "\u066c"
# all of them at once: else a text of spaces takes time in their fourth power
SPACES_PATTERN = r"[\s\u00a0\u202f]*+"
CURRENCY_SIGN_PATTERN = (
    SPACES_PATTERN + r"(?:[$€£¥₹%‰]|(?:USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|kr)\b\.?)?" + SPACES_PATTERN
)
AMOUNT_PATTERN_TEMPLATE = (
    r"(?P<sign>[-+\u2212]?){}(?P<whole>[1-9]\d{{0,2}}(?:(?:{}|[ "
    r"\u00a0\u202f'])\d{{3}})+|\d+)?(?:{}(?P<part>\d+))?{}"
)
AMOUNT_PATTERNS = {
    reading: re.compile(
        CURRENCY_SIGN_PATTERN
        + AMOUNT_PATTERN_TEMPLATE.format(
            CURRENCY_SIGN_PATTERN,
            re.escape(thousands_sign),
            re.escape(decimal_sign),
            CURRENCY_SIGN_PATTERN,
        ),
        re.ASCII,
    )
    for reading, (decimal_sign, thousands_sign) in SIGNS_BY_READING.items()
}
PARENTHESES_PATTERN = re.compile(r"([^()0-9]*)\(([^()]*)\)([^()0-9]*)")
LIMIT_SIGNS = "<>≤≥"
MINUS_SIGNS = ("-", "\u2212")


def parse_amount(text: str, reading: str) -> float:
    """Return the number in a text that is read as `reading`, a key of AMOUNT_PATTERNS.

    NaN for a text without a number, for two signs, and for a number that is too large.
    """
    text, is_negative = _split_minus(_without_limit_sign(_translate_signs(text, reading)))
    match = AMOUNT_PATTERNS[reading].fullmatch(text)
    if not match or not (match["whole"] or match["part"]) or (is_negative and match["sign"]):
        return math.nan
    number = float(f"{re.sub(r'[^0-9]', '', match['whole'] or '0')}.{match['part'] or 0}")
    if number == math.inf:
        return math.nan
    return -number if is_negative or match["sign"] in MINUS_SIGNS else number


def has_limit_sign(text: str) -> bool:
    """Return whether a text says that a number is beyond a limit, as `<0.5` and `90+` do."""
    return _without_limit_sign(text) != text


def _translate_signs(text: str, reading: str) -> str:
    """Return the text with digits and signs of other scripts as those of the reading."""
    if text.isascii():
        return text
    decimal_sign, thousands_sign = SIGNS_BY_READING[reading]
    plain = with_ascii_digits(text).replace(ARABIC_DECIMAL_SIGN, decimal_sign)
    return plain.replace(ARABIC_THOUSANDS_SIGN, thousands_sign)


def _without_limit_sign(text: str) -> str:
    """Return the text without `<`, `>`, `≤` or `≥` before its number, or `+` after it."""
    if text[:1] and text[0] in LIMIT_SIGNS and text[-1].isdigit():
        return text[1:].removeprefix("=").lstrip()
    if text.endswith("+") and text[:-1].rstrip()[-1:].isdigit():
        return text[:-1].rstrip()
    return text


def _split_minus(text: str) -> tuple[str, bool]:
    """Return the text without parentheses or a minus after it, and whether it had either."""
    match = PARENTHESES_PATTERN.fullmatch(text) if "(" in text else None
    if match:
        return match[1] + match[2] + match[3], True
    if text.endswith(MINUS_SIGNS) and text[:-1].rstrip()[-1:].isdigit():
        return text[:-1].rstrip(), True
    return text, False
