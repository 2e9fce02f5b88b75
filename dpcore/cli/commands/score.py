"""Score another tool's synthetic table against the real one (uses real data), on the same questions
and baselines.

A value that the schema does not have, as 70.185 for a whole number or False for FALSE, is counted as
not valid, and scored at the nearest value of the schema; a row that has no such value is left out.

For what --queries may ask, see: python -m dpcore run --help

Two examples:
  python -m dpcore score people.csv synthetic.csv --schema s.json --queries marginals:3
  python -m dpcore score people.csv synthetic.csv --schema s.json --queries ranges:age --json scores.json
"""

from argparse import Namespace
from dataclasses import replace

from ... import Marginals, QueryRelease, read_table
from ...core.provenance import Provenance
from ...core.types import Json
from ...data.readers import load_table
from ...evaluation.error_diagnosis import baseline_errors
from ...evaluation.foreign_rows import ForeignRows, encode_foreign_rows
from ...evaluation.run import ERROR_NAMES, compare_with_rows
from ...models.releases import SyntheticRows
from ..arguments import argument
from ..output_files import check_writable, write_json
from ..table_arguments import (
    QUERY_ARGUMENTS,
    format_columns,
    load_workload,
    queries_from_arguments,
    usefulness_text,
)

WORST_QUERY_COUNT = 10  # queries listed

ARGUMENTS = (
    argument("real", "REAL", "the real table: a .csv, .tsv or .parquet file"),
    argument("synthetic", "SYNTH", "any tool's synthetic table with the same columns"),
    *QUERY_ARGUMENTS,
    argument("--json", "out.json", "write the errors, the baselines and the worst queries"),
)


def execute(args: Namespace) -> None:
    """Read both tables by one schema, compare their answers, print and write."""
    check_writable(args.json)
    workload = load_workload(queries_from_arguments(args, args.real, require_known=True))
    domain = workload.domain
    real = domain.encode(read_table(args.real, format=domain.file))
    foreign = encode_foreign_rows(domain, load_table(args.synthetic).frame)
    rows = foreign.rows
    synthetic = SyntheticRows(domain, rows.values, rows.weights)
    comparison = compare_with_rows(synthetic, real, workload)
    pairs = Marginals.k_marginal_pairs(domain)
    k_marginal = compare_with_rows(synthetic, real, pairs).errors.k_marginal
    errors = replace(comparison.errors, k_marginal=k_marginal)
    summary: Json = {
        "n": real.n,
        "synthetic_rows": rows.n,
        "not_valid": foreign.invalid_counts,
        "rows_left_out": foreign.dropped_count,
        "cells": domain.size,
        "queries": workload.m,
        "tag": Provenance.REAL_DATA,
        "as_exact_as_sample": errors.as_exact_as_sample,
        "k_marginal": errors.k_marginal,
        "final": errors.to_json(),
        "baselines": {
            name: {"words": b.description, **b.errors.to_json()}
            for name, b in baseline_errors(QueryRelease(workload, real.n), real).items()
        },
        "worst": [
            {
                "query": dict(workload.label(j)),
                "real": float(comparison.real[j]),
                "synthetic": float(comparison.synthetic[j]),
            }
            for j in comparison.worst(WORST_QUERY_COUNT)
        ],
    }
    write_json(args.json, summary)
    print(f"n={real.n} synthetic_rows={rows.n} combinations={domain.size} queries={workload.m}")
    _print_invalid_counts(foreign)
    print("errors against the real table (uses real data – do not publish):")
    print(f"{'':>20} {format_columns(ERROR_NAMES)}")
    for name, values in {"this table": summary["final"], **summary["baselines"]}.items():
        print(f"{name:>20} {format_columns(values[n] for n in ERROR_NAMES)}")
    print(usefulness_text(errors))


def _print_invalid_counts(foreign: ForeignRows) -> None:
    """Print how many cells of each column were not valid, and how many rows were left out."""
    for name, count in foreign.invalid_counts.items():
        print(f"{name!r} not valid: {count:,} of {foreign.row_count:,}")
    if foreign.dropped_count:
        print(
            f"left out: {foreign.dropped_count:,} of {foreign.row_count:,} rows, with values "
            "that are near none of the schema's"
        )
