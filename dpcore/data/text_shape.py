"""Guesses at the format of a text file, while exploring: its encoding, delimiter, spaces and lines.

A release guesses nothing: it follows the statement "file" of the schema.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Sequence
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
LIKELY_ENCODINGS = (  # those that tables are written in
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874"),
    *("koi8_r", "cp866", "cp850", "gb18030", "big5", "cp932", "euc_jp", "cp949", "mac_roman"),
)
MAX_DISORDER = 0.4  # of a reading, in the measure of charset-normalizer
CLOSE_SCORE = 0.05  # difference of its scores that decides nothing
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
    encoding = _likely_encoding(sample)
    line = sample.splitlines()[0].decode(encoding, "backslashreplace")[:MAX_SHOWN_CHARS]
    text = f"the letters are read as {encoding}; check a line of it by eye: {line!r}"
    other_encoding = "utf-8" if encoding == USUAL_ENCODING else USUAL_ENCODING
    return encoding, [Doubt("encoding", text, {"encoding": other_encoding})]


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


def _likely_encoding(sample: bytes) -> str:
    """Return the encoding in which a sample reads most like a language, by charset-normalizer.

    Where nothing speaks against it, it is the one that most programs write.
    """
    from charset_normalizer import from_bytes

    words = [word for word in WORD_PATTERN.findall(sample) if not _is_utf_8(word)]
    if not words:
        return USUAL_ENCODING
    text = b" ".join(dict.fromkeys(words)) + b" "
    repeated = text * (MIN_SAMPLE_BYTES // len(text) + 1)  # few letters say little to it
    matches = list(
        from_bytes(repeated, cp_isolation=list(LIKELY_ENCODINGS), threshold=MAX_DISORDER)
    )
    if not matches:
        return USUAL_ENCODING
    best = matches[0]
    for match in matches:
        is_close = (
            match.chaos <= best.chaos + CLOSE_SCORE
            and match.coherence >= best.coherence - CLOSE_SCORE
        )
        if encoding_name(match.encoding) == USUAL_ENCODING and is_close:
            return USUAL_ENCODING
    return encoding_name(best.encoding)


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
    size = 0
    tail = b""
    while block := file.read(READ_SIZE):
        size += len(block)
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
