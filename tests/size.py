"""How much code there is, in tokens by room: `python -m tests.size` fails above the budget of pyproject.toml.

A token is a name, a number, an operator or a string. Docstrings, comments and blank lines are free, so that packing
lines tighter gains nothing.
"""

import io
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEGIN = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}  # a string behind one of these is a docstring
FREE = {tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER, tokenize.ENCODING}


def tokens(text):
    """The tokens of a file's text that count."""
    count, first = 0, True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in BEGIN:
            first = True
        elif token.type not in FREE and not (first and token.type == tokenize.STRING):
            first, count = False, count + 1
    return count


def rooms(top):
    """The tokens of each folder right below `top`; "." holds the files beside them."""
    found = Counter()
    for path in (ROOT / top).rglob("*.py"):
        parts = path.relative_to(ROOT / top).parts
        found[parts[0] if len(parts) > 1 else "."] += tokens(path.read_text())
    return found


def main():
    """Print the tokens of all rooms; 1 where a budget is exceeded."""
    from tests.test_boundary import CURATORS, trusted

    budget, over = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["budget"], 0
    for top, most in budget.items():
        found = rooms(top)
        print(f"{top}: {found.total():,} tokens, at most {most:,}")
        print("  " + ", ".join(f"{room} {count:,}" for room, count in found.most_common()))
        over |= found.total() > most
    for problem, (curator, most) in CURATORS.items():
        print(f"To trust a release of a {problem}: {trusted(curator):,} lines, at most {most:,}")
    return over


if __name__ == "__main__":
    sys.exit(main())
