"""The files of a release, and the program that verifies it.

They are synthetic rows, weights, answers, a settings card and a claim. Only released objects and
public facts come here, never a row.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..accuracy.column_views import view_group
from ..accuracy.intervals.cell_intervals import cell_intervals
from ..accuracy.intervals.independence_test import run_independence_test
from ..accuracy.intervals.question_intervals import independent_row_count
from ..accuracy.intervals.stored_tables import tables_to_arrays
from ..accuracy.intervals.unbiased_tables import unbiased_tables
from ..accuracy.meaning_of_epsilon import Promise
from ..accuracy.usefulness import promised_error, suitable_uses
from ..core.numbers import unit_noun
from ..core.types import Array, Json
from ..evaluation.predicted_errors import PredictedErrors
from ..models.releases import Histogram, Release, ReleasedParameter, UnbiasedAnswers
from ..privacy.noisy_answers import NoisyAnswers
from ..problems import query_text
from ..problems.losses import SquaredDistance
from ..problems.parse_tasks import FEATURE_SCALE_TEXT
from ..queries import Marginals, Workload
from ..schema.domain import Domain
from .data_set import Reservation
from .draw import DrawnRelease
from .evidence import registry, verifier
from .evidence.card import NO_PICTURE, card_page
from .evidence.column_pictures import draw_column_pictures
from .evidence.facts_label import label_svg
from .evidence.proof import derive_proof, proof_page
from .evidence.review import board_page, review_page
from .evidence.standalone_verifier import VERIFIER_SOURCE
from .facts import release_facts
from .preparation import Prepared, PreparedLearning, PreparedRelease

MAX_WEIGHT_CELLS = 2_000_000  # cells up to which weights are written
MAX_CSV_WEIGHT_CELLS = 100_000  # cells up to which they are also written as text
MAX_TESTED_CELLS = 20_000  # cells of the pairs of columns that are tested for a link
FORMULA_PREFIXES = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
)  # with which a spreadsheet takes a text for a formula


def write_release_files(
    draft_folder: Path,
    ready: PreparedRelease,
    reservation: Reservation,
    drawing: DrawnRelease,
    predicted: PredictedErrors | None,
    *,
    schema: Json,
    account: Json,
    measuring_entries: Mapping[str, int],
) -> Json:
    """Write all files but the signature into `draft_folder`; return the facts with file hashes.

    The folder is the draft. Where the request says `neutralize`, texts that a spreadsheet would
    take for formulas get an apostrophe in front, in CSV files. `schema` is one that was measured
    with this release, to be used again, or empty. `account` is that of the data set, and
    `measuring_entries` are the columns that its earlier releases measured.
    """
    workload = ready.problem.workload
    facts = release_facts(
        ready, reservation, drawing.noise, account["releases"][-1], measuring_entries
    )
    if drawing.rows is not None and ready.request.unit.row_totals:
        facts["synthetic_people"] = _synthetic_people_facts(drawing.rows)
    unbiased_answers = unbiased_tables(drawing.release, drawing.measurements, workload.domain)
    np.savez_compressed(
        draft_folder / "tables.npz", allow_pickle=False, **tables_to_arrays(unbiased_answers)
    )
    population_rows = independent_row_count(facts["protects"])
    tables = _release_tables(workload, drawing, unbiased_answers, population_rows)
    for name, table in tables.items():
        _write_table(draft_folder, name, table, neutralize=ready.request.neutralize)
    if schema:
        _write_json(draft_folder / "schema.json", schema)
    facts["promise"] = facts["promise"] | {"means": Promise.of_release(facts).to_json()}
    facts = facts | {
        "files": verifier.hashes(draft_folder),
        "errors": _standard_error_summary(tables["answers"]),
        "utility": _utility(unbiased_answers, workload, facts, predicted),
    }
    _write_json(draft_folder / "release.json", facts)
    _write_json(draft_folder / "account.json", account)
    pictures = _column_pictures(drawing.release, unbiased_answers, facts)
    _write_documents(draft_folder, ready, facts, len(account["releases"]), pictures)
    return facts


def write_learning_files(
    draft_folder: Path,
    ready: PreparedLearning,
    reservation: Reservation,
    parameter: ReleasedParameter,
    noise: str,
    *,
    account: Json,
    measuring_entries: Mapping[str, int],
) -> Json:
    """Write all files of a release of learned numbers but the signature; return the facts.

    As `write_release_files`: there are no rows, and no tables. `noise` says how it was drawn.
    """
    facts = release_facts(ready, reservation, noise, account["releases"][-1], measuring_entries)
    facts["learned"] = _learned_facts(ready, parameter)
    values = facts["learned"]["answers"]
    answers = pd.DataFrame(
        {"query": [v["name"] for v in values], "answer": [v["value"] for v in values]}
    )
    _write_table(draft_folder, "answers", answers, neutralize=ready.request.neutralize)
    no_tables = UnbiasedAnswers(ready.domain, (), np.zeros(0), np.zeros(0))
    np.savez_compressed(
        draft_folder / "tables.npz", allow_pickle=False, **tables_to_arrays(no_tables)
    )
    facts["promise"] = facts["promise"] | {"means": Promise.of_release(facts).to_json()}
    uses = suitable_uses(no_tables, ready.problem.n, ready.problem.group).to_json()
    facts = facts | {
        "files": verifier.hashes(draft_folder),
        "errors": None,
        "utility": uses | {"promised": None, "predicted": None},
    }
    _write_json(draft_folder / "release.json", facts)
    _write_json(draft_folder / "account.json", account)
    _write_documents(draft_folder, ready, facts, len(account["releases"]), NO_PICTURE)
    return facts


def _learned_facts(ready: PreparedLearning, parameter: ReleasedParameter) -> Json:
    """Return the learned numbers, each with the public range that it was drawn from.

    `use` says how the coefficients of a prediction predict; "" for numbers that need no words.
    """
    low, high = ready.problem.region.corners
    rows = zip(parameter.names, parameter.x, low, high, strict=True)
    is_mean = isinstance(ready.problem.loss, SquaredDistance)
    has_features = not (ready.problem.location or is_mean)
    return {
        "task": ready.request.task,
        "radius": ready.request.radius,
        "use": FEATURE_SCALE_TEXT if has_features else "",
        "answers": [
            {"name": name, "value": float(x), "low": float(a), "high": float(b)}
            for name, x, a, b in rows
        ],
    }


def _synthetic_people_facts(rows: pd.DataFrame) -> Json:
    """Return how many synthetic people there are, and the column of their invented ids."""
    ids = rows.iloc[:, 0]
    return {"count": int(ids.nunique()), "column": str(ids.name)}


def _release_tables(
    workload: Workload,
    drawing: DrawnRelease,
    unbiased_answers: UnbiasedAnswers,
    population_rows: float,
) -> dict[str, pd.DataFrame]:
    """Return the tables of a release by the names of their files."""
    release = drawing.release
    measurements = drawing.measurements
    tables = {
        "answers": _answer_table(workload, release, measurements, unbiased_answers, population_rows)
    }
    tables |= _link_test_tables(unbiased_answers, population_rows)
    if drawing.rows is not None:
        tables["synthetic"] = drawing.rows
    other_measurements = [m for m in measurements if m.workload is not workload]
    if other_measurements:
        tables["measurements"] = pd.concat(
            [_measurement_table(m) for m in other_measurements], ignore_index=True
        )
    if isinstance(release, Histogram) and len(release.D) <= MAX_WEIGHT_CELLS:
        tables["weights"] = _weight_table(release.domain, release.D)
    return tables


def _write_table(draft_folder: Path, name: str, table: pd.DataFrame, *, neutralize: bool) -> None:
    """Write a table as CSV, and synthetic rows and weights also as Parquet.

    More than MAX_CSV_WEIGHT_CELLS weights are written as Parquet alone.
    """
    if name in ("synthetic", "weights"):
        _parquet_compatible(table).to_parquet(draft_folder / f"{name}.parquet", index=False)
    if name != "weights" or len(table) <= MAX_CSV_WEIGHT_CELLS:
        csv_table = neutralize_formulas(table) if neutralize else table
        csv_table.to_csv(draft_folder / f"{name}.csv", index=False)


def _utility(
    unbiased_answers: UnbiasedAnswers,
    workload: Workload,
    facts: Json,
    predicted: PredictedErrors | None,
) -> Json:
    """Return what a release serves for, and how exact it is: promised and predicted."""
    protects = facts["protects"]
    utility = suitable_uses(
        unbiased_answers, protects["records"], protects["rows_per_person"]
    ).to_json()
    utility["promised"] = promised_error(unbiased_answers, workload)
    utility["predicted"] = None if predicted is None else predicted.to_json()
    return utility


def _column_pictures(release: Release, unbiased_answers: UnbiasedAnswers, facts: Json) -> Markup:
    """Return the pictures of the release's columns that are the least exact."""
    domain = unbiased_answers.domain
    whole_table = view_group(release, domain, {}, unbiased_answers=unbiased_answers)
    unit = unit_noun(facts["protects"]["rows_per_person"])
    return draw_column_pictures(whole_table, domain, facts["protects"]["records"], unit)


def _write_documents(
    draft_folder: Path, ready: Prepared, facts: Json, number: int, pictures: Markup
) -> None:
    """Write the pages about a release, its entry for a registry, and the program that checks it."""
    proof_text = derive_proof(
        facts["made_by"]["algorithm"],
        ready.request.algorithm,
        ready.plan,
        ready.problem,
        ready.composed_plan,
        shared_rows=ready.request.unit.shared_rows,
    )
    label = label_svg(facts, number)
    documents = {
        "card.html": card_page(facts, number, pictures=pictures, label=label),
        "label.svg": label,
        "board.html": board_page(facts, number),
        "review.html": review_page(facts, number),
        "proof.html": proof_page(proof_text),
        "registry.yaml": registry.registry_entry(facts, number),
        "verify.py": VERIFIER_SOURCE,
    }
    for name, text in documents.items():
        (draft_folder / name).write_text(text, encoding="utf-8")


def try_write_schema(folder: Path, schema: Json) -> bool:
    """Write a measured schema where no other file is released; return whether it was written.

    Without raising where the disk refuses.
    """
    try:
        folder.mkdir(exist_ok=True)
        _write_json(folder / "schema.json", schema)
    except OSError:
        return False
    return True


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def neutralize_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with an apostrophe before every text that begins like a formula.

    Text of a header or a cell; numbers stay.
    """
    safe_frame = frame.rename(columns=neutralize_formula)
    for i, name in enumerate(frame.columns):
        if frame[name].dtype.kind not in "iufb":
            safe_frame.isetitem(i, frame[name].map(neutralize_formula, na_action="ignore"))
    return safe_frame


def neutralize_formula(value: Any) -> Any:
    """Return the value, with an apostrophe before a text that a spreadsheet reads as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_PREFIXES) else value


def _answer_table(
    workload: Workload,
    release: Release,
    measurements: Sequence[NoisyAnswers],
    unbiased_answers: UnbiasedAnswers,
    n: float,
) -> pd.DataFrame:
    """Return every query with the release's answer and, if measured, its noisy answer.

    The noisy answer comes with its standard error. Cells of tables also have intervals at 95%, for
    the table and for the population; empty where there are none.
    """
    table = pd.DataFrame({"query": query_labels(workload), "answer": release.answers(workload)})
    if isinstance(release, UnbiasedAnswers) and isinstance(workload, Marginals):
        table["standard_error"] = release.standard_errors(workload)
    for m in measurements:
        if m.workload is workload:
            table["noisy_answer"] = m.values
            table["standard_error"] = m.stddev
    if isinstance(workload, Marginals):
        for name, values in cell_intervals(unbiased_answers, workload, n).items():
            table[name] = values
    return table


def _link_test_tables(unbiased_answers: UnbiasedAnswers, n: float) -> dict[str, pd.DataFrame]:
    """Return a table of the link tests of column pairs measured together, by file name.

    Each test as `ask --linked` makes it; no file where there is none.
    """
    test_rows = []
    cell_count = 0
    for S in sorted(S for S in unbiased_answers.part_slices if len(S) == 2):
        cell_count += np.prod([unbiased_answers.domain.shape[axis] for axis in S])
        if cell_count > MAX_TESTED_CELLS:
            break
        test = run_independence_test(
            unbiased_answers, [unbiased_answers.domain.names[axis] for axis in S], n
        )
        test_rows.append((*test.columns, test.p_value, test.statistic, test.words))
    columns = pd.Index(["column", "other_column", "p_value", "statistic", "in_words"])
    return {"links": pd.DataFrame(test_rows, columns=columns)} if test_rows else {}


def _standard_error_summary(answers: pd.DataFrame) -> Json | None:
    """Return the number of measured answers and the range of their standard errors.

    None where no answer has a measurement of its own.
    """
    if "standard_error" not in answers:
        return None
    standard_errors = answers["standard_error"].dropna()
    if not standard_errors.size:
        return None
    least, most = np.quantile(standard_errors.to_numpy(float), [0, 1])
    return {
        "answers": len(answers),
        "measured": len(standard_errors),
        "least": float(least),
        "most": float(most),
    }


def _measurement_table(m: NoisyAnswers) -> pd.DataFrame:
    """Return a table of the measured queries, with noisy answers and standard errors.

    They are measured in place of those asked.
    """
    return pd.DataFrame(
        {"query": query_labels(m.workload), "noisy_answer": m.values, "standard_error": m.stddev}
    )


def query_labels(workload: Workload) -> list[str]:
    """Return every query of a workload in words."""
    return [query_text(workload, j) for j in range(workload.m)]


def _weight_table(domain: Domain, D: Array) -> pd.DataFrame:
    """Return every cell of the domain, by its labels, with its weight."""
    codes = np.unravel_index(np.arange(len(D)), domain.shape)
    cells = [
        pd.Series(pd.Categorical.from_codes(code, c.labels))
        for c, code in zip(domain.columns, codes, strict=True)
    ]
    name = "weight"
    while name in domain.names:
        name += " (of the release)"
    return pd.concat([*cells, pd.Series(D)], axis=1).set_axis([*domain.names, name], axis=1)


def _parquet_compatible(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with columns of mixed values turned to text.

    Parquet columns have one type.
    """
    mixed_columns = [
        c
        for c in frame
        if frame[c].dtype == object and len({type(v) for v in frame[c].dropna().unique()}) > 1
    ]
    return frame.assign(**{c: frame[c].map(str, na_action="ignore") for c in mixed_columns})
