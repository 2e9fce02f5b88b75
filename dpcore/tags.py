"""What a shown thing has cost: every object that reaches a person carries one of these tags."""

from enum import StrEnum


class Tag(StrEnum):
    """Where a number comes from."""

    PUBLIC = "no data used"
    TYPED = "entered by you"
    PAID = "protected"
    PEEK = "uses real data – do not publish"

    @property
    def meaning(self) -> str:
        """One sentence for a tooltip."""
        return {
            Tag.PUBLIC: "Known without looking at any row of the table.",
            Tag.TYPED: "Entered by a person. It is public as long as it was not taken from the data.",
            Tag.PAID: "Released by the private algorithm. It has used up privacy budget, and may be published.",
            Tag.PEEK: "Computed from the real rows without noise. The promise does not cover it: for your eyes only.",
        }[self]
