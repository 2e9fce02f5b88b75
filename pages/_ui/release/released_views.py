"""What a finished release shows of all columns and groups: its files alone, no table."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import domain_from_json
from dpcore.accuracy.intervals.stored_tables import tables_from_arrays
from dpcore.core.numbers import unit_noun
from dpcore.models.releases import Release, SyntheticRows, UnbiasedAnswers
from dpcore.schema.domain import Domain

from ..components import draw_tabs
from ..overview.all_columns import PanelSource, draw_panels
from ..overview.associations import draw_associations
from ..session import session


def draw_released_views(files: dict[str, bytes]) -> None:
    """Draw all columns of a release with the group that is clicked, and its associations."""
    source = released_source(files)
    draw_tabs(
        "released",
        {
            "All columns": lambda: _draw_columns(source),
            "Associations": lambda: draw_associations(source),
        },
    )


@st.fragment
def _draw_columns(source: PanelSource) -> None:
    """Draw all columns: only they are drawn anew at a click."""
    draw_panels(source)


def released_source(files: dict[str, bytes]) -> PanelSource:
    """Return what the files of a release show; they are read once."""
    claim = files["release.json"]
    return session().memoize("released", claim, lambda: _read_release(files))


def _read_release(files: dict[str, bytes]) -> PanelSource:
    facts = json.loads(files["release.json"])
    domain = domain_from_json(facts["schema"])
    with np.load(io.BytesIO(files["tables.npz"]), allow_pickle=False) as arrays:
        tables = tables_from_arrays(domain, dict(arrays))
    unbiased_answers = replace(tables, laplace=facts["promise"]["delta"] == 0)
    protection = facts["protects"]
    return PanelSource(
        key=f"released-{facts['ledger']['hash'][:12]}",
        domain=domain,
        release=_released_rows(files, domain, unbiased_answers),
        unbiased_answers=unbiased_answers,
        n=protection["records"],
        unit=unit_noun(protection["rows_per_person"]),
        rows=None,
        with_sidebar=False,
        epsilon=facts["promise"]["epsilon"],
    )


def _released_rows(
    files: dict[str, bytes], domain: Domain, unbiased_answers: UnbiasedAnswers
) -> Release:
    """Return the synthetic rows of a release, or its unbiased answers where it has no rows."""
    if "synthetic.parquet" not in files:
        return unbiased_answers
    frame = pd.read_parquet(io.BytesIO(files["synthetic.parquet"]))
    rows = domain.encode(frame)
    return SyntheticRows(domain, rows.values, rows.weights)
