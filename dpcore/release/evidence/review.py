"""Answer the questions of NIST SP 800-226 about a release from its facts.

A page to print, and a file of it. The guidelines draw a pyramid: the guarantee on top (unit, ε),
below it how it was made (correctness, utility, bias, side channels), at the bottom what all of that
stands on (trust, access, exposure of what was collected). Every question has one answer: proved, by
arithmetic that can be done again; measured, on this release; declared, by whoever made it; or not
covered, which is said and not left out. The template holds them.
Source: Near, Darais, Lefkovitz, Howarth 2025, NIST SP 800-226.
"""

from ...accuracy.meaning_of_epsilon import Promise
from ...core.numbers import format_percentage_points, format_short_number
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
