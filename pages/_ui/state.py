"""What survives a page change: the table, its schema and what was made of them, one object a session."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import samples
from dpcore.domain import Domain, Rows
from dpcore.errors import InputError
from dpcore.schema import domain_from_json, domain_to_json, propose

SAMPLES = {
    "census": ("Invented census (20,000 people)", samples.census),
    "berkeley": ("Berkeley admissions 1973 (4,526 applicants)", samples.berkeley),
}


@dataclass(eq=False)
class Table:
    """A table in this session: its schema as JSON, and the domain once the schema is complete (else what is wrong)."""

    name: str
    frame: pd.DataFrame
    schema: dict[str, Any]
    source: str
    uploaded: bool
    population: np.ndarray | None = None
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

    def rows(self, names: tuple[str, ...]) -> Rows:
        """The records encoded in the named columns, once."""
        if names not in self.encoded:
            assert self.domain is not None
            self.encoded[names] = self.domain.project(names).encode(self.frame)
        return self.encoded[names]


@st.cache_resource(show_spinner=False)
def _sample(name: str) -> samples.Sample:
    return SAMPLES[name][1]()


def use_sample(name: str) -> Table:
    """Put a public sample into this session."""
    sample = _sample(name)
    schema = domain_to_json(sample.domain)
    return keep(Table(name, sample.frame, schema, sample.source, uploaded=False, population=sample.population))


def use_upload(name: str, frame: pd.DataFrame) -> Table:
    """Put an uploaded table into this session; its bounds are for a person to fill in."""
    return keep(Table(name, frame, propose(frame), "", uploaded=True))


def keep(table: Table) -> Table:
    """Make `table` this session's table."""
    st.session_state["_table"] = table
    return table


def table() -> Table:
    """The table of the calling session; a newcomer's is the first sample."""
    return st.session_state.get("_table") or use_sample(next(iter(SAMPLES)))
