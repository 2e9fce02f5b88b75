"""Privacy–accuracy frontier as plain SVG, for pages that are printed or mailed.

It has no script, no font and no outside address.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from dpcore.release.evidence import printing

from ..session import printable_text

# whose axes reach from 70 to 500 and from 352 up to 16
TEMPLATE_FILE = Path(__file__).with_name("frontier.svg")


def frontier_markup(
    setting_errors: pd.DataFrame,
    floors: Mapping[str, float],
    styles: Mapping[str, Mapping[str, str]],
    *,
    title: str,
    unit: str,
) -> str:
    """Return SVG of errors against ε, with baselines and a legend at the right.

    Both axes are logarithmic. The baselines `floors` are horizontal lines. `title` says what the
    drawing shows to who cannot see it; `unit` is that of the errors.
    """
    drawable = setting_errors[setting_errors["error"] > 0]
    if not len(drawable):
        return "<p>No error is above zero: nothing to draw on a logarithmic axis.</p>"
    positive_floors = {
        printable_text(name, 38): floor for name, floor in floors.items() if floor > 0
    }
    errors = [*drawable["error"], *positive_floors.values()]
    budgets = sorted(drawable["epsilon"].unique())
    low = min(errors) / 1.3
    high = max(errors) * 1.3
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [digit * 10.0**power for power in decades for digit in (1, 2, 5)]
    values = {
        "title": title,
        "unit": unit,
        "floors": positive_floors.items(),
        "budgets": budgets,
        "errors": [s for s in steps if low <= s <= high],
        "lines": [
            (name, styles[str(name)], algorithm_errors[["epsilon", "error"]].to_numpy())
            for name, algorithm_errors in drawable.groupby("algorithm", sort=False)
        ],
        "across": _log_scale(budgets[0] / 1.2, budgets[-1] * 1.2, 70, 500),
        "up": _log_scale(low, high, 352, 16),
    }
    return printing.render_template(TEMPLATE_FILE, _format_number, values, autoescape=True)


def _log_scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    log_low = math.log(low)
    log_range = max(math.log(high) - log_low, 1e-9)
    return lambda value: start + (math.log(value) - log_low) / log_range * (end - start)


def _format_number(value: object) -> object:
    return f"{value:.1f}" if isinstance(value, float) else value
