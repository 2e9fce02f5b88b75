"""Another tool's synthetic table on the same chart: the twin of the command `score`."""

import streamlit as st

from dpcore import InputError
from dpcore.data.readers import UPLOADED, read
from dpcore.evaluation.run import Comparison, compare
from dpcore.models.releases import Records

from ..session import Table, clean, plain
from .sweep_jobs import Sweep

KINDS = ["csv", "tsv", "parquet", "xlsx"]


def bring(table: Table, sweep: Sweep) -> tuple[str, Comparison] | None:
    """The uploader; the name of the other table, and its answers beside the real ones."""
    help_text = "Any table with the same columns and values. It becomes a horizontal line of the chart."
    upload = st.file_uploader("Synthetic table", KINDS, key=f"other-{table.version}", help=help_text)
    if upload is None or sweep.problem is None or sweep.rows is None:
        return None
    domain = sweep.problem.domain
    try:
        synthetic = domain.encode(read(upload, upload.name, UPLOADED).frame)
    except InputError as error:
        st.error(plain(error, 400))
        return None
    comparison = compare(Records(domain, synthetic.values, synthetic.weights), sweep.rows, sweep.problem.workload)
    errors = comparison.errors
    st.caption(
        f"{plain(upload.name)}: {synthetic.n:,} rows. Its largest error is {100 * errors.max_error:.2g} points, "
        f"{100 * errors.mean_error:.2g} on average. Its privacy is not known here."
    )
    return clean(upload.name, 24), comparison
