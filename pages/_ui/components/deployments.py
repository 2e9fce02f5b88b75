"""The ε of public deployments, listed beside a slider: never without unit, model and year."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import streamlit as st

DEPLOYMENTS_FILE = Path(__file__).parents[3] / "assets" / "deployments.csv"
SOURCE = "opendp/deployments-registry-data, commit 3e9c812 of 2026-07-15 (MIT)"
COMPARISON_WARNING = (
    "A bare ε says little. What it protects differs from line to line: a person, a person's day, "
    "one event. So do "
    "who is trusted, and how much is released."
)


@cache
def load_deployments() -> pd.DataFrame:
    """Return the known deployments of differential privacy that state an ε, smallest ε first.

    The columns are name, curator, year, variant, ε, δ, unit, model.
    """
    complete_entries = pd.read_csv(DEPLOYMENTS_FILE, comment="#").dropna(
        subset=["epsilon", "unit", "model", "year"]
    )
    return complete_entries.sort_values("epsilon", kind="stable", ignore_index=True)


def nearest_deployment(epsilon: float) -> pd.Series:
    """Return the deployment whose ε is nearest to `epsilon` by ratio."""
    table = load_deployments()
    ratios = table["epsilon"].to_numpy() / epsilon
    return table.iloc[int(np.abs(np.log(ratios)).argmin())]


def deployment_sentence(deployment: pd.Series) -> str:
    """Return a deployment in a line, with the facts without which its ε means nothing."""
    unit = deployment["unit"]
    model = str(deployment["model"]).lower()
    return (
        f"{deployment['name']} ({deployment['curator']}, {deployment['year']}): ε = "
        f"{deployment['epsilon']:g}, {unit}, {model} model"
    )


@cache
def deployments_table() -> pa.Table:
    """Return what is shown of the known deployments, ready to be sent to every tab."""
    table = load_deployments()
    table = table.assign(delta=table["delta"].map("{:g}".format, na_action="ignore").fillna("–"))
    columns = ["epsilon", "delta", "unit", "model", "year", "variant", "name", "curator"]
    names = {"epsilon": "ε", "delta": "δ", "unit": "protects", "model": "model"}
    return pa.Table.from_pandas(table[columns].rename(columns=names))


def draw_deployments(epsilon: float) -> None:
    """Draw a button that opens a table of all deployments, and names the nearest one.

    The table has the facts without which an ε means nothing, and a sentence that says so.
    """
    table = deployments_table()
    nearest = nearest_deployment(epsilon)
    with st.popover(f"{len(table)} real uses of ε", icon=":material/public:", type="tertiary"):
        st.text(f"Nearest to ε = {epsilon:g}: {deployment_sentence(nearest)}.")
        st.text(COMPARISON_WARNING)
        st.dataframe(table, hide_index=True, height=320)
        st.caption(f"Other entries of the registry state another parameter or none. {SOURCE}.")
