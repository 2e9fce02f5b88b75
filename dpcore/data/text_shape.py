"""Guesses at the format of a text file, while exploring: its encoding, delimiter, spaces and lines.

A release guesses nothing: it follows the statement "file" of the schema.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import BinaryIO

from ..schema.text_format import (
    DELIMITER_NAMES,
    FIRST_LINE,
    NO_HEADER,
    SPACES_AFTER_DELIMITER,
    SPACES_BETWEEN_COLUMNS,
    TextFormat,
    encoding_name,
)
from .file_kinds import check_file_kind
from .latin_letters import ALPHABETS_BY_ENCODING, alphabet_share
from .table_shape import (
    MAX_END_LINES,
    MAX_PART_LINES,
    MAX_SHAPE_LINES,
    Doubt,
    ShapeGuess,
    guess_lines,
)
from .text_file import (
    READ_SIZE,
    TEXT_ENDING,
    UTF_16_MARKS,
    cell_texts,
    read_pieces,
    tabs_between_columns,
)

MAX_SAMPLE_BYTES = 20_000  # of lines that are not UTF-8, from which an encoding is guessed
MIN_SAMPLE_BYTES = 2_000  # shorter samples are repeated up to this
MAX_END_BYTES = 20_000  # of a file's end that is looked at
MAX_SHOWN_CHARS = 60  # of a line that a person checks by eye
MIN_EVEN_SHARE = 0.9  # of lines that a delimiter cuts into as many cells
USUAL_ENCODING = "windows-1252"
OTHER_ENCODING = "cp1250"  # the one to try where only the usual one is likely
LIKELY_ENCODINGS = (  # those that tables are written in
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874"),
    *("koi8_r", "cp866", "cp850", "gb18030", "big5", "cp932", "euc_jp", "cp949", "mac_roman"),
)
MAX_DISORDER = 0.4  # of a reading, in the measure of charset-normalizer
CLOSE_SCORE = 0.05  # difference of its scores that decides nothing
MIN_ALPHABET_SHARE = 0.9  # of a text's letters that are of one language
CLOSE_SHARE = 0.02  # difference of these shares that decides nothing
MIN_MIXED_SHARE = 0.7  # of letters of one language where some are of others
CLOSE_MIXED_SHARE = 0.15
WORD_PATTERN = re.compile(rb'[^\s,;|"0-9]+')
SEPARATOR_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)
QUOTE_AFTER_SPACE = re.compile(r'[,;\t|] +"')
MAX_START_CHARS = 1_000_000  # of a file that are looked at for the delimiter and the lines


def guess_text_format(
    file: BinaryIO, ending: str = "", format: TextFormat | None = None, stated: Iterable[str] = ()
) -> ShapeGuess:
    """Return the format of a whole open text file, guessed from its rows, and the doubts.

    Args:
        file: The file, left at its start.
        ending: That of the file's name, such as ".csv".
        format: What a person stated.
        stated: The names of the settings that a person stated, which are not guessed.

    """
    stated = set(stated)
    format = format or TextFormat()
    doubts: list[Doubt] = []
    if "encoding" not in stated:
        encoding, doubts = _guess_encoding(file)
        format = replace(format, encoding=encoding)
    check_file_kind(file, TEXT_ENDING, encoding=format.encoding)
    lines = _first_lines(file, format)
    first_lines = lines[:MAX_SHAPE_LINES]
    if not any(first_lines):
        return ShapeGuess(format, tuple(doubts))
    separator = SEPARATOR_LINE.fullmatch(lines[0])
    names_line = 0
    if separator and not {"header", "delimiter"} & stated and separator[1] in DELIMITER_NAMES:
        format = replace(format, delimiter=separator[1], header=2)
        text = f"line 1 states the delimiter {separator[1]!r}; line 2 is read as the names"
        doubts.append(Doubt("sep_line", text, {"header": 1}))
        stated |= {"header", "delimiter"}
        names_line = 1
    if not {"delimiter", "spaces"} & stated:
        format, more_doubts = _guess_separators(first_lines[names_line:], format, ending)
        doubts += more_doubts
    if "spaces" not in stated and any(map(QUOTE_AFTER_SPACE.search, first_lines)):
        format = replace(format, spaces=SPACES_AFTER_DELIMITER)
        text = "the spaces between a delimiter and a quote are left out"
        doubts.append(Doubt("space_before_quote", text, {"spaces": ""}))
    return _guess_text_lines(file, lines, format, ending, stated, doubts)


def _guess_text_lines(
    file: BinaryIO,
    lines: Sequence[str],
    format: TextFormat,
    ending: str,
    stated: Iterable[str],
    doubts: Sequence[Doubt],
) -> ShapeGuess:
    """Return the guess with the header and the end; the delimiter is kept if rows showed it."""
    delimiter = format.delimiter or _shown_delimiter(lines, format, ending)
    known_format = replace(format, delimiter=delimiter)
    if any(line and not cell_texts(line, known_format) for line in lines[:MAX_SHAPE_LINES]):
        return ShapeGuess(format, tuple(doubts))  # values hold line breaks
    cells = [_cells_of_line(line, known_format) for line in lines]
    end_cells = [_cells_of_line(line, known_format) for line in _last_lines(file, format)]
    guess = guess_lines(format, cells, end_cells, stated)
    guessed_format = guess.format
    more_doubts = guess.doubts
    if guessed_format.spaces != SPACES_BETWEEN_COLUMNS:
        more_doubts = [_with_delimiter(doubt, delimiter) for doubt in guess.doubts]
        if guessed_format.header != FIRST_LINE:
            guessed_format = replace(guessed_format, delimiter=delimiter)
    return replace(guess, format=guessed_format, doubts=(*doubts, *more_doubts))


def _with_delimiter(doubt: Doubt, delimiter: str) -> Doubt:
    """Return a doubt whose statement names the delimiter, where it says that no line does."""
    if doubt.statement.get("header") != NO_HEADER:
        return doubt
    return replace(doubt, statement={**doubt.statement, "delimiter": delimiter})


def _guess_encoding(file: BinaryIO) -> tuple[str, list[Doubt]]:
    """Return the encoding of all bytes of a file, and a line to check it by."""
    file.seek(0)
    start = file.read(2)
    file.seek(0)
    if start in UTF_16_MARKS:
        return "utf-16", []
    decoder = codecs.getincrementaldecoder("utf-8")()
    with suppress(UnicodeDecodeError):
        while block := file.read(READ_SIZE):
            decoder.decode(block)
        file.seek(0)
        return "utf-8", []
    file.seek(0)
    sample = _sample_of_letters(file)
    encodings = _likely_encodings(sample)
    encoding = encodings[0]
    line = _telling_part(sample.decode(encoding, "backslashreplace"))
    text = f"the letters are read as {encoding}; check a line of it by eye: {line!r}"
    return encoding, [Doubt("encoding", text, {"encoding": encodings[1]})]


def _telling_part(text: str) -> str:
    """Return the part of a line that shows most different letters that are not ASCII."""
    parts = []
    for line in text.splitlines():
        first = next((i for i, character in enumerate(line) if not character.isascii()), 0)
        start = max(0, first - MAX_SHOWN_CHARS // 3) if len(line) > MAX_SHOWN_CHARS else 0
        parts.append(line[start : start + MAX_SHOWN_CHARS])
    return max(parts, key=lambda part: len({c for c in part if not c.isascii()}))


def _sample_of_letters(file: BinaryIO) -> bytes:
    """Return some lines of a file that are not UTF-8; the file is left at its start."""
    lines = []
    size = 0
    while size < MAX_SAMPLE_BYTES:
        line = file.readline(MAX_SAMPLE_BYTES)
        if not line:
            break
        if not _is_utf_8(line):
            lines.append(line)
            size += len(line)
    file.seek(0)
    return b"".join(lines)


def _likely_encodings(sample: bytes) -> list[str]:
    """Return the encodings in which a sample reads most like a language, at least two.

    Those of Latin letters are compared by the letters that languages have, as their words differ in
    a few signs only; where these do not decide, all are by the scores of charset-normalizer.
    """
    sample = WORD_PATTERN.sub(_without_utf_8, sample)  # as where one line of UTF-8 is damaged
    ranking = _ranked_by_words(sample)
    is_latin = bool(ranking) and ranking[0][0] in ALPHABETS_BY_ENCODING
    latin = _ranked_by_letters(sample, dict(ranking), is_latin=is_latin)
    names = [*latin, *(encoding for encoding, _ in ranking), USUAL_ENCODING, OTHER_ENCODING]
    return list(dict.fromkeys(map(encoding_name, names)))


def _ranked_by_letters(
    sample: bytes, coherence: Mapping[str, float], *, is_latin: bool
) -> list[str]:
    """Return the encodings of Latin letters in which a sample has the letters of one language.

    Of two that read it equally well, the one that most programs write comes first, unless the
    `coherence` of the other is much better. If its words say that the sample `is_latin`, some of
    the letters may be of other languages.
    """
    shares = {
        encoding: alphabet_share(sample.decode(encoding, "replace"), encoding)
        for encoding in ALPHABETS_BY_ENCODING
    }
    best = max(shares.values())
    if best < (MIN_MIXED_SHARE if is_latin else MIN_ALPHABET_SHARE):
        return []
    margin = CLOSE_SHARE if best >= MIN_ALPHABET_SHARE else CLOSE_MIXED_SHARE
    close = [encoding for encoding, share in shares.items() if share >= best - margin]
    top = max(coherence.get(encoding, 0.0) for encoding in close)
    return [e for e in close if coherence.get(e, 0.0) >= top - CLOSE_SCORE] + close


def _ranked_by_words(sample: bytes) -> list[tuple[str, float]]:
    """Return encodings by how much a sample reads like a language in them, with that score.

    Where nothing speaks against it, the one that most programs write comes first.
    """
    from charset_normalizer import from_bytes

    repeated = sample * (MIN_SAMPLE_BYTES // len(sample) + 1)  # few letters say little to it
    matches = list(
        from_bytes(repeated, cp_isolation=list(LIKELY_ENCODINGS), threshold=MAX_DISORDER)
    )
    ranking = []
    for match in matches:
        ranking += [(name, match.coherence) for name in match.could_be_from_charset]
    usual = codecs.lookup(USUAL_ENCODING).name
    for match in matches:
        is_close = (
            match.chaos <= matches[0].chaos + CLOSE_SCORE
            and match.coherence >= matches[0].coherence - CLOSE_SCORE
        )
        if usual in match.could_be_from_charset and is_close:
            return [(usual, match.coherence), *ranking]
    return ranking


def _without_utf_8(word: re.Match[bytes]) -> bytes:
    """Return a word; nothing if it has letters that are not ASCII, in UTF-8."""
    return b"" if not word[0].isascii() and _is_utf_8(word[0]) else word[0]


def _is_utf_8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _first_lines(file: BinaryIO, format: TextFormat) -> list[str]:
    """Return the first lines of a file; it is left at its start."""
    file.seek(0)
    pieces = read_pieces(file, replace(format, spaces=""))
    try:
        text = next(pieces, "")[:MAX_START_CHARS]
    finally:
        pieces.close()
        file.seek(0)
    return text.split("\n", MAX_PART_LINES)[:MAX_PART_LINES]


def _last_lines(file: BinaryIO, format: TextFormat) -> list[str]:
    """Return the last lines of a file, without the first one; it is left at its start."""
    file.seek(0)
    tail = b""
    while block := file.read(READ_SIZE):
        tail = (tail + block)[-MAX_END_BYTES:]
    file.seek(0)
    text = tail.decode(format.encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n").split("\n")[1:][-MAX_END_LINES:]


def _guess_separators(
    lines: Sequence[str], format: TextFormat, ending: str
) -> tuple[TextFormat, list[Doubt]]:
    """Return the format with what separates columns, unless the header shows it."""
    shown = _shown_delimiter(lines, format, ending)
    filled_lines = [line for line in lines if line.strip()]
    evenness = {
        delimiter: _evenness(filled_lines, replace(format, delimiter=delimiter))
        for delimiter in DELIMITER_NAMES
    }
    best = max(evenness, key=lambda delimiter: (evenness[delimiter], delimiter == shown))
    if evenness[best] > 0:
        if best == shown or evenness[shown] >= MIN_EVEN_SHARE:
            return format, []
        text = f"the columns are separated by {DELIMITER_NAMES[best]}, as most lines show"
        doubt = Doubt("delimiter", text, {"delimiter": shown})
        return replace(format, delimiter=best), [doubt]
    counts = Counter(len(line.split()) for line in filled_lines)
    width, times = counts.most_common(1)[0]
    is_even = times >= MIN_EVEN_SHARE * len(filled_lines) and len(filled_lines) > 1
    if width > 1 and is_even:
        text = "the columns are separated by spaces"
        doubt = Doubt("spaces", text, {"spaces": "", "delimiter": ","})
        return replace(format, spaces=SPACES_BETWEEN_COLUMNS, delimiter=""), [doubt]
    return format, []


def _evenness(lines: Sequence[str], format: TextFormat) -> float:
    """Return the share of lines that a delimiter cuts into the usual number of cells, over 1.

    It is 0 if most lines are not cut.
    """
    counts = Counter(len(cell_texts(line, format)) for line in lines)
    width, times = counts.most_common(1)[0]
    return times / len(lines) if width > 1 else 0.0


def _shown_delimiter(lines: Sequence[str], format: TextFormat, ending: str) -> str:
    """Return the delimiter that the first line shows which is not empty."""
    if ending == ".tsv" or format.spaces == SPACES_BETWEEN_COLUMNS:
        return "\t"
    first = next(filter(str.strip, lines), "")
    return max(
        DELIMITER_NAMES,
        key=lambda delimiter: len(cell_texts(first, replace(format, delimiter=delimiter))),
    )


def _cells_of_line(line: str, format: TextFormat) -> list[str]:
    """Return the values of a line, without quotes and spaces around them."""
    if format.spaces == SPACES_BETWEEN_COLUMNS:
        line = tabs_between_columns(line)
    return [_unquoted(cell) for cell in cell_texts(line, format) or [line]]


def _unquoted(cell: str) -> str:
    text = cell.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"').strip() if is_quoted else text
