"""Print a release's card: a first page for a board, a second with all settings.

Made of public facts only.
"""

from markupsafe import Markup

from ...accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from ...core.numbers import format_short_number, unit_noun
from ...data.privacy_unit import ROW_COUNT_NOTICE, ROW_UNIT, ROWS_COLUMN
from ...privacy.accounting import ACCOUNTANT_BY_NAME, Budget, LifetimeBudget, events_from_json
from ...problems.parse_tasks import describe_task
from ...queries.parse_queries import describe_queries_in_everyday_words
from ..ledger.gauge import budget_gauge
from ..tiles import Tile, all_predicted_tiles, promised_error_tile
from . import origin_words
from .printing import TEMPLATES, ReleaseFacts, render_page

NO_PICTURE = Markup("")
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
PERSON_COLUMNS_CAVEAT = (
    "Of a person these columns say what one of that person's rows says, chosen by the hash: {}."
)
SYNTHETIC_PEOPLE_TEXT = (
    "{:,} synthetic people with rows of their own: the ids in the column {} are invented. Rows of "
    "one person are alike only through the person's columns: {}."
)
ONE_SYNTHETIC_ROW_TEXT = (
    "There is one synthetic row for each person: how many rows a person has was not measured."
)
SYNTHETIC_CHAINS_TEXT = " In {} each row follows the one before as was measured."
PAIRS_CAVEAT = (
    "Columns called {} are about two rows of a person, and neither need be the row beside them."
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


def card_page(
    facts: ReleaseFacts,
    release: int,
    *,
    pictures: Markup = NO_PICTURE,
    label: Markup = NO_PICTURE,
) -> str:
    """Return a release's card as an HTML page.

    Args:
        facts: Those in release.json.
        release: Its number among those of its data set.
        pictures: Show its columns.
        label: Its facts label.

    """
    gauge_html, gauge_words = release_gauge(facts)
    return render_page(
        TEMPLATES / "card.html",
        **facts,
        release=release,
        counted_noun=unit_noun(facts["protects"]["rows_per_person"]),
        tiles=release_tiles(facts),
        promise_words=Promise.of_release(facts).suspicion_sentence,
        asked=asked_words(facts),
        synthetic=synthetic_words(facts),
        gauge=gauge_html,
        gauge_words=gauge_words,
        origins=origin_words.group_origins(facts["provenance"]),
        not_covered=not_covered(facts),
        brief=format_short_number,
        pictures=pictures,
        label=label,
    )


def data_set_lifetime(facts: ReleaseFacts) -> LifetimeBudget:
    """Return the promise of all releases of a release's data set together."""
    dataset = facts["dataset"]
    return LifetimeBudget(
        Budget(**dataset["total"]), ACCOUNTANT_BY_NAME[dataset["accounting"]], dataset["failure"]
    )


def release_gauge(facts: ReleaseFacts) -> tuple[Markup, str]:
    """Return the shares of the data set's budget before and with a release: picture and words."""
    lifetime = data_set_lifetime(facts)
    release_share = (
        lifetime.composed_cost(events_from_json(facts["promise"]["reserved"])) / lifetime.capacity
    )
    used_share = lifetime.used_capacity_share(facts["dataset"]["spent"]["epsilon"])
    gauge_html, gauge_words, _ = budget_gauge(max(used_share - release_share, 0.0), release_share)
    return Markup(gauge_html), gauge_words


def release_tiles(facts: ReleaseFacts) -> list[Tile]:
    """Return the verdict's tiles of a release: how exact it is, and how often a guess is right."""
    utility = facts["utility"]
    records = facts["protects"]["records"]
    counted_noun = unit_noun(facts["protects"]["rows_per_person"])
    return [
        *all_predicted_tiles(utility["predicted"], records, counted_noun),
        *promised_error_tile(utility["promised"], records, counted_noun),
        guess_tile_texts(Promise.of_release(facts).max_guess_probability()),
    ]


def asked_words(facts: ReleaseFacts) -> str:
    """Return what a release answers or has learned, in everyday words."""
    if "learned" in facts:
        return describe_task(facts["learned"]["task"])
    return "; ".join(map(describe_queries_in_everyday_words, facts["queries"]["asked"]))


def synthetic_words(facts: ReleaseFacts) -> str:
    """Return what the synthetic rows of a release are; empty where people are not counted."""
    protects = facts["protects"]
    people = facts.get("synthetic_people")
    if people is not None:
        person_columns = [*protects.get("person_columns", []), ROWS_COLUMN]
        sentence = SYNTHETIC_PEOPLE_TEXT.format(
            people["count"], people["column"], ", ".join(person_columns)
        )
        chains = protects.get("successions", [])
        return sentence + (SYNTHETIC_CHAINS_TEXT.format(", ".join(chains)) if chains else "")
    if "synthetic.csv" in facts["files"] and protects.get("count") == "people":
        return ONE_SYNTHETIC_ROW_TEXT
    return ""


def _pair_words(facts: ReleaseFacts) -> str:
    """Return how the columns of pairs of a person's rows are called."""
    return "earlier … and next …" if "time_column" in facts["protects"] else "another …"


def not_covered(facts: ReleaseFacts) -> list[str]:
    """Return sentences that say what the promise does not cover."""
    is_person = facts["protects"]["unit"] != ROW_UNIT
    counts_people = facts["protects"].get("count") == "people"
    person_columns = facts["protects"].get("person_columns", [])
    caveats = [
        (True, GROUP_FACTS_CAVEAT),
        (True, OTHER_RELEASES_CAVEAT),
        (not is_person, SEVERAL_ROWS_CAVEAT),
        (is_person and not counts_people, ROW_COUNT_NOTICE),
        (counts_people, PEOPLE_ONCE_CAVEAT),
        (person_columns, PERSON_COLUMNS_CAVEAT.format(", ".join(person_columns))),
        (facts["protects"].get("successions"), PAIRS_CAVEAT.format(_pair_words(facts))),
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
