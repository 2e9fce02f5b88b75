"""Another tool's synthetic table on the same chart: the twin of the command `score`."""

import streamlit as st

from dpcore import InputError
from dpcore.data.readers import MAX_UPLOADED_CELLS, load_table
from dpcore.evaluation.run import Comparison, compare_with_rows
from dpcore.models.releases import SyntheticRows

from ..session import Table, escape_markdown, owner, printable_text
from .sweep_jobs import Sweep

FILE_TYPES = ["csv", "tsv", "parquet", "xlsx"]


def load_other_table(table: Table, sweep: Sweep) -> tuple[str, Comparison] | None:
    """Draw an uploader for another tool's table; return its name and its comparison, or None.

    The comparison has its answers beside the real ones.
    """
    if owner.has_samples_only():
        st.caption(owner.samples_only_text())
        return None
    help_text = (
        "Any table with the same columns and values. It becomes a horizontal line of the chart."
    )
    upload = st.file_uploader(
        "Synthetic table", FILE_TYPES, key=f"other-{table.version}", help=help_text
    )
    if upload is None or sweep.problem is None or sweep.rows is None:
        return None
    domain = sweep.problem.domain
    try:
        synthetic = domain.encode(load_table(upload, upload.name, MAX_UPLOADED_CELLS).frame)
    except InputError as error:
        st.error(escape_markdown(error, 400))
        return None
    comparison = compare_with_rows(
        SyntheticRows(domain, synthetic.values, synthetic.weights),
        sweep.rows,
        sweep.problem.workload,
    )
    errors = comparison.errors
    st.caption(
        f"{escape_markdown(upload.name)}: {synthetic.n:,} rows. Its largest error is "
        f"{100 * errors.max_error:.2g} points, "
        f"{100 * errors.mean_error:.2g} on average. Its privacy is not known here."
    )
    return printable_text(upload.name, 24), comparison
