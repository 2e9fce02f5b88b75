"""How well a text fits a language with Latin letters, by the letters that are not ASCII.

Encodings of one byte a letter read any bytes as some letters. Those of one language are together in
the right one only: Polish read as Windows-1252 has `³` and `æ` in one word.
"""

import re

WESTERN = (  # without Icelandic, whose letters are those of Turkish in another encoding
    "[äöüß]",  # German
    "[àâèéêëîïôùûüÿœæ]|ç(?=[aouâôû])",  # French
    "[áéíóúüñ]",  # Spanish
    "[áâãàéêíóôúü]|õ(?=e)|ç(?=[aouãáóõ])",  # Portuguese
    "[àèéìíîòóù]",  # Italian
    "[åäöæøéüèó]",  # Danish, Finnish, Norwegian, Swedish
    "[éëïóöüèê]",  # Dutch
)
CENTRAL = (
    "[ąćęłńóśźż]",  # Polish
    "[áčďéěíňóřšťúůýž]",  # Czech
    "[áäčďéíĺľňóôŕšťúýž]",  # Slovak
    "[áéíóöőúüű]",  # Hungarian
    "[čćđšž]",  # Croatian, Slovenian
    "[ăâîşţ]",  # Romanian
)
TURKISH = ("[çğıöşüâû]",)
BALTIC = (
    "[ąčęėįšųūž]",  # Lithuanian
    "[āčēģīķļņšūž]",  # Latvian
    "[äõöüšž]",  # Estonian
)
ALPHABETS_BY_ENCODING = {
    "cp1252": WESTERN,
    "iso8859_15": WESTERN,
    "cp1250": CENTRAL,
    "cp1254": TURKISH,
    "cp1257": BALTIC,
    "iso8859_2": CENTRAL,
    "cp850": WESTERN,
    "cp852": CENTRAL,
    "mac_roman": WESTERN,
}
SIGNS = "°€£§²³µ·½¼¾±×«»‘’“”„–—…†•™©®ªº¿¡"  # of any language, beside a word or alone
SIGN_PATTERN = re.compile(rf"(?<!\w)[{SIGNS}]|[{SIGNS}](?!\w)|(?<=\w)’(?=\w)")
MISPLACED = "\ufffd"
DOTTED_CAPITAL = "İ"  # which in small letters would be two characters


def alphabet_share(text: str, encoding: str) -> float:
    """Return the largest share of a text's letters beyond ASCII that one language has.

    Signs beside words count as letters of any language, capital letters within a word as none.

    Args:
        text: a text that was read in the encoding.
        encoding: one of ALPHABETS_BY_ENCODING, which says what languages are written in it.

    """
    count = sum(not character.isascii() for character in text)
    if not count:
        return 0.0
    signs = len(SIGN_PATTERN.findall(text))
    small_text = "".join(map(_small_letter, text, " " + text))
    letters = max(
        sum(not letter.isascii() for letter in re.findall(alphabet, small_text))
        for alphabet in ALPHABETS_BY_ENCODING[encoding]
    )
    return (signs + letters) / count


def _small_letter(character: str, previous: str) -> str:
    """Return a character in small letters; a sign for a capital letter within a word."""
    if character.isascii():
        return character.lower()
    if character.isupper() and previous.islower():
        return MISPLACED
    return "ı" if character == DOTTED_CAPITAL else character.lower()
