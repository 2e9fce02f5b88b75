"""Print a release's card: a first page for a board, a second with all settings.

Made of public facts only.
"""

from markupsafe import Markup

from ...accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from ...core.numbers import format_short_number, unit_noun
from ...data.privacy_unit import ROW_COUNT_NOTICE, ROW_UNIT
from ...privacy.accounting import ACCOUNTANT_BY_NAME, Budget, LifetimeBudget, events_from_json
from ...queries.parse_queries import describe_queries_in_everyday_words
from ..ledger.gauge import budget_gauge
from ..tiles import all_predicted_tiles, promised_error_tile
from . import origin_words
from .printing import TEMPLATES, ReleaseFacts, render_page

NO_PICTURES = Markup("")
GROUP_FACTS_CAVEAT = (
    "Facts about large groups, also about people outside the table, can still be learned."
)
OTHER_RELEASES_CAVEAT = (
    "Releases of the same people that are not in this budget record, here or "
    "elsewhere, are not counted."
)
PEOPLE_ONCE_CAVEAT = (
    "Answers are about people, not about rows: the rows of one person share one vote. How many "
    "people there are is not hidden; how many rows they have is."
)
SEVERAL_ROWS_CAVEAT = "Someone with several rows is protected for each, not for all."
OUTSIDE_PROMISE = "What they reveal about people is outside the promise."
PEEKED_CAVEAT = (
    "Ranges or values of columns were filled in from the data without protection. "
    f"{OUTSIDE_PROMISE}"
)
LOOKED_AT_DATA_CAVEAT = (
    "Someone looked at the data before choosing what to release. What the "
    "choice itself reveals is not covered."
)
FLOAT_NOISE_CAVEAT = (
    "Noise was drawn with floating-point numbers. What their last digits reveal "
    "is outside the promise."
)
SCHEMA_AUTHOR_CAVEAT = (
    "The schema's author says that ranges or values were measured before. "
    "This ledger does not know of it."
)
PUBLIC_START_CAVEAT = (
    "It began at a table that its maker calls public. What that table shows "
    "about people is not covered."
)


def card_page(facts: ReleaseFacts, release: int, pictures: Markup = NO_PICTURES) -> str:
    """Return a release's card as an HTML page, from the facts in release.json.

    `release` is its number among those of its data set; `pictures` show its columns.
    """
    means = Promise.of_release(facts)
    utility = facts["utility"]
    protects = facts["protects"]
    dataset = facts["dataset"]
    lifetime = LifetimeBudget(
        Budget(**dataset["total"]), ACCOUNTANT_BY_NAME[dataset["accounting"]], dataset["failure"]
    )
    release_share = (
        lifetime.composed_cost(events_from_json(facts["promise"]["reserved"])) / lifetime.capacity
    )
    gauge_html, gauge_words, _ = budget_gauge(
        max(lifetime.used_capacity_share(dataset["spent"]["epsilon"]) - release_share, 0.0),
        release_share,
    )
    counted_noun = unit_noun(protects["rows_per_person"])
    records = protects["records"]
    tiles = [
        *all_predicted_tiles(utility["predicted"], records, counted_noun),
        *promised_error_tile(utility["promised"], records, counted_noun),
    ]
    return render_page(
        TEMPLATES / "card.html",
        **facts,
        release=release,
        counted_noun=counted_noun,
        tiles=[*tiles, guess_tile_texts(means.max_guess_probability())],
        promise_words=means.suspicion_sentence,
        asked="; ".join(map(describe_queries_in_everyday_words, facts["queries"]["asked"])),
        gauge=Markup(gauge_html),
        gauge_words=gauge_words,
        origins=origin_words.group_origins(facts["provenance"]),
        not_covered=_not_covered(facts),
        brief=format_short_number,
        pictures=pictures,
    )


def _not_covered(facts: ReleaseFacts) -> list[str]:
    """Return sentences that say what the promise does not cover."""
    is_person = facts["protects"]["unit"] != ROW_UNIT
    counts_people = facts["protects"].get("count") == "people"
    caveats = [
        (True, GROUP_FACTS_CAVEAT),
        (True, OTHER_RELEASES_CAVEAT),
        (not is_person, SEVERAL_ROWS_CAVEAT),
        (is_person and not counts_people, ROW_COUNT_NOTICE),
        (counts_people, PEOPLE_ONCE_CAVEAT),
        (facts["schema"].get("peeked"), PEEKED_CAVEAT),
        (facts["reason"], LOOKED_AT_DATA_CAVEAT),
        ("floating" in facts["made_by"]["noise"], FLOAT_NOISE_CAVEAT),
        (
            any(origin["source"] == origin_words.SCHEMA_AUTHOR for origin in facts["provenance"]),
            SCHEMA_AUTHOR_CAVEAT,
        ),
        (facts["made_by"]["public_start"], PUBLIC_START_CAVEAT),
    ]
    return [caveat for holds, caveat in caveats if holds]
