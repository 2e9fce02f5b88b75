"""Compare the numbers on a release's pages with release.json.

`verify.py` holds a copy of this. The words of a page are its owner's. The numbers of the promise in
it are those of release.json, in each place.
"""

import html
import math
import re

from .recount import counted_noun, odds_bound, require, right_guess_chance
from .release_folder import ReleaseFolder

PAGES = ("card.html", "proof.html", "review.html")
# In tags only: a name of a column may be any text, but its < and > are escaped.
ACTIVE_CONTENT = re.compile(
    r"<\s*(?:script|iframe|object|embed|img|link|base|form|input|template)\b|<[^>]*(?:\son\w+\s*=|javascript:)",
    re.I,
)
HIDDEN_CONTENT = re.compile(
    r"<!--|<[^>]*(?:\shidden\b|display\s*:\s*none|visibility\s*:|font-size\s*:|opacity\s*:)", re.I
)
CARD_ROW = re.compile(r'<tr><th scope="row">(.*?)</th>\s*<td>(.*?)</td>', re.DOTALL)
PRIOR_SUSPICION = 0.1  # of the suspicion that the pages take for an example
GUESS_PATTERN = r"guesses right at most ([\d.]+) times in 100"
SUSPICION_PATTERN = r"a suspicion of 10% about one person rises to ([\w. ]+%) at most"


def check_documents(folder: ReleaseFolder) -> str:
    """Check that card, proof, review and registry entry state release.json's numbers.

    And that they hide nothing. Raises WrongError otherwise; returns what was found.
    """
    pages = {name: folder.read(name).decode("utf-8") for name in PAGES}
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
    for name in ("card.html", "review.html"):
        page_text = _visible_text(pages[name])
        for pattern, value in expected.items():
            matches = re.findall(pattern, page_text)
            require(
                set(matches) == {value},
                f"{name} says {', '.join(matches)[:80]} where {value} follows",
            )
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
    dataset = facts["dataset"]
    ledger = facts["ledger"]
    protects = facts["protects"]
    spent = dataset["spent"]["epsilon"]
    total = dataset["total"]
    total_text = f"ε = {spent:.4g} of {total['epsilon']:g} at δ = {_format_brief(total['delta'])}."
    expected = {
        "ε": f"{promise['epsilon']:g}",
        "δ": _format_brief(promise["delta"]),
        "Added up by": f"{promise['accounting']}: costs {promise['cost']}",
        "All releases together": total_text,
        "About whom": f"{protects['records']:,} {counted_noun(protects)}.",
        "Neighbours": protects["neighbours"],
        "Ledger": f"{ledger['id']}, line {ledger['entry']}",
        "Entry's hash": ledger["hash"],
        "Schema's SHA-256": facts["schema_sha256"],
        "Time": facts["time"],
        **{f"SHA-256 of {name}": value for name, value in facts["files"].items()},
    }
    rows = [(_visible_text(name), _visible_text(value)) for name, value in CARD_ROW.findall(card)]
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


def _visible_text(page: str) -> str:
    """Return the text that a reader sees of HTML, in one line."""
    return _collapse_spaces(html.unescape(re.sub(r"<[^>]*>", "", page)))


def _collapse_spaces(content: str) -> str:
    return " ".join(content.split())


def _format_brief(value: float) -> str:
    return f"{value:g}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


def _round_percent_up(chance: float, digits: int) -> float:
    return math.ceil(100 * chance * 10**digits - 1e-9) / 10**digits


def _format_percent(chance: float) -> str:
    rounded = _round_percent_up(chance, 1 if chance <= 0.99 else 3)
    return f"{rounded:g}%" if rounded < 100 else "almost 100%"
