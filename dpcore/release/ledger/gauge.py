"""The budget of a data set as shares that add up, in one picture and one line for pages and files alike."""

import math

USED, NOW, OVER, LEFT = "#8a857c", "#0072b2", "#d55e00", "#8a857c4d"  # OVER: what does not fit
CLOSE = 1e-9  # shares that differ by less are the same


def gauge(used: float | None, now: float = 0.0) -> tuple[str, str, str]:
    """Return the picture (HTML) and the words for the shares of the whole budget, 0 to 1, used before and `now`.

    The last of the three is the share of `now` alone.

    None was used before as far as is known where no budget record is named.

    Shares are in whole percent, rounded up, and what is left is what remains of 100. As ε does not add up, the words
    say how many more releases like this one fit in.
    """
    is_known, used = used is not None, used or 0.0
    is_over_budget = used + now > 1 + CLOSE
    used_percent = _percent(used)
    release_percent = _percent(now) if is_over_budget else min(_percent(now), 100 - used_percent)
    remaining_percent = 100 - used_percent - release_percent * (not is_over_budget)
    share_text = "more than the whole budget" if now > 1 + CLOSE else f"{release_percent}%"
    release_text = [f"this release {'needs ' * is_over_budget}{share_text}"] if now else []
    more_releases = how_many(1 - used - now, now) if now else 0
    remaining_text = f"left {remaining_percent}%" + f", about {more_releases:,} more" * (more_releases > 0)
    used_text = f"Used {'before ' if now else ''}{used_percent}%" if is_known else "New budget"
    summary = " · ".join([used_text, *release_text, remaining_text])
    bars = "".join(
        f'<div style="width:{width}%;background:{colour}"></div>'
        for width, colour in (
            (used_percent, USED),
            (100 - used_percent if is_over_budget else release_percent, OVER if is_over_budget else NOW),
        )
    )
    bar_style = (
        f"display:flex;height:0.7em;border-radius:0.2em;overflow:hidden;background:{LEFT};print-color-adjust:exact"
    )
    return (
        f'<div role="img" aria-label="Privacy budget: {summary}" style="{bar_style}">{bars}</div>',
        summary,
        share_text,
    )


def how_many(room: float, share: float) -> int:
    """Return how many releases that take a `share` each fit into the `room`; both are of the whole budget."""
    return math.floor(room / share + CLOSE)


def _percent(share: float) -> int:
    return math.ceil(100 * min(share, 1.0) - 1e-6)
