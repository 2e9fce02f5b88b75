"""Draw the facts label of a release (SVG): who is protected, how strongly, and what is not covered.

Like the label on food: the same facts in the same order for every release, all computed from
release.json. Names stand between tags, never within one: `verify.py` reads tags for what acts.
"""

import textwrap
from collections.abc import Sequence

from markupsafe import Markup

from ...accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from ...core.errors import escape_control_chars
from ...core.numbers import format_short_number, unit_noun
from ...core.types import value_object
from ...data.privacy_unit import ROW_UNIT
from .card import data_set_lifetime, not_covered
from .printing import ReleaseFacts

# The middle half of the ε of the 26 deployments that state ε, unit, model and year in
# opendp/deployments-registry-data, commit 3e9c812 of 2026-07-15 (MIT).
USUAL_EPSILON = (1.7, 7.3)
PUBLIC_USES = 26
USUAL_TEXT = (
    f"Half of {PUBLIC_USES} public uses have ε from {USUAL_EPSILON[0]:g} to {USUAL_EPSILON[1]:g}, "
    "for different units."
)
TRUST_TEXT = "Whoever holds the table and runs the program: they see every row."
NOT_TRUSTED_TEXT = "Readers of the release are not trusted."
TITLE = "Privacy facts"
WIDTH = 360
MARGIN = 14
LINE_CHARS = 46  # of a line of small letters
VALUE_CHARS = 33  # of a line of large ones
SMALL = 13
LARGE = 17
TITLE_SIZE = 28
TEXT_COLOUR = "#1b1b1b"
SANS = Markup("'Source Sans 3', 'Source Sans Pro', sans-serif")
SERIF = Markup("'Source Serif 4', 'Source Serif Pro', Georgia, serif")

_SVG = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
    'height="{height}" role="img" aria-label="{title}" font-family="{font}" fill="{colour}">'
    '<rect x="1" y="1" width="{inner_width}" height="{inner_height}" fill="#fff" '
    'stroke="{colour}" stroke-width="2"/>{body}</svg>\n'
)
_TEXT = Markup(
    '<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" unicode-bidi="isolate"'
    "{font}>{text}</text>"
)
_RULE = Markup(
    '<line x1="{x1}" x2="{x2}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="{width}"/>'
)
NO_FONT = Markup("")
_SERIF_FONT = Markup(' font-family="{}"').format(SERIF)


@value_object
class LabelEntry:
    """One entry of a label: its name, its value, and notes below it in small letters."""

    name: str
    value: str
    notes: tuple[str, ...] = ()


def strength_words(epsilon: float) -> str:
    """Return how strongly an ε protects, beside the usual ones, in words."""
    low, high = USUAL_EPSILON
    if epsilon < low:
        return "stronger than most public uses"
    if epsilon > high:
        return "weaker than most public uses"
    return "about as strong as many public uses"


def release_budget_text(facts: ReleaseFacts) -> str:
    """Return the promise of one release in symbols: `ε = 1 at δ = 1e-9`."""
    promise = facts["promise"]
    return f"ε = {promise['epsilon']:g} at δ = {format_short_number(promise['delta'])}"


def total_budget_text(facts: ReleaseFacts) -> str:
    """Return what all releases so far cost together: `ε = 1.2 of 3 at δ = 1e-6`."""
    spent = facts["dataset"]["spent"]
    total = facts["dataset"]["total"]
    return (
        f"ε = {spent['epsilon']:.4g} of {total['epsilon']:g} at δ = "
        f"{format_short_number(total['delta'])}"
    )


def protected_text(facts: ReleaseFacts) -> str:
    """Return who is protected, in words."""
    protects = facts["protects"]
    if protects["unit"] == ROW_UNIT:
        return "each row as one person"
    if protects.get("count") == "people":
        return f"each person, whose up to {protects['row_limit']:,} rows share one vote"
    rows = protects["rows_per_person"]
    return f"each person, with up to {rows:,} {'row' if rows == 1 else 'rows'}"


def label_entries(facts: ReleaseFacts) -> list[LabelEntry]:
    """Return the entries of a release's label, from the facts in release.json."""
    protects = facts["protects"]
    noun = unit_noun(protects["rows_per_person"])
    used = data_set_lifetime(facts).used_capacity_share(facts["dataset"]["spent"]["epsilon"])
    epsilon = facts["promise"]["epsilon"]
    guess = guess_tile_texts(Promise.of_release(facts).max_guess_probability())
    return [
        LabelEntry(
            "Who is protected",
            protected_text(facts),
            (f"Counted: {protects['records']:,} {noun}.",),
        ),
        LabelEntry(
            "Privacy budget of this release",
            release_budget_text(facts),
            (f"{_capitalize(strength_words(epsilon))}.", USUAL_TEXT),
        ),
        LabelEntry(
            "All releases together",
            total_budget_text(facts),
            (f"{100 * used:.3g}% of the whole budget is used. ε does not add up; shares do.",),
        ),
        LabelEntry(guess[0], guess[1], (f"{_capitalize(guess[2])}.",)),
        LabelEntry(
            "Who is trusted",
            "the holder of the data",
            (TRUST_TEXT, NOT_TRUSTED_TEXT),
        ),
        LabelEntry("Not covered", "", tuple(f"• {caveat}" for caveat in not_covered(facts))),
    ]


def label_svg(facts: ReleaseFacts, release: int) -> Markup:
    """Return a release's label as SVG, from the facts in release.json.

    `release` is its number among those of its data set.
    """
    parts = [_text(TITLE, MARGIN + TITLE_SIZE, TITLE_SIZE, weight=700, font=_SERIF_FONT)]
    y = MARGIN + TITLE_SIZE
    day = facts["time"].partition("T")[0]
    name = escape_control_chars(facts["dataset"]["name"])
    for line in (*_wrap(name, LINE_CHARS), f"Release {release}, {day}"):
        y += 19
        parts.append(_text(line, y, SMALL))
    thickness = 7
    for entry in label_entries(facts):
        y += 12
        parts.append(_rule(y, thickness))
        thickness = 1
        y += 20
        parts.append(_text(entry.name, y, SMALL, weight=700))
        for line in _wrap(entry.value, VALUE_CHARS):
            y += 22
            parts.append(_text(line, y, LARGE, weight=600))
        for note in entry.notes:
            for line in _wrap(note, LINE_CHARS):
                y += 17
                parts.append(_text(line, y, SMALL))
    height = y + MARGIN
    return _SVG.format(
        width=WIDTH,
        height=height,
        inner_width=WIDTH - 2,
        inner_height=height - 2,
        title=TITLE,
        font=SANS,
        colour=TEXT_COLOUR,
        body=Markup("").join(parts),
    )


def _capitalize(text: str) -> str:
    return text[0].upper() + text[1:]


def _text(text: str, y: int, size: int, *, weight: int = 400, font: Markup = NO_FONT) -> Markup:
    return _TEXT.format(x=MARGIN, y=y, size=size, weight=weight, font=font, text=text)


def _rule(y: int, thickness: int) -> Markup:
    return _RULE.format(x1=MARGIN, x2=WIDTH - MARGIN, y=y, colour=TEXT_COLOUR, width=thickness)


def _wrap(text: str, max_chars: int) -> Sequence[str]:
    """Return the lines of a text, none longer than a label is wide."""
    return textwrap.wrap(text, max_chars, break_on_hyphens=False)
