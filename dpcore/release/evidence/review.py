"""Answer questions about a release from its facts: those of a board, and those of NIST SP 800-226.

Two pages to print. A board's ten questions are answered in everyday words. NIST's guidelines draw a
pyramid: the guarantee on top (unit, ε), below it how it was made (correctness, utility, bias, side
channels), at the bottom what all of that stands on (trust, access, exposure of what was collected).
Every question there has one answer: proved, by arithmetic that can be done again; measured, on this
release; declared, by whoever made it; or not covered, which is said and not left out. The templates
hold the questions.
Source: Near, Darais, Lefkovitz, Howarth 2025, NIST SP 800-226.
"""

from ...accuracy.meaning_of_epsilon import Promise
from ...core.numbers import format_percentage_points, format_short_number, unit_noun
from .card import asked_words, not_covered, release_gauge, release_tiles, synthetic_words
from .facts_label import (
    NOT_TRUSTED_TEXT,
    TRUST_TEXT,
    USUAL_TEXT,
    protected_text,
    release_budget_text,
    strength_words,
    total_budget_text,
)
from .printing import TEMPLATES, ReleaseFacts, render_page


def review_page(facts: ReleaseFacts, release: int) -> str:
    """Return the answers to all NIST questions about a release, as an HTML page to print.

    Made from its facts. `release` is its number among those of its data set.
    """
    promise_words = Promise.of_release(facts).sentences
    extra_values = {
        "release": release,
        "promise_words": promise_words,
        "brief": format_short_number,
        "points": format_percentage_points,
    }
    return render_page(TEMPLATES / "review.html", **facts, **extra_values)


def board_page(facts: ReleaseFacts, release: int) -> str:
    """Return the answers to what a board will ask about a release, as an HTML page to print.

    Made from its facts. `release` is its number among those of its data set.
    """
    promise = Promise.of_release(facts)
    gauge_html, gauge_words = release_gauge(facts)
    extra_values = {
        "release": release,
        "asked": asked_words(facts),
        "synthetic": synthetic_words(facts),
        "counted_noun": unit_noun(facts["protects"]["rows_per_person"]),
        "protected": protected_text(facts),
        "guess_words": promise.guess_sentence,
        "suspicion_words": promise.suspicion_sentence,
        "release_budget": release_budget_text(facts),
        "total_budget": total_budget_text(facts),
        "strength": strength_words(facts["promise"]["epsilon"]),
        "usual": USUAL_TEXT,
        "gauge": gauge_html,
        "gauge_words": gauge_words,
        "tiles": release_tiles(facts)[:-1],
        "trust": f"{TRUST_TEXT} {NOT_TRUSTED_TEXT}",
        "not_covered": not_covered(facts),
    }
    return render_page(TEMPLATES / "board.html", **facts, **extra_values)
