"""Score another tool's synthetic table against the real one (uses real data), on the same questions and baselines.

For what --queries may ask, see: python -m dpcore run --help

Two examples:
  python -m dpcore score people.csv synthetic.csv --schema s.json --queries marginals:3
  python -m dpcore score people.csv synthetic.csv --schema s.json --queries ranges:age --json scores.json
"""

from argparse import Namespace

from ... import Marginals, QueryRelease, read_table
from ...core.provenance import Tag
from ...core.types import Json
from ...data.readers import read
from ...evaluation.error_diagnosis import baselines
from ...evaluation.run import ERRORS, compare
from ...models.releases import Records
from ..arguments import argument
from ..output_files import check_writable, write_json
from ..table_arguments import QUESTIONS, asked, columns, useful

WORST = 10  # queries listed

ARGUMENTS = (
    argument("real", "REAL", "the real table: a .csv, .tsv or .parquet file"),
    argument("synthetic", "SYNTH", "any tool's synthetic table with the same columns"),
    *QUESTIONS,
    argument("--json", "out.json", "write the errors, the baselines and the worst queries"),
)


def execute(chosen: Namespace) -> None:
    """Read both tables by one schema, compare their answers, print and write."""
    check_writable(chosen.json)
    _, workload = asked(chosen, known=True)
    domain = workload.domain
    real = domain.encode(read_table(chosen.real, format=domain.file))
    rows = domain.encode(read(chosen.synthetic).frame)
    synthetic = Records(domain, rows.values, rows.weights)
    comparison = compare(synthetic, real, workload)
    final = comparison.errors.to_json()
    final["k_marginal"] = compare(synthetic, real, Marginals.pairs(domain)).errors.k_marginal
    summary: Json = {
        "n": real.n,
        "synthetic_rows": rows.n,
        "cells": domain.size,
        "queries": workload.m,
        "tag": Tag.PEEK,
        "as_exact_as_sample": final["as_exact_as_sample"],
        "k_marginal": final["k_marginal"],
        "final": final,
        "baselines": {
            name: {"words": b.words, **b.errors.to_json()}
            for name, b in baselines(QueryRelease(workload, real.n), real).items()
        },
        "worst": [
            {
                "query": dict(workload.label(j)),
                "real": float(comparison.real[j]),
                "synthetic": float(comparison.synthetic[j]),
            }
            for j in comparison.worst(WORST)
        ],
    }
    write_json(chosen.json, summary)
    print(f"n={real.n} synthetic_rows={rows.n} combinations={domain.size} queries={workload.m}")
    print("errors against the real table (uses real data – do not publish):")
    print(f"{'':>20} {columns(ERRORS)}")
    for name, values in {"this table": summary["final"], **summary["baselines"]}.items():
        print(f"{name:>20} {columns(values[n] for n in ERRORS)}")
    print(useful(final))
