"""Words that pages use: one meaning each, for the glossary and as a tooltip where they stand."""

import base64
import re
import tomllib
from pathlib import Path

GLOSSARY: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
COLOURS = {"b": "#0072B2", "o": "#D55E00", "g": "#808080"}


def stroke_image_url(strokes: str) -> str:
    """Return a data URL of an image of strokes, each begun by the letter of its colour.

    A table shows an image in this form.
    """
    paths = "".join(
        f'<path d="M{s[1:]}" stroke="{COLOURS[s[0]]}"/>' for s in re.split(r" (?=[bog])", strokes)
    )
    svg_start = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 30" fill="none" stroke-width="3">'
    )
    return (
        "data:image/svg+xml;base64,"
        + base64.b64encode(f"{svg_start}{paths}</svg>".encode()).decode()
    )


def glossary_tooltip(*terms: str) -> str | None:
    """Return a tooltip that explains the given terms, one line each; None without a term."""
    return (
        None
        if not terms
        else "\n\n".join(
            f"**{word[0].upper() + word[1:]}**: {GLOSSARY[word]['means']}" for word in terms
        )
    )
