"""The tiles of a verdict, for pages and cards alike: how far off, and as exact as which sample."""

from ..core.numbers import format_count, format_percentage_points

Tile = tuple[str, str, str]  # what is measured, its value, and what to compare that with


def predicted_error_tiles(
    predicted_errors: tuple[float, float] | None, sample_share: float | None, n: int, unit_noun: str
) -> list[Tile]:
    """Return tiles on a release's predicted accuracy by its noise alone.

    The typical error, that of 19 in 20 answers, the sample.
    """
    if predicted_errors is None:
        return []
    typical_tile = error_tile("Foreseen error", predicted_errors[0], n, unit_noun)
    return [
        typical_tile,
        error_tile("19 of 20 answers: within", predicted_errors[1], n, unit_noun),
        *sample_size_tile(sample_share, n, unit_noun),
    ]


def error_tile(name: str, error_share: float, n: int, unit_noun: str, suffix: str = "") -> Tile:
    """Return the tile of one error in people or rows, beside it the same in points.

    `suffix` is added to the points.
    """
    return (
        name,
        format_count(error_share, n, unit_noun),
        f"{format_percentage_points(error_share)} points{suffix}",
    )


def sample_size_tile(sample_share: float | None, n: int, unit_noun: str) -> list[Tile]:
    """Return the tile on the sample size that would be as exact, to two digits.

    No tile where that is not known.
    """
    if sample_share is None:
        return []
    sample = f"{float(f'{sample_share * n:.2g}'):,.0f} of {n:,} {unit_noun}"
    return [("As exact as counting only", sample, "drawn at random, without noise")]
