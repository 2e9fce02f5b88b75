"""Compare the numbers on a release's pages with release.json.

`verify.py` holds a copy of this. The words of a page are its owner's. The numbers of the promise in
it are those of release.json, in each place.
"""

import html
import math
import re

from .recount import counted_noun, odds_bound, require, right_guess_chance
from .release_folder import ReleaseFolder

LABEL = "label.svg"
PAGES = ("board.html", "card.html", "proof.html", "review.html")
# In tags only: a name of a column may be any text, but its < and > are escaped. No pattern reads
# on from one < past another: a page full of them would keep its reader busy for hours.
ACTIVE_CONTENT = re.compile(
    r"<\s*(?:script|iframe|object|embed|img|link|base|form|input|template)\b|<[^<>]*(?:\son\w+\s*=|javascript:)",
    re.I,
)
HIDDEN_CONTENT = re.compile(
    r"<!--|<[^<>]*(?:\shidden\b|display\s*:\s*none|visibility\s*:|font-size\s*:|opacity\s*:)", re.I
)
ROW_START = '<tr><th scope="row">'
PRIOR_SUSPICION = 0.1  # of the suspicion that the pages take for an example
BUDGET_PATTERN = r"ε = \d[\d.e+-]*(?: of \d[\d.e+-]*)? at δ = \d[\d.e-]*"
SVG_TAG = re.compile(r"<([^<>]*)>")
# Of a facts label: the tags, and the attributes of each, with which nothing acts or hides.
SVG_ATTRIBUTES = {
    "svg": {"xmlns", "viewBox", "width", "height", "role", "aria-label", "font-family", "fill"},
    "rect": {"x", "y", "width", "height", "fill", "stroke", "stroke-width"},
    "line": {"x1", "x2", "y1", "y2", "stroke", "stroke-width"},
    "text": {"x", "y", "font-size", "font-weight", "unicode-bidi", "font-family"},
}
SVG_ATTRIBUTE = re.compile(r'\s([\w-]+)="[^"<>]*"')
GUESS_PATTERN = r"guesses right at most ([\d.]+) times in 100"
SUSPICION_PATTERN = r"a suspicion of 10% about one person rises to ([\w. ]+%) at most"


def check_documents(folder: ReleaseFolder) -> str:
    """Check that card, proof, review and registry entry state release.json's numbers.

    And that they hide nothing. Raises WrongError otherwise; returns what was found.
    """
    names = [name for name in PAGES if name in folder.hashes]
    pages = {name: folder.read(name).decode("utf-8") for name in names}
    for name, page in pages.items():
        require(not ACTIVE_CONTENT.search(page), f"{name} holds something that acts")
        body = page.partition("</style>")[2]
        require(not HIDDEN_CONTENT.search(body), f"{name} hides something")
    _check_rows(folder, pages["card.html"])
    facts = folder.facts
    promise = facts["promise"]
    epsilon = promise["epsilon"]
    delta = promise["delta"]
    chance = right_guess_chance(promise["reserved"], epsilon, delta)
    factor, _ = odds_bound(epsilon, delta)
    posterior_suspicion = (
        PRIOR_SUSPICION * factor / (PRIOR_SUSPICION * factor + 1 - PRIOR_SUSPICION)
    )
    digits = 0 if 0.51 <= chance <= 0.99 else 1
    expected = {
        GUESS_PATTERN: f"{_round_percent_up(chance, digits):g}",
        SUSPICION_PATTERN: _format_percent(posterior_suspicion),
    }
    for name in ("board.html", "card.html", "review.html"):
        if name not in pages:
            continue
        page_text = _visible_text(pages[name])
        for pattern, value in expected.items():
            matches = re.findall(pattern, page_text)
            require(
                set(matches) == {value},
                f"{name} says {', '.join(matches)[:80]} where {value} follows",
            )
    budgets = {f"ε = {epsilon:g} at δ = {_format_brief(delta)}", _total_budget_text(facts)}
    if "board.html" in pages:
        _check_budgets("board.html", pages["board.html"], budgets)
    if LABEL in folder.hashes:
        label = folder.read(LABEL).decode("utf-8")
        _check_label(label, expected[GUESS_PATTERN])
        _check_budgets(LABEL, label, budgets)
    total_text = f"≤ {epsilon:g} at δ = {_format_brief(delta)}."
    require(
        total_text in _visible_text(pages["proof.html"]),
        f"proof.html does not end with ε {total_text}",
    )
    entry = folder.read("registry.yaml").decode("utf-8")
    numbers = dict(re.findall(r"^      (epsilon|delta): (\S+)$", entry, re.MULTILINE))
    same_promise = {name: float(value) for name, value in numbers.items()} == {
        "epsilon": epsilon,
        "delta": delta,
    }
    require(same_promise, "registry.yaml states another promise")
    return "the card, the proof, the review and the registry's entry state this promise"


def _check_rows(folder: ReleaseFolder, card: str) -> None:
    """Raise WrongError unless the card's number rows are release.json's, each there once."""
    facts = folder.facts
    promise = facts["promise"]
    ledger = facts["ledger"]
    protects = facts["protects"]
    expected = {
        "ε": f"{promise['epsilon']:g}",
        "δ": _format_brief(promise["delta"]),
        "Added up by": f"{promise['accounting']}: costs {promise['cost']}",
        "All releases together": f"{_total_budget_text(facts)}.",
        "About whom": f"{protects['records']:,} {counted_noun(protects)}.",
        "Neighbours": protects["neighbours"],
        "Ledger": f"{ledger['id']}, line {ledger['entry']}",
        "Entry's hash": ledger["hash"],
        "Schema's SHA-256": facts["schema_sha256"],
        "Time": facts["time"],
        **{f"SHA-256 of {name}": value for name, value in facts["files"].items()},
        **_learned_rows(facts),
    }
    rows = _card_rows(card)
    for name, value in expected.items():
        cell_values = [cell_value for row_name, cell_value in rows if row_name == name]
        starts_right = len(cell_values) == 1 and cell_values[0].startswith(_collapse_spaces(value))
        is_right = starts_right and (
            name in ("All releases together", "About whom")
            or cell_values[0] == _collapse_spaces(value)
        )
        require(
            is_right,
            f"card.html: {name}: {'; '.join(cell_values)[:100]} where {value[:100]} follows",
        )


def _learned_rows(facts: dict) -> dict[str, str]:
    """Return the rows of a card that state what was learned, by their names."""
    if "learned" not in facts:
        return {}
    return {
        f"Learned number {position}": f"{number['name']}: {number['value']:.6g}"
        for position, number in enumerate(facts["learned"]["answers"], start=1)
    }


def _card_rows(card: str) -> list[tuple[str, str]]:
    """Return the names and values of the rows of a card's tables, as a reader sees them."""
    rows = []
    for row in card.split(ROW_START)[1:]:
        name, _, remainder = row.partition("</th>")
        value, end, _ = remainder.lstrip().removeprefix("<td>").partition("</td>")
        is_whole = remainder.lstrip().startswith("<td>") and bool(end)
        require(is_whole, f"card.html: {_visible_text(name)[:80]}: no such row was written")
        rows.append((_visible_text(name), _visible_text(value)))
    return rows


def _total_budget_text(facts: dict) -> str:
    """Return what all releases so far cost together, as the pages state it."""
    spent = facts["dataset"]["spent"]["epsilon"]
    total = facts["dataset"]["total"]
    return f"ε = {spent:.4g} of {total['epsilon']:g} at δ = {_format_brief(total['delta'])}"


def _check_budgets(name: str, page: str, expected: set) -> None:
    """Raise WrongError unless a page states these costs at a δ, each of them and no other."""
    text = _visible_text(page, " ")
    stated = set(re.findall(BUDGET_PATTERN, text))
    require(stated == expected, f"{name} says {', '.join(sorted(stated))[:100]} of its budget")


def _check_label(label: str, guess: str) -> None:
    """Raise WrongError for a facts label that acts or hides something, or states another guess."""
    require(label.count("<") == label.count(">"), f"{LABEL} is not well formed")
    for tag in SVG_TAG.findall(label):
        name, _, attributes = tag.strip("/").partition(" ")
        stated = set(SVG_ATTRIBUTE.findall(f" {attributes}"))
        unknown_text = SVG_ATTRIBUTE.sub("", f" {attributes}").strip()
        require(
            name in SVG_ATTRIBUTES and stated <= SVG_ATTRIBUTES[name] and not unknown_text,
            f"{LABEL} holds something that acts or hides",
        )
    text = _visible_text(label, " ")
    matches = set(re.findall(GUESS_PATTERN, text))
    require(matches == {guess}, f"{LABEL} says {', '.join(matches)[:80]} where {guess} follows")


def _visible_text(page: str, gap: str = "") -> str:
    """Return the text that a reader sees of HTML, in one line, with a `gap` for each tag.

    What follows the last > is no tag, and is not searched for the end of one.
    """
    tags_end = page.rfind(">") + 1
    text = re.sub(r"<[^>]*>", gap, page[:tags_end]) + page[tags_end:]
    return _collapse_spaces(html.unescape(text))


def _collapse_spaces(content: str) -> str:
    return " ".join(content.split())


def _format_brief(value: float) -> str:
    return f"{value:g}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


def _round_percent_up(chance: float, digits: int) -> float:
    return math.ceil(100 * chance * 10**digits - 1e-9) / 10**digits


def _format_percent(chance: float) -> str:
    rounded = _round_percent_up(chance, 1 if chance <= 0.99 else 3)
    return f"{rounded:g}%" if rounded < 100 else "almost 100%"
