"""The public facts about a problem, as the summary of a run states them: a class for each kind."""

from ..core.types import Json, Texts, value_object


@value_object
class ProblemFacts:
    """The facts that every problem has: n rows, at most `rows_per_person` of them of one person."""

    n: int
    rows_per_person: int

    def to_json(self) -> Json:
        """Return the facts as a dictionary, by name."""
        return dict(vars(self))


@value_object
class QueryFacts(ProblemFacts):
    """The facts about a query release: k `cells`, m `queries`, the start and the schema.

    `constraints` is their number; `peeked` means that bounds came from the rows.
    """

    cells: int
    queries: int
    public_start: bool
    constraints: int
    peeked: bool


@value_object
class RiskFacts(ProblemFacts):
    """The facts about a risk minimisation: d coordinates and their `names`, the loss, the region K.

    G bounds the slope of the difference of two rows' losses on K, and R is the radius of K;
    `peeked` means that bounds came from the rows.
    """

    d: int
    loss: str
    region: str
    G: float
    R: float
    names: Texts
    peeked: bool

    def to_json(self) -> Json:
        """Return the facts as a dictionary, by name."""
        return super().to_json() | {"names": list(self.names)}


@value_object
class PointFacts(ProblemFacts):
    """The facts about a release of points: d coordinates, the region and its diameter."""

    d: int
    region: str
    diameter: float
