"""A table in a session: its records, what is public about it, and whom it protects."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dpcore.data.domain import Domain, Rows
from dpcore.data.privacy_unit import PrivacyUnit
from dpcore.data.schema import domain_from_json
from dpcore.errors import InputError
from dpcore.tags import Tag


@dataclass(eq=False)
class Table:
    """A table in this session: its schema as JSON, and the domain once the schema is complete (else what is wrong).

    `unit` is whom the guarantee protects.
    """

    name: str
    frame: pd.DataFrame
    schema: dict[str, Any]
    source: str
    uploaded: bool
    population: np.ndarray | None = None
    unit: PrivacyUnit = PrivacyUnit()
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

    def protect(self, unit: PrivacyUnit) -> None:
        """Protect `unit` from now on."""
        if unit != self.unit:
            self.unit = unit
            self.set_schema(self.schema)

    def rows(self, names: tuple[str, ...]) -> Rows:
        """The records encoded in the named columns, once."""
        if names not in self.encoded:
            domain = domain_from_json(self.schema).project(names)
            self.encoded[names] = domain.encode(self.unit.limited(self.frame, names))
        return self.encoded[names]

    @property
    def kept(self) -> pd.DataFrame:
        """The rows that count where all columns of the schema are used."""
        return self.unit.limited(self.frame, () if self.domain is None else self.domain.names)

    @property
    def peeked(self) -> bool:
        """Whether its schema was read off the records."""
        return bool(self.schema.get("peeked"))

    @property
    def tag(self) -> Tag:
        """Where its schema comes from."""
        return Tag.PEEK if self.peeked else Tag.TYPED if self.uploaded else Tag.PUBLIC
