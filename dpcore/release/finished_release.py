"""Read a finished release from its files alone: its facts, its noisy tables, what it answers."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ..accuracy.intervals.question_intervals import independent_row_count
from ..accuracy.intervals.stored_tables import tables_from_arrays
from ..accuracy.intervals.unbiased_tables import axes_and_values
from ..core.errors import InputError
from ..core.types import Json, frozen
from ..data.input_files import (
    FileSource,
    open_regular_file,
    reader_errors_as_input_error,
)
from ..data.privacy_unit import PrivacyUnit
from ..data.readers import read_json, read_table
from ..models.releases import Histogram, Release, SyntheticRows, UnbiasedAnswers
from ..privacy.accounting import ACCOUNTANT_BY_NAME, Budget
from ..queries.questions import Question
from ..schema.domain import Domain
from ..schema.schema_json import domain_from_json

FACTS_FILE = "release.json"
TABLES_FILE = "tables.npz"
WEIGHTS_FILE = "weights.parquet"
ROWS_FILE = "synthetic.parquet"
MAX_ROWS = 1e15  # that a release can protect
MAX_FILE_BYTES = 4_000_000_000  # largest file of a release, packed and unpacked
MAX_TABLES = 1_000_000  # noisy tables of a release


@frozen
class FinishedRelease:
    """A release read from its files: where it lies, its facts, and its noisy tables."""

    name: str
    facts: Json
    unbiased_answers: UnbiasedAnswers

    @property
    def domain(self) -> Domain:
        """The schema that the release states."""
        return self.unbiased_answers.domain

    @property
    def is_adaptive(self) -> bool:
        """Whether earlier answers decided what was measured later."""
        return bool(self.facts["made_by"]["adaptive"])


def files_in_folder(folder: Path) -> dict[str, FileSource]:
    """Return where the files lie that answer questions: those that a release may lack if there."""
    optional = [name for name in (WEIGHTS_FILE, ROWS_FILE) if (folder / name).exists()]
    return {name: folder / name for name in (FACTS_FILE, TABLES_FILE, *optional)}


def read_finished_release(files: Mapping[str, FileSource], name: str) -> FinishedRelease:
    """Return a release's facts and noisy tables; InputError names a damaged file.

    Args:
        files: The release's files by their names.
        name: Of the release, to be told in errors.

    """
    facts = read_json(files[FACTS_FILE], _file_label(name, FACTS_FILE))
    with _release_errors(name, FACTS_FILE):
        if "learned" in facts:
            numbers = (f"{n['name']} = {n['value']:.6g}" for n in facts["learned"]["answers"])
            raise InputError(
                f"this release holds what was learned, {', '.join(numbers)}; it answers no "
                "questions. Its card.html says how it was made"
            )
        domain = domain_from_json(facts["schema"])
        if not 1 <= independent_row_count(facts["protects"]) <= MAX_ROWS:
            raise InputError("it protects no rows, or more than there can be")
        Budget(facts["promise"]["epsilon"], facts["promise"]["delta"])
        ACCOUNTANT_BY_NAME[facts["promise"]["accounting"]]
        # these are read later: a KeyError here names this file
        _ = facts["dataset"]["name"]
        _ = facts["dataset"]["version"]
        _ = facts["ledger"]
        _ = facts["made_by"]["adaptive"]
    with (
        _release_errors(name, TABLES_FILE),
        open_regular_file(files[TABLES_FILE], MAX_FILE_BYTES) as file,
        np.load(file, allow_pickle=False) as arrays,
    ):
        size = sum(part.file_size for part in arrays.zip.infolist())
        if size > MAX_FILE_BYTES:
            raise InputError(f"unpacks into {size:,} bytes, at most {MAX_FILE_BYTES:,} are read")
        sets = np.asarray(arrays["sets"])
        if len(sets) > MAX_TABLES:
            raise InputError(f"holds {len(sets):,} tables, at most {MAX_TABLES:,} are read")
        unbiased_answers = tables_from_arrays(domain, dict(arrays))
    laplace = facts["promise"]["delta"] == 0
    return FinishedRelease(name, facts, replace(unbiased_answers, laplace=laplace))


def read_weights(files: Mapping[str, FileSource], release: FinishedRelease) -> Histogram | None:
    """Return the weights of all combinations; None where a release has no such file."""
    table = _read_optional_table(files, WEIGHTS_FILE, release.name)
    if table is None:
        return None
    domain = release.domain
    with _release_errors(release.name, WEIGHTS_FILE):
        D = table.iloc[:, -1].to_numpy(dtype=float)
        if D.shape != (domain.size,) or not np.isfinite(D).all():
            raise InputError(
                f"its {len(D):,} weights do not fit the {domain.size:,} combinations of the schema"
            )
        return Histogram(domain, D)


def read_synthetic_rows(
    files: Mapping[str, FileSource], release: FinishedRelease
) -> SyntheticRows | None:
    """Return the synthetic rows of a release; None where it has no such file.

    Where they are those of synthetic people, these count once, as the people of the table do: the
    rows of each share one vote.
    """
    table = _read_optional_table(files, ROWS_FILE, release.name)
    if table is None:
        return None
    domain = release.domain
    with _release_errors(release.name, ROWS_FILE):
        people = release.facts.get("synthetic_people")
        if people is None:
            rows = domain.encode(table)
        else:
            row_limit = release.facts["protects"]["row_limit"]
            unit = PrivacyUnit(people["column"], row_limit, counts_people=True)
            rows = unit.encode(domain, table)
        return SyntheticRows(domain, rows.values, rows.weights)


def read_model(files: Mapping[str, FileSource], release: FinishedRelease) -> Release | None:
    """Return what a release answers questions with: its weights, else its rows, else None."""
    return read_weights(files, release) or read_synthetic_rows(files, release)


def estimate_answer(
    model: Release | None, unbiased_answers: UnbiasedAnswers, question: Question
) -> float | None:
    """Return a release's answer to a question, from its model or its noisy tables.

    None where it has no model and measured nothing of the question's columns.
    """
    if model is not None:
        return float(model.answers(question.workload)[0])
    axes, _ = axes_and_values(question.workload)
    if not unbiased_answers.measured_subsets(axes):
        return None
    return float(unbiased_answers.answers(question.workload)[0])


def _read_optional_table(
    files: Mapping[str, FileSource], file_name: str, name: str
) -> pd.DataFrame | None:
    """Return the table in a file of a release; None where the release has no such file."""
    if file_name not in files:
        return None
    return read_table(files[file_name], _file_label(name, file_name))


def _release_errors(name: str, file_name: str) -> AbstractContextManager[None]:
    """Return the context that turns an error about a file into an InputError that names it."""
    return reader_errors_as_input_error(_file_label(name, file_name), "part of a release")


def _file_label(name: str, file_name: str) -> str:
    return f"{Path(name) / file_name}" if name else file_name
