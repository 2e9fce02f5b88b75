"""Digits of other scripts as the digits 0 to 9, and letters without their accents."""

import re
import unicodedata

# of the decimal point and comma, the minus and the plus in full width
FULL_WIDTH_SIGNS = str.maketrans("．，－＋（）％", ".,-+()%")


def with_ascii_digits(text: str) -> str:
    """Return the text with every digit of another script, and signs in full width, as in ASCII.

    >>> with_ascii_digits("١٢٣")
    '123'
    """
    if text.isascii():
        return text
    digits = (unicodedata.decimal(c, None) for c in text)
    plain = "".join(
        c if digit is None else str(digit) for c, digit in zip(text, digits, strict=True)
    )
    return plain.translate(FULL_WIDTH_SIGNS)


def without_accents(text: str) -> str:
    """Return a text in small letters without accents.

    >>> without_accents("Février")
    'fevrier'
    """
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", decomposed))
