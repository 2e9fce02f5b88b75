"""Show a data set's budget as shares that add up, in one picture and one line.

For pages and files alike.
"""

import math

USED_COLOUR = "#8a857c"
RELEASE_COLOUR = "#0072b2"
OVER_BUDGET_COLOUR = "#d55e00"  # of what does not fit
REMAINING_COLOUR = "#8a857c4d"
SHARE_TOLERANCE = 1e-9  # shares that differ by less are the same


def budget_gauge(used_share: float | None, release_share: float = 0.0) -> tuple[str, str, str]:
    """Return the picture (HTML), the words and the percentage text for shares of a budget.

    `used_share` is the share of the whole budget, 0 to 1, used before; `release_share` that of this
    release. The last of the three is the text of `release_share` alone. None was used before as far
    as is known where no budget record is named.

    Shares are in whole percent, rounded up, and what is left is what remains of 100. As ε does not
    add up, the words say how many more releases like this one fit in.
    """
    is_known = used_share is not None
    used_share = used_share or 0.0
    is_over_budget = used_share + release_share > 1 + SHARE_TOLERANCE
    used_percent = _whole_percent(used_share)
    release_percent = (
        _whole_percent(release_share)
        if is_over_budget
        else min(_whole_percent(release_share), 100 - used_percent)
    )
    remaining_percent = 100 - used_percent
    if not is_over_budget:
        remaining_percent -= release_percent
    share_text = (
        "more than the whole budget"
        if release_share > 1 + SHARE_TOLERANCE
        else f"{release_percent}%"
    )
    verb = "needs " if is_over_budget else ""
    release_text = [f"this release {verb}{share_text}"] if release_share else []
    more_releases = (
        fitting_release_count(1 - used_share - release_share, release_share) if release_share else 0
    )
    remaining_text = f"left {remaining_percent}%"
    if more_releases > 0:
        remaining_text += f", about {more_releases:,} more"
    used_text = "New budget"
    if is_known and release_share:
        used_text = f"Used before {used_percent}%"
    elif is_known:
        used_text = f"Used {used_percent}%"
    summary = " · ".join([used_text, *release_text, remaining_text])
    bars = "".join(
        f'<div style="width:{width}%;background:{colour}"></div>'
        for width, colour in (
            (used_percent, USED_COLOUR),
            (
                100 - used_percent if is_over_budget else release_percent,
                OVER_BUDGET_COLOUR if is_over_budget else RELEASE_COLOUR,
            ),
        )
    )
    bar_style = (
        "display:flex;height:0.7em;border-radius:0.2em;overflow:hidden;"
        f"background:{REMAINING_COLOUR};print-color-adjust:exact"
    )
    return (
        f'<div role="img" aria-label="Privacy budget: {summary}" style="{bar_style}">{bars}</div>',
        summary,
        share_text,
    )


def fitting_release_count(remaining_share: float, release_share: float) -> int:
    """Return how many releases of `release_share` each fit into the `remaining_share`.

    Both are shares of the whole budget.
    """
    return math.floor(remaining_share / release_share + SHARE_TOLERANCE)


def _whole_percent(share: float) -> int:
    return math.ceil(100 * min(share, 1.0) - 1e-6)
