"""Learning tasks as text, and the numbers that a task learns from a table.

Features are scaled by the schema's public bounds alone: numbers to −1..1, a category of two to ±1,
one of more to a coordinate of 0 or 1 for each value but the first, against which the others are
measured; with an intercept of 1, all divided by √(features + 1), so that ‖a‖ ≤ 1 for every possible
row. A coordinate for the first value as well would add up with the others to the intercept: the
risk would be flat along a line, on which noise has nothing to hold it and drives answers to the
edge of K, objective perturbation's first of all.
"""

import csv
import math

import numpy as np
import pandas as pd

from ..core.errors import InputError, require_two_rows
from ..core.numbers import parse_number
from ..core.types import Array, Texts, frozen, value_object
from ..queries.parse_queries import join_column_names, split_column_names
from ..schema.domain import Column, Domain, Rows
from . import RiskMinimisation
from .losses import (
    Logistic,
    Loss,
    PiecewiseLinear,
    SquaredDistance,
    absolute_loss,
    hinge_loss,
    huber_loss,
    pinball_loss,
)
from .regions import Ball, Box, Region, Space, check_radius

TASK_FORMS_HELP = (
    "quantile:COLUMN:0.5 (a quantile), absolute:COLUMN (a median), mean:a,b (a mean), "
    "logistic:TARGET:f1,f2 and "
    "hinge:TARGET:f1,f2 (a classifier of a column with two values), absolute:TARGET:f1,f2, "
    "huber:TARGET:f1,f2[:WIDTH] "
    "and quantile:TARGET:0.5:f1,f2 (a regression)"
)
REGION_NAMES = ("ball", "box", "space")
CLASSIFIER_RADIUS = 10.0
HUBER_WIDTH_SHARE = 0.1  # default width of the Huber loss, as a share of the target's half range
# largest multiple of the radius suggested by the bounds; beyond it rounding hides a step's effect
MAX_RADIUS_SCALE = 1e6
INTERCEPT_NAME = "(intercept)"
FEATURE_SCALE_TEXT = (
    "A row's score is the sum of these values, each times its feature, and the last one times 1, "
    "divided by the square root of one more than the number of feature columns. A feature of "
    "numbers is -1 at its lowest public value and 1 at its highest, a column of two values -1 or "
    "1, and any other value of a column 0 or 1. Where one of two values is predicted, a score "
    "above 0 means the second."
)


@value_object
class _TaskText:
    """The parts of a task's text."""

    kind: str
    columns: tuple[Column, ...]  # the target, or the columns of a mean
    features: tuple[Column, ...]
    quantile_level: float | None
    huber_width: float | None

    @property
    def is_classifier(self) -> bool:
        """Whether the target is a column with two values."""
        return self.kind in ("logistic", "hinge")


@value_object
class _RegionChoice:
    """The form of the region K, and its radius R; None for the default one."""

    form: str
    radius: float | None

    def about(self, centre: Array, default_radius: float) -> Region:
        """Return the region K about a centre; its radius is by default `default_radius`."""
        R = default_radius if self.radius is None else self.radius
        if not default_radius / MAX_RADIUS_SCALE <= R <= default_radius * MAX_RADIUS_SCALE:
            allowed_range = (
                f"{default_radius / MAX_RADIUS_SCALE:g}..{default_radius * MAX_RADIUS_SCALE:g}"
            )
            raise InputError(
                f"radius={R:g} is outside {allowed_range}, the radii served for these bounds"
            )
        if self.form == "box":
            return Box(centre - R, centre + R)
        if self.form == "ball":
            return Ball(centre, R)
        return Space(centre, R)


@frozen
class _TaskData:
    """What a task learns from: its loss, its region K, the rows' numbers, and the names of x."""

    loss: Loss
    region: Region
    values: Array
    names: Texts


def read_task(
    text: str,
    domain: Domain,
    frame: pd.DataFrame,
    *,
    radius: float | None = None,
    region: str = "ball",
    group: int = 1,
    any_rows: bool = False,
) -> tuple[RiskMinimisation, Rows]:
    """Return the problem that `text` describes, and the rows as grouped numbers.

    See TASK_FORMS_HELP for the text. K is a ball of `radius` R about a public centre, a box of half
    width R, or R^d with R a guess. R is by default half the target's range for a location, that
    times √d for a regression, and 10 for a classifier; for a mean K is the box of the columns'
    bounds. Raises InputError for a text that is not understood, a column that does not fit, one
    class only, a feature that is the same in every row, a value outside its public bounds, and R ≤
    0. With `any_rows` rows of one class, or with the same feature in every row, are read like any
    others: whether a private release is refused must not follow from its rows. What it refuses
    instead follows from the schema (`require_releasable_task`).

    >>> sample = samples.census(1000)
    >>> read_task("logistic:sex:age,hours", sample.domain, sample.frame)[0].names
    ('age', 'hours', '(intercept)')
    """
    kind, parts = _split_task_text(text)
    if region not in REGION_NAMES:
        raise InputError(f"region={region!r} is not one of {', '.join(REGION_NAMES)}")
    if radius is not None:
        check_radius(radius)
    require_two_rows(len(frame))
    task = _parse_task_parts(text, kind, parts, domain)
    region_choice = _RegionChoice(region, radius)
    if kind == "mean":
        data = _read_mean(task, frame, region_choice)
    else:
        data = _read_target(task, frame, region_choice, any_rows=any_rows)
    location = not (kind == "mean" or task.features)
    problem = RiskMinimisation(
        data.loss, data.region, len(data.values), data.names, location, group, domain.peeked
    )
    return problem, group_rows(data.values)


def _parse_task_parts(text: str, kind: str, parts: list[str], domain: Domain) -> _TaskText:
    """Return the parsed parts of a task's text.

    Raises InputError for parts that do not go with its kind.
    """
    target, *remaining = parts
    quantile_level = None
    if kind == "quantile" and remaining:
        quantile_level = parse_number(remaining.pop(0), "quantile", float)
    features = _named_columns(domain, remaining.pop(0)) if remaining else ()
    width = None
    if kind == "huber" and remaining:
        width = parse_number(remaining.pop(0), "huber width", float)
    is_classifier = kind in ("logistic", "hinge")
    is_invalid = quantile_level is None if kind == "quantile" else kind == "mean" and features
    if remaining or is_invalid or (not features and (is_classifier or width)):
        raise InputError(f"task {text[:80]!r} is not understood; give {TASK_FORMS_HELP}")
    columns = _named_columns(domain, target) if kind == "mean" else (domain.column(target),)
    return _TaskText(kind, columns, features, quantile_level, width)


def _read_mean(task: _TaskText, frame: pd.DataFrame, region_choice: _RegionChoice) -> _TaskData:
    """Return the data of a mean: its columns' numbers, the loss and the region K.

    The loss is the squared distance within the columns' public bounds.
    """
    middles, halves = np.array([_middle_and_half_range(column) for column in task.columns]).T
    low = middles - halves
    high = middles + halves
    values = np.column_stack([_column_numbers(column, frame) for column in task.columns])
    loss = SquaredDistance(tuple(low.tolist()), tuple(high.tolist()))
    if region_choice.radius is None and region_choice.form != "space":
        K = Box(low, high)
    else:
        K = region_choice.about(middles, float(np.linalg.norm(halves)))
    return _TaskData(loss, K, values, tuple(column.name for column in task.columns))


def _read_target(
    task: _TaskText, frame: pd.DataFrame, region_choice: _RegionChoice, *, any_rows: bool
) -> _TaskData:
    """Return the data of a task with a target: the target's numbers, the loss and the region K.

    Its features, if it has any, stand before the target. Raises InputError for rows of one class,
    unless `any_rows` may be read.
    """
    (column,) = task.columns
    if column in task.features:
        raise InputError(f"column {column.name!r} is the target and a feature at once")
    if task.is_classifier:
        loss = Logistic() if task.kind == "logistic" else hinge_loss()
        b = _class_labels(column, _column_cells(frame, column))
        if not any_rows and b.min() == b.max():
            label = column.labels[int(b[0] > 0)]
            raise InputError(f"column {column.name!r} holds one class only, {label!r}")
        middle = 0.0
        half = CLASSIFIER_RADIUS
    else:
        middle, half = _middle_and_half_range(column)
        b = _column_numbers(column, frame)
        loss = _regression_loss(task, half)
    if not task.features:
        K = region_choice.about(np.array([middle]), half)
        return _TaskData(loss, K, b[:, None], (column.name,))
    A, names = _feature_matrix(task.features, frame, any_rows=any_rows)
    centre = np.zeros(len(names))
    centre[-1] = middle * math.sqrt(len(task.features) + 1)
    default_radius = half if task.is_classifier else half * math.sqrt(len(names))
    K = region_choice.about(centre, default_radius)
    return _TaskData(loss, K, np.column_stack([A, b]), names)


def _regression_loss(task: _TaskText, half_range: float) -> PiecewiseLinear:
    """Return the loss of a task on numbers, for a target's half range.

    It is that of a quantile, of Huber's kind or the absolute one.
    """
    if task.quantile_level is not None:
        return pinball_loss(task.quantile_level)
    if task.kind == "huber":
        default_width = HUBER_WIDTH_SHARE * half_range
        return huber_loss(default_width if task.huber_width is None else task.huber_width)
    return absolute_loss()


def task_text(
    kind: str, target: str, *, quantile_level: float | None = None, features: Texts = ()
) -> str:
    """Return the text that `read_task` reads as this task, with column names quoted if needed."""
    parts = [target] + ([f"{quantile_level:g}"] if quantile_level is not None else [])
    if features:
        parts.append(join_column_names(features))
    return f"{kind}:{join_column_names(parts, ':')}"


def task_columns(text: str, domain: Domain) -> Texts:
    """Return the names of the columns that a task reads, in the schema's order.

    Raises InputError for a text that is not understood.
    """
    kind, parts = _split_task_text(text)
    task = _parse_task_parts(text, kind, parts, domain)
    column_names = {column.name for column in (*task.columns, *task.features)}
    return tuple(name for name in domain.names if name in column_names)


def require_releasable_task(text: str, domain: Domain) -> None:
    """Raise InputError for a task that the schema does not allow to be released.

    The schema has to give every row a number wherever the task needs one, so that no table that
    fits the schema is refused. A day is no number that can be printed as it was drawn.
    """
    kind, parts = _split_task_text(text)
    task = _parse_task_parts(text, kind, parts, domain)
    number_columns = () if task.is_classifier else task.columns
    for column in number_columns:
        _middle_and_half_range(column)
        if column.missing == "category":
            raise InputError(
                f"column {column.name!r} may have missing values, which are no numbers to learn "
                'from; set its missing to "refuse" in the schema if none is missing'
            )
        if column.is_date:
            raise InputError(
                f"column {column.name!r} holds dates, which are not released as a number; use a "
                "column of years"
            )


def describe_task(text: str) -> str:
    """Return what a task learns in everyday words.

    >>> describe_task("quantile:age:0.5"), describe_task("logistic:sex:age,hours")
    ('the median of age', 'a prediction of sex from age, hours (logistic)')
    """
    kind, (target, *remaining) = _split_task_text(text)
    level_text = remaining.pop(0) if kind == "quantile" and remaining else "0.5"
    if kind == "mean":
        return f"the mean of {', '.join(split_column_names(target))}"
    if remaining:
        features = ", ".join(split_column_names(remaining[0]))
        return f"a prediction of {target} from {features} ({kind})"
    level = parse_number(level_text, "quantile", float)
    return f"the median of {target}" if level == 0.5 else f"the {level:g} quantile of {target}"


def _split_task_text(text: str) -> tuple[str, list[str]]:
    kind, _, arguments = text.partition(":")
    parts = next(csv.reader([arguments], delimiter=":"), [])
    if (
        kind not in ("quantile", "absolute", "mean", "logistic", "hinge", "huber")
        or not all(parts)
        or not parts
    ):
        raise InputError(f"task {text[:80]!r} is not understood; give {TASK_FORMS_HELP}")
    return kind, parts


def _named_columns(domain: Domain, text: str) -> tuple[Column, ...]:
    names = split_column_names(text)
    columns = tuple(map(domain.column, names))
    if len(set(names)) < len(names):
        raise InputError(f"a column is named twice in {text[:80]!r}")
    return columns


def _column_cells(frame: pd.DataFrame, column: Column) -> pd.Series:
    return Domain((column,)).cells_by_column(frame)[0][1]


def _column_numbers(column: Column, frame: pd.DataFrame) -> Array:
    """Return the numbers (n,) of a column, within its public bounds.

    Raises InputError if one is missing.
    """
    numbers = column.read_numbers(_column_cells(frame, column))
    missing_count = int(np.isnan(numbers).sum())
    if missing_count:
        raise InputError(
            f"column {column.name!r}: {missing_count} of {len(numbers)} values are missing; a "
            "number is needed"
        )
    return numbers


def _middle_and_half_range(column: Column) -> tuple[float, float]:
    """Return the middle and half the width of the public bounds of a numeric column."""
    low, high = column.bounds
    if low == high:
        raise InputError(f"column {column.name!r} is constant: its public bounds are both {low:g}")
    return (low + high) / 2, (high - low) / 2


def _class_labels(column: Column, cells: pd.Series) -> Array:
    """Return the labels ±1 (n,) of a two-valued column: +1 for its second value."""
    if column.size != 2:
        raise InputError(
            f"column {column.name!r} has {column.size} values; a classifier's target needs two"
        )
    return column.encode(cells) * 2.0 - 1.0


def _feature_matrix(
    columns: tuple[Column, ...], frame: pd.DataFrame, *, any_rows: bool
) -> tuple[Array, Texts]:
    """Return the features A (n, d) with ‖a‖ ≤ 1, and the meaning of each coordinate.

    The intercept is last. Raises InputError for a feature that is the same in every row, unless
    `any_rows` may be read.
    """
    blocks = []
    names = []
    for column in columns:
        cells = _column_cells(frame, column)
        if column.values or column.missing == "category":
            codes = column.encode(cells)
            is_constant = codes.min() == codes.max()
            labels = column.labels
            if column.size == 2:
                blocks.append(codes[:, None] * 2.0 - 1.0)
                names.append(f"{column.name} = {labels[1]}")
            else:
                blocks.append(np.eye(column.size)[codes][:, 1:])
                names += [f"{column.name} = {label}" for label in labels[1:]]
        else:
            middle, half = _middle_and_half_range(column)
            numbers = (_column_numbers(column, frame) - middle) / half
            is_constant = numbers.min() == numbers.max()
            blocks.append(np.clip(numbers, -1, 1)[:, None])
            names.append(column.name)
        if is_constant and not any_rows:
            raise InputError(
                f"feature {column.name!r} is constant: the same value in every row; leave it out"
            )
    blocks.append(np.ones((len(frame), 1)))
    return np.hstack(blocks) / math.sqrt(len(columns) + 1), (*names, INTERCEPT_NAME)


def group_rows(values: Array) -> Rows:
    """Return the distinct rows of numbers (n, p), sorted, and the count of each."""
    counts = pd.DataFrame(values).groupby(list(range(values.shape[1])), sort=True).size()
    distinct = np.asarray(counts.index.to_frame(index=False), dtype=float)
    return Rows(distinct, counts.to_numpy())
