"""How much code there is, by room: `python -m tests.size` prints tokens, lines and tokens a line. A
guide, no gate.

A token is a name, a number, an operator or a string. Docstrings, comments and blank lines count as
lines only.
"""

import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEGIN = {
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
}  # a string behind one of these is a docstring
FREE = {tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER, tokenize.ENCODING}


def tokens(text):
    """The tokens of a file's text that count."""
    count = 0
    first = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in BEGIN:
            first = True
        elif token.type not in FREE and not (first and token.type == tokenize.STRING):
            first = False
            count = count + 1
    return count


def rooms(top):
    """The (tokens, lines) of each folder right below `top`; "." holds the files beside them."""
    token_counts = Counter()
    line_counts = Counter()
    for path in (ROOT / top).rglob("*.py"):
        parts = path.relative_to(ROOT / top).parts
        room = parts[0] if len(parts) > 1 else "."
        text = path.read_text()
        token_counts[room] += tokens(text)
        line_counts[room] += len(text.splitlines())
    return token_counts, line_counts


def main():
    """Print the size of every room, and how many lines a release rests on."""
    from tests.source_map import Source
    from tests.trusted_lines import summary

    for top in ("dpcore", "pages", "tests"):
        token_counts, line_counts = rooms(top)
        count = token_counts.total()
        lines = line_counts.total()
        print(
            f"{top}: {count:,} tokens, {lines:,} lines, {count / lines:.1f} tokens a line, "
            f"{len(token_counts)} rooms"
        )
        for room, count in token_counts.most_common():
            lines = line_counts[room]
            print(
                f"  {room}: {count:,} tokens, {lines:,} lines, {count / max(lines, 1):.1f} "
                "tokens a line"
            )
    for line in summary(Source.real()):
        print(line)


if __name__ == "__main__":
    main()
