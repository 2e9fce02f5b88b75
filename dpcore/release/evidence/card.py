"""The card of a release: a first page for a board, and a second with all settings; made of public facts only."""

from markupsafe import Markup

from ...accuracy.meaning_of_epsilon import Promise, guess_tile
from ...core.numbers import brief, noun
from ...data.privacy_unit import COUNTED, ROW
from ...privacy.accounting import Accounting, Budget, Lifetime, events_from_json
from ...queries.parse_queries import in_words
from ..ledger.gauge import gauge
from ..tiles import foretold
from . import origin_words
from .printing import TEMPLATES, Facts, page

OTHERS = "Facts about large groups, also about people outside the table, can still be learned."
OUTSIDE = "Releases of the same people that are not in this budget record, here or elsewhere, are not counted."
SEVERAL = "Someone with several rows is protected for each, not for all."
UNCOVERED = "What they reveal about people is outside the promise."
PEEKED = f"Ranges or values of columns were filled in from the data without protection. {UNCOVERED}"
LOOKED = "Someone looked at the data before choosing what to release. What the choice itself reveals is not covered."
FLOATING = "Noise was drawn with floating-point numbers. What their last digits reveal is outside the promise."
AUTHOR = "The schema's author says that ranges or values were measured before. This ledger does not know of it."
STARTED = "It began at a table that its maker calls public. What that table shows about people is not covered."


def card(facts: Facts, release: int) -> str:
    """A release's card as an HTML page, from the facts in release.json and its number among those of its data set."""
    means, utility, protects = Promise.of_release(facts), facts["utility"], facts["protects"]
    dataset = facts["dataset"]
    lifetime = Lifetime(Budget(**dataset["total"]), Accounting(dataset["accounting"]), dataset["failure"])
    release_share = lifetime.cost(events_from_json(facts["promise"]["reserved"])) / lifetime.capacity
    gauge_html, gauge_words, _ = gauge(
        max(lifetime.share(dataset["spent"]["epsilon"]) - release_share, 0.0), release_share
    )
    counted_noun = noun(protects["rows_per_person"])
    tiles = foretold(utility["noise"], utility["as_exact_as_sample"], protects["records"], counted_noun)
    return page(
        TEMPLATES / "card.html",
        **facts,
        release=release,
        tiles=[*tiles, guess_tile(means.guess())],
        promise_words=means.suspicion_words,
        asked="; ".join(map(in_words, facts["queries"]["asked"])),
        gauge=Markup(gauge_html),
        gauge_words=gauge_words,
        origins=origin_words.group_origins(facts["provenance"]),
        not_covered=_not_covered(facts),
        brief=brief,
    )


def _not_covered(facts: Facts) -> list[str]:
    """Sentences that say what the promise does not cover."""
    caveats = [
        (True, OTHERS),
        (True, OUTSIDE),
        (facts["protects"]["unit"] == ROW, SEVERAL),
        (facts["protects"]["unit"] != ROW, COUNTED),
        (facts["schema"].get("peeked"), PEEKED),
        (facts["reason"], LOOKED),
        ("floating" in facts["made_by"]["noise"], FLOATING),
        (any(origin["source"] == origin_words.SCHEMA_AUTHOR for origin in facts["provenance"]), AUTHOR),
        (facts["made_by"]["public_start"], STARTED),
    ]
    return [caveat for holds, caveat in caveats if holds]
