"""What a shown thing has cost: every object that reaches a person carries one of these tags."""

from enum import StrEnum


class Tag(StrEnum):
    """Where a number comes from."""

    PUBLIC = "public"
    TYPED = "typed by a person"
    PAID = "paid for"
    PEEK = "private peek"

    @property
    def meaning(self) -> str:
        """One sentence for a tooltip."""
        return {
            Tag.PUBLIC: "Known without looking at any record.",
            Tag.TYPED: "Entered by a person; public as long as it was not read off the records.",
            Tag.PAID: "Released by the private algorithm; its privacy cost is in the ledger.",
            Tag.PEEK: "Computed from the real records without noise: fine for exploring, never for publishing.",
        }[self]
