"""Tags of shown things: what each thing costs. Every object that reaches a person carries one."""

from enum import StrEnum
from typing import ClassVar


class Provenance(StrEnum):
    """The origin of a number: public, released, or taken from the real data."""

    PUBLIC = "no data used"
    USER_INPUT = "entered by you"
    RELEASED = "protected"
    REAL_DATA = "uses real data – do not publish"

    @property
    def meaning(self) -> str:
        """A sentence that explains the tag, for a tooltip."""
        meanings = {
            Provenance.PUBLIC: "Known without looking at any row of the table.",
            Provenance.USER_INPUT: "Entered by a person. It is public as long as it was not "
            "taken from the data.",
            Provenance.RELEASED: "Released by the private algorithm. It has used up privacy "
            "budget, and may be published.",
            Provenance.REAL_DATA: "Computed from the real rows without noise. The promise does "
            "not cover it: for your eyes only.",
        }
        return meanings[self]


class Released:
    """The base of whatever a private algorithm released."""

    tag: ClassVar[Provenance] = Provenance.RELEASED
