"""A table in a session: its records, what is public about it, and whom it protects."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dpcore.data.domain import Domain, Rows
from dpcore.data.readers import limit_rows
from dpcore.data.schema import domain_from_json
from dpcore.errors import InputError
from dpcore.tags import Tag


@dataclass(eq=False)
class Table:
    """A table in this session: its schema as JSON, and the domain once the schema is complete (else what is wrong).

    `most_rows` is how many rows one person can have, enforced by `person`, the column that names people; 1 with no such
    column means that a row is protected, not a person.
    """

    name: str
    frame: pd.DataFrame
    schema: dict[str, Any]
    source: str
    uploaded: bool
    population: np.ndarray | None = None
    most_rows: int = 1
    person: str | None = None
    domain: Domain | None = None
    problem: str = ""
    version: str = ""
    encoded: dict[tuple[str, ...], Rows] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.set_schema(self.schema)

    def set_schema(self, schema: dict[str, Any]) -> None:
        """Take a schema; keep it even when it is not complete yet, and say what is missing."""
        self.schema, self.encoded, self.version = schema, {}, uuid.uuid4().hex
        try:
            self.domain, self.problem = domain_from_json(schema), ""
            self.rows(self.domain.names)
        except InputError as error:
            self.domain, self.problem = None, str(error)

    def protect(self, person: str | None, most_rows: int) -> None:
        """Protect people with at most `most_rows` rows each, named by the column `person`; None: single rows."""
        if (person, most_rows) != (self.person, self.most_rows):
            self.person, self.most_rows = person, most_rows
            self.set_schema(self.schema)

    def rows(self, names: tuple[str, ...]) -> Rows:
        """The records encoded in the named columns, once."""
        if names not in self.encoded:
            self.encoded[names] = domain_from_json(self.schema).project(names).encode(self.limited(names))
        return self.encoded[names]

    def limited(self, names: tuple[str, ...]) -> pd.DataFrame:
        """The rows that count: all, or at most so many of each person, by what they say in the named columns."""
        return self.frame if self.person is None else limit_rows(self.frame, self.person, self.most_rows, names)

    @property
    def kept(self) -> pd.DataFrame:
        """The rows that count where all columns of the schema are used."""
        return self.limited(() if self.domain is None else self.domain.names)

    @property
    def peeked(self) -> bool:
        """Whether its schema was read off the records."""
        return bool(self.schema.get("peeked"))

    @property
    def tag(self) -> Tag:
        """Where its schema comes from."""
        return Tag.PEEK if self.peeked else Tag.TYPED if self.uploaded else Tag.PUBLIC

    @property
    def promise(self) -> str:
        """Whom the guarantee protects, in words."""
        if self.person is None:
            return "one row, not one person: somebody with several rows is protected less"
        return f"one person with at most {self.most_rows} row{'s' * (self.most_rows > 1)}"
