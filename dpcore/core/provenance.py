"""Tags of shown things: what each thing costs. Every object that reaches a person carries one."""

from enum import StrEnum
from typing import ClassVar


class Tag(StrEnum):
    """The origin of a number: public, released, or taken from the real data."""

    PUBLIC = "no data used"
    TYPED = "entered by you"
    PAID = "protected"
    PEEK = "uses real data – do not publish"

    @property
    def meaning(self) -> str:
        """A sentence that explains the tag, for a tooltip."""
        return {
            Tag.PUBLIC: "Known without looking at any row of the table.",
            Tag.TYPED: "Entered by a person. It is public as long as it was not taken from the data.",
            Tag.PAID: "Released by the private algorithm. It has used up privacy budget, and may be published.",
            Tag.PEEK: "Computed from the real rows without noise. The promise does not cover it: for your eyes only.",
        }[self]


class Paid:
    """The base of whatever a private algorithm released."""

    tag: ClassVar[Tag] = Tag.PAID
