"""Answer questions from a real release, with intervals: for the table, and for the population it comes from."""

import argparse
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..data.readers import read_json
from ..data.schema import domain_from_json
from ..errors import InputError
from ..evaluation.run import real_answers
from ..intervals.known import values_of
from ..intervals.questions import KINDS, Interval, answer, compare, independent
from ..intervals.stored import from_arrays
from ..parsing.questions import Question, understand
from ..releases import Records, UnbiasedAnswers
from .arguments import real
from .files import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `ask`."""
    parser.add_argument("release", metavar="RELEASE_DIR", help="the folder that `release` wrote")
    parser.add_argument("questions", nargs="+", metavar="QUESTION", help="such as 'sex = Female and age > 50'")
    parser.add_argument("--compare", choices=KINDS, help="of two questions: the first against the second")
    parser.add_argument(
        "--level", type=real("--level"), default=0.95, help="how often intervals hold (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")


def execute(chosen: argparse.Namespace) -> None:
    """Read the release, no table; answer; print."""
    if chosen.compare and len(chosen.questions) != 2:
        raise InputError(f"--compare {chosen.compare} takes two questions, {len(chosen.questions)} are given")
    folder = Path(chosen.release)
    facts = read_json(str(folder / "release.json"))
    if not isinstance(facts, dict) or not {"schema", "protects", "promise"} <= set(facts):
        raise InputError(f"{chosen.release}: its release.json is none that this program wrote")
    domain = domain_from_json(facts["schema"])
    n, laplace = independent(facts["protects"]), facts["promise"]["delta"] == 0
    try:
        with np.load(folder / "tables.npz", allow_pickle=False) as told:
            known = from_arrays(domain, dict(told))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{chosen.release}: tables.npz cannot be read, so that nothing can be bounded") from error
    questions = [understand(text, domain) for text in chosen.questions]
    for question in questions:
        for note in question.notes:
            tell("note", note)
    said = [_estimate(folder, known, question) for question in questions]
    if chosen.compare:
        both = None if None in said else (said[0], said[1])
        found = [
            compare(known, *questions, n, chosen.compare, estimate=both, level=chosen.level, laplace=laplace)  # type: ignore[arg-type]
        ]
    else:
        found = [
            answer(known, q, n, estimate=e, level=chosen.level, laplace=laplace)
            for q, e in zip(questions, said, strict=True)
        ]
    if chosen.json:
        print(json.dumps([interval.to_json() for interval in found], indent=1))
    else:
        print("\n".join(line(interval) for interval in found))


def line(interval: Interval) -> str:
    """An interval in one line."""
    value = "-" if interval.estimate is None else f"{interval.estimate:.4g}"
    if interval.low is None or interval.high is None:
        return f"{interval.question}: {value} ({interval.how})"
    people = "population -"
    if interval.population_low is not None and interval.population_high is not None:
        people = f"population {interval.population_low:.4g} to {interval.population_high:.4g}"
    table = f"table {interval.low:.4g} to {interval.high:.4g}"
    return f"{interval.question}: {value}, {table}, {people} at {interval.level:g} ({interval.how})"


def _estimate(folder: Path, known: UnbiasedAnswers, question: Question) -> float | None:
    """What the release answers: its weights, else its synthetic rows, else its unbiased tables."""
    domain = known.domain
    weights, rows = folder / "weights.parquet", folder / "synthetic.parquet"
    if weights.exists():
        D = pd.read_parquet(weights).iloc[:, -1].to_numpy(dtype=float)
        return float(question.workload.answers(D)[0])
    if rows.exists():
        found = domain.encode(pd.read_parquet(rows))
        return float(Records(domain, found.values, found.weights).answers(question.workload)[0])
    axes, _ = values_of(question.workload)
    return float(known.answers(question.workload)[0]) if known.within(axes) else None


def told(known: UnbiasedAnswers, texts: list[str], release: Any, rows: Any, n: float, laplace: bool) -> list[dict]:
    """Questions of a run: real answers (a private peek) beside what the release says of them."""
    out = []
    for text in texts:
        question = understand(text, known.domain)
        estimate = float(release.answers(question.workload)[0])
        found = answer(known, question, n, estimate=estimate, laplace=laplace)
        out.append({"real": float(real_answers(rows, question.workload)[0]), **found.to_json()})
    return out
