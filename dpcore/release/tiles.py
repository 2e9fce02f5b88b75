"""The tiles of a verdict, for pages and cards alike: how far off, and as exact as which sample."""

from ..core.numbers import counted, points

Tile = tuple[str, str, str]  # what is measured, its value, and what to compare that with


def foretold(sizes: tuple[float, float] | None, exact: float | None, n: int, noun: str) -> list[Tile]:
    """The tiles of a release's accuracy by its noise alone: the typical error, that of 19 in 20 answers, the sample."""
    if sizes is None:
        return []
    typical_tile = error("Foreseen error", sizes[0], n, noun)
    return [typical_tile, error("19 of 20 answers: within", sizes[1], n, noun), *exactness(exact, n, noun)]


def error(name: str, gap: float, n: int, noun: str, more: str = "") -> Tile:
    """The tile of one error in people or rows, beside it the same in points and what `more` is known."""
    return name, counted(gap, n, noun), f"{points(gap)} points{more}"


def exactness(share: float | None, n: int, noun: str) -> list[Tile]:
    """The tile that says which sample would be as exact, to two digits; no tile where that is not known."""
    if share is None:
        return []
    sample = f"{float(f'{share * n:.2g}'):,.0f} of {n:,} {noun}"
    return [("As exact as counting only", sample, "drawn at random, without noise")]
