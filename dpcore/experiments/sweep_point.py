"""Points of a sweep, to and from JSON, and their means over seeds; both use real data."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..numbers import mean_of_all
from ..tags import Tag
from ..types import Json

Key = tuple[str, float, float, int]  # algorithm, ε, δ, seed


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """One run of a sweep. `algorithm` is its name in the sweep, `settings` its parameters (None: by the plan).

    state "done": `errors` are those of the last release by name, those against a population with the prefix
    population_; `spent` is the ledger's total; `seconds` are the algorithm's own, and `memory` is its peak in bytes.
    "refused": it cannot serve this problem at this budget, says `message`, by public numbers alone. "failed": it broke
    off, and `message` says how.
    """

    algorithm: str
    settings: Json
    epsilon: float
    delta: float
    seed: int
    state: str
    message: str = ""
    errors: dict[str, float | None] = field(default_factory=dict)
    spent: Json = field(default_factory=dict)
    seconds: float | None = None
    memory: int | None = None
    tag: ClassVar[Tag] = Tag.PEEK

    @property
    def key(self) -> Key:
        """The key that identifies this point within its sweep."""
        return self.algorithm, self.epsilon, self.delta, self.seed

    def to_json(self) -> Json:
        """The point as a dictionary, as the files of a sweep hold it."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Any) -> "SweepPoint":
        """The point that `to_json` wrote; InputError for anything else."""
        number, whole = (int, float), (int, type(None))
        kinds = (str, dict, number, number, int, str, str, dict, dict, (*number, type(None)), whole)
        try:
            point = cls(**told)
            sound = all(isinstance(getattr(point, f.name), kind) for f, kind in zip(fields(cls), kinds, strict=True))
            sound = sound and all(isinstance(error, (*number, type(None))) for error in point.errors.values())
        except (TypeError, AttributeError):
            sound = False
        if not sound or point.state not in ("done", "refused", "failed"):
            raise InputError(f"{str(told)[:80]} is not a point of a sweep")
        return point


@dataclass(frozen=True)
class Mean:
    """Means over the seeds of one algorithm at one ε: `errors` by name (None where a run has none), and `seconds`."""

    algorithm: str
    epsilon: float
    runs: int
    errors: dict[str, float | None]
    seconds: float
    tag: ClassVar[Tag] = Tag.PEEK


def means(points: Iterable[SweepPoint]) -> list[Mean]:
    """The means of the points that are done, by algorithm in order of appearance, then by ε."""
    together: dict[str, dict[float, list[SweepPoint]]] = {}
    for point in points:
        if point.state == "done":
            together.setdefault(point.algorithm, {}).setdefault(point.epsilon, []).append(point)
    out = []
    for name, by_epsilon in together.items():
        for epsilon, runs in sorted(by_epsilon.items()):
            errors = {e: mean_of_all([run.errors.get(e) for run in runs]) for e in runs[0].errors}
            out.append(Mean(name, epsilon, len(runs), errors, float(np.mean([run.seconds or 0.0 for run in runs]))))
    return out


def best(found: Sequence[Mean], error: str) -> dict[float, Mean]:
    """The algorithm with the smallest mean of one error, for every ε with a known one."""

    def gap(mean: Mean) -> float:
        value = mean.errors.get(error)
        return math.inf if value is None or value != value else value

    out: dict[float, Mean] = {}
    for mean in sorted(found, key=lambda m: (m.epsilon, gap(m))):
        if gap(mean) < math.inf:
            out.setdefault(mean.epsilon, mean)
    return out
