"""What a page says of the number of synthetic rows, or people, that a release writes."""

from dpcore.data.privacy_unit import PrivacyUnit

SYNTHETIC_PEOPLE_HELP = (
    "As many as real people. Each has an invented id and rows of its own, alike only through the "
    "person's columns. Where successions are asked, they also follow these."
)
ONE_SYNTHETIC_ROW_HELP = "One for each person: how many rows a person has is not measured."


def synthetic_texts(unit: PrivacyUnit) -> tuple[str, str]:
    """Return the label of the number of synthetic rows or people, and its help."""
    if unit.row_totals:
        return "Synthetic people", SYNTHETIC_PEOPLE_HELP
    if unit.counts_people:
        return "Synthetic rows", ONE_SYNTHETIC_ROW_HELP
    return "Synthetic rows", "As many as real rows."
