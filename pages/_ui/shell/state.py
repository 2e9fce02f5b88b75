"""What survives a page change: the table, its schema and what was made of them, one object a session."""

import math
import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.data import samples
from dpcore.data.domain import Domain, Rows
from dpcore.data.readers import Reading, limit_rows
from dpcore.data.schema import ADVICE, domain_from_json, domain_to_json, propose
from dpcore.errors import InputError
from dpcore.tags import Tag

STAKEHOLDER = "stakeholder"
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
SAMPLES = {
    "census": ("Invented census (20,000 people)", samples.census),
    "berkeley": ("Berkeley admissions 1973 (4,526 applicants)", samples.berkeley),
    "titanic": ("Titanic 1912 (2,201 people)", samples.titanic),
}


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
            self.encoded[names] = domain_from_json(self.schema).project(names).encode(self.kept)
        return self.encoded[names]

    @property
    def kept(self) -> pd.DataFrame:
        """The rows that count: all, or at most so many of each person."""
        return self.frame if self.person is None else limit_rows(self.frame, self.person, self.most_rows)

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


@st.cache_resource(show_spinner=False)
def _sample(name: str) -> samples.Sample:
    return SAMPLES[name][1]()


def sample_table(name: str) -> Table:
    """A public sample as a table of the calling session."""
    sample = _sample(name)
    schema = domain_to_json(sample.domain)
    return Table(name, sample.frame, schema, sample.source, uploaded=False, population=sample.population)


def use_sample(name: str) -> Table:
    """Put a public sample into this session."""
    return keep(sample_table(name))


def use_upload(name: str, reading: Reading) -> Table:
    """Put an uploaded table into this session; its bounds are for a person to fill in. Dates and free text stay out."""
    columns = {n: spec for n, spec in propose(reading.frame)["columns"].items() if spec["kind"] not in ADVICE}
    return keep(Table(name, reading.frame, {"columns": columns}, f"Read as {reading.how}.", uploaded=True))


def keep(table: Table) -> Table:
    """Make `table` this session's table, and let the address name it if it is a sample."""
    st.session_state["_table"] = table
    if not table.uploaded:
        st.query_params["sample"] = table.name
    return table


def forget() -> None:
    """Drop this session's table and everything that was made of it."""
    for key in [k for k in st.session_state if str(k).startswith(("_", "schema", "upload"))]:
        del st.session_state[key]
    st.query_params.pop("sample", None)


def table() -> Table:
    """The table of the calling session: an upload, else the sample that the address names, else the first."""
    kept: Table | None = st.session_state.get("_table")
    named = st.query_params.get("sample", "")
    if kept is None:
        return use_sample(named if named in SAMPLES else next(iter(SAMPLES)))
    if not kept.uploaded and named in SAMPLES and named != kept.name:
        return use_sample(named)
    return kept


def shared() -> dict[str, Any]:
    """Keyword arguments for a widget whose value survives page changes; in the address, but for uploads never there."""
    return {"persist_state": "session"} if table().uploaded else {"bind": "query-params"}


def looked(table: Table) -> bool:
    """Whether this tab has shown something of the records of an upload with these columns and as many rows."""
    return table.uploaded and _look(table) in st.session_state.get("looked", ())


def look(table: Table) -> None:
    """Remember that something of an upload's records was shown; forgetting the table does not undo it."""
    if table.uploaded:
        st.session_state["looked"] = {*st.session_state.get("looked", ()), _look(table)}


def _look(table: Table) -> tuple:
    return tuple(sorted(map(str, table.frame.columns))), len(table.frame)


def stakeholder() -> bool:
    """Whether this tab shows only what is public, typed or paid for: since the address said `?view=stakeholder`."""
    if (asked := st.query_params.get("view")) is not None:
        st.session_state["view"] = asked
    return st.session_state.get("view") == STAKEHOLDER


def public_host() -> bool:
    """Whether others than this machine's user may reach this server: by its address, or through a proxy by a name."""
    hosts = st.get_option("server.allowedHosts")
    return st.get_option("server.address") not in LOOPBACK or not hosts or not set(hosts) <= LOOPBACK


def size_words(cells: int) -> str:
    """A number of cells a person can read."""
    return f"{cells:,}" if cells < 10**9 else f"about 10^{math.floor(math.log10(cells))}"
