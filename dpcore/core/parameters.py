"""Declarations of parameters, and descriptions of algorithms.

A parameter's bounds, default, symbol, unit and words stand in one place. Widgets, command-line
settings, tables and the property tests are all generated from them.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from .errors import InputError
from .numbers import parse_number
from .types import Json, Texts, by_name, value_object

T = TypeVar("T")

SYMBOL_MEANINGS = {
    "n": "number of rows; public, because neighbours replace one row",
    "k": "number of combinations of the domain: the product of the columns' values",
    "m": "number of queries; each maps combinations to [-1, 1] and is answered by a mean over rows",
    "d": "number of columns",
    "T": "number of rounds",
    "ε": "privacy budget, small for a strong promise: replacing one row changes no probability "
    "by a factor above e^ε",
    "δ": "how far a probability may lie beyond that factor",
    "ρ": "zero-concentrated differential privacy; adds up over releases",
    "μ": "Gaussian differential privacy: as hard to see as a shift of a standard normal by μ; μ² "
    "adds up",
    "σ": "standard deviation of Gaussian noise",
    "α": "entropy weight: large stays near the uniform distribution, small follows the noisy "
    "answers",
    "P": "the population: the distribution that the rows are drawn from, where it is known",
    "P_n": "the real table as a distribution over combinations",
    "D": "the synthetic distribution over combinations",
}


PAPER_PATTERN = re.compile(r"[^;\d]+ \d{4}")  # authors and year at the beginning of a source
ALGORITHM_DESCRIPTIONS = tomllib.loads(
    Path(__file__).with_name("about.toml").read_text(encoding="utf-8")
)  # by class


@value_object
class AlgorithmDescription:
    """The words of an algorithm; `brief` says in six words what it does."""

    title: str
    brief: str
    summary: str
    use_when: str
    avoid_when: str
    cost: str
    source: str
    bound: str = ""  # who proved the rate of its error, and where; empty where nobody did

    @property
    def paper(self) -> str:
        """The authors and the year of its paper, or "this project"."""
        return _authors_and_year(self.source)


def paper_of(class_name: str) -> str:
    """Return the authors and the year of the paper of an algorithm, by its class."""
    return _authors_and_year(ALGORITHM_DESCRIPTIONS[class_name]["source"])


def _authors_and_year(source: str) -> str:
    paper = PAPER_PATTERN.match(source)
    return source.partition(";")[0] if paper is None else paper[0]


class AlgorithmText:
    """A descriptor for the AlgorithmDescription of a class.

    It is that of the class itself, or of the next class above it that has one.
    """

    def __get__(self, _instance: object, cls: type) -> AlgorithmDescription:
        return next(
            AlgorithmDescription(**ALGORITHM_DESCRIPTIONS[c.__name__])
            for c in cls.__mro__
            if c.__name__ in ALGORITHM_DESCRIPTIONS
        )


@by_name
class Param:
    """The declaration of one parameter.

    A `default` of None means that `plan` chooses it, as `auto` describes. `log` asks for a
    logarithmic slider, `also` is another name.
    """

    name: str
    kind: type
    default: Any
    doc: str
    symbol: str = ""
    low: float | None = None
    high: float | None = None
    choices: Texts = ()
    log: bool = False
    auto: str = ""
    also: str = ""

    @property
    def allowed_values_text(self) -> str:
        """The allowed values in words, e.g. `1..200` or `last | average`."""
        if self.kind is bool:
            return "true | false"
        return " | ".join(self.choices) if self.choices else f"{self.low:g}..{self.high:g}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest allowed number; ±∞ where none is declared."""
        return (
            -math.inf if self.low is None else self.low,
            math.inf if self.high is None else self.high,
        )

    def check_value(self, value: Any) -> None:
        """Raise InputError unless `value` is of this parameter's kind and inside its range."""
        if value is None and self.default is None:
            return
        if self.choices:
            is_allowed = value in self.choices
        elif self.kind is bool or isinstance(value, bool):
            is_allowed = self.kind is bool and isinstance(value, bool)
        elif isinstance(value, int if self.kind is int else (int, float)):
            low, high = self.bounds
            is_allowed = low <= value <= high
        else:
            is_allowed = False
        if not is_allowed:
            raise InputError(f"{self.name}={str(value)[:40]} is outside {self.allowed_values_text}")

    def parse(self, text: str) -> Any:
        """Return the value that a text from a command line or an address bar represents."""
        if self.choices or self.kind is str:
            value: Any = text
        elif self.default is None and text == "auto":
            value = None
        else:
            value = self._parse_text(text)
        self.check_value(value)
        return value

    def _parse_text(self, text: str) -> Any:
        if self.kind is bool:
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
            raise InputError(f"{self.name}={text[:40]} is not a bool in {self.allowed_values_text}")
        return parse_number(text, self.name, self.kind, *self.bounds)


def parameter_field(default: Any, doc: str, **declaration: Any) -> Any:
    """Return a dataclass field that declares a parameter.

    `declaration` are fields of `Param`.
    """
    return field(default=default, metadata={"doc": doc, **declaration})


def declared_parameters(cls: type) -> tuple[Param, ...]:
    """Return the parameters of a dataclass, in order of declaration."""
    hints = get_type_hints(cls)
    return tuple(
        Param(
            name=f.name,
            kind=_annotated_type(hints[f.name]),
            default=_default_or_none(f),
            **f.metadata,
        )
        for f in fields(cls)
        if f.metadata
    )


def check_parameters(instance: Any) -> None:
    """Raise InputError for the first parameter of `instance` outside its range.

    Call it from `__post_init__`.
    """
    values = parameter_values(instance)
    for p in declared_parameters(type(instance)):
        p.check_value(values[p.name])


def parameter_values(instance: Any) -> Json:
    """Return the values of all parameters of `instance`, by name."""
    return {p.name: getattr(instance, p.name) for p in declared_parameters(type(instance))}


def build_from_texts(cls: type[T], settings: Mapping[str, str]) -> T:
    """Return a new instance of `cls` with settings read from texts, e.g. {"rounds": "200"}.

    Raises InputError for unknown names, which lists the known ones.
    """
    declarations = {p.name: p for p in declared_parameters(cls)}
    names_and_aliases = declarations | {p.also: p for p in declarations.values() if p.also}
    for name in settings:
        if name not in names_and_aliases:
            raise InputError(
                f"there is no parameter {name!r} here; the parameters are "
                f"{', '.join(declarations) or 'none'}"
            )
        if names_and_aliases[name].name != name and names_and_aliases[name].name in settings:
            raise InputError(
                f"{name} and {names_and_aliases[name].name} are the same parameter; give one of "
                "them"
            )
    return cls(
        **{
            names_and_aliases[name].name: names_and_aliases[name].parse(text)
            for name, text in settings.items()
        }
    )


def _annotated_type(hint: Any) -> type:
    """Return the plain type in an annotation such as `int` or `int | None`."""
    return next((t for t in get_args(hint) if t is not type(None)), hint)


def _default_or_none(f: Field) -> Any:
    return None if f.default is MISSING else f.default
