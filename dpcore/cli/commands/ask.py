"""Answer questions from a real release, with intervals: for the table, and for the population it comes from.

No row is read. The interval is exact where noisy tables give it. Columns that were not measured together get bounds
that are never too narrow. Where nothing was measured, it says so.

Two examples:
  python -m dpcore ask first 'sex = Female and age > 50'
  python -m dpcore ask first 'age > 50' 'age < 50' --compare ratio --with second --level 0.9
"""

import json
import math
import shlex
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ... import Budget, InputError, Run, domain_from_json, read_json, read_table
from ...accuracy.intervals.follow_up import Further, further
from ...accuracy.intervals.independence_test import linked
from ...accuracy.intervals.question_intervals import KINDS, Interval, adaptively, answer, compare_questions, independent
from ...accuracy.intervals.stored_tables import from_arrays
from ...accuracy.intervals.unbiased_tables import combined, components, values_of
from ...core.errors import written_out
from ...core.types import Json, frozen
from ...data.input_files import explained, opened
from ...evaluation.run import compare
from ...models.releases import Records, UnbiasedAnswers
from ...privacy.accounting import Accounting
from ...queries.questions import Question, understand
from ..arguments import argument, flag, real
from ..output_files import tell

MAX_RECORDS = 1e15  # that a release can protect
MOST_BYTES = 4_000_000_000  # largest file of a release, packed and unpacked

LINKED = "test whether two columns are linked, by what was measured of them together"
WITH = "another release of the same data set: what its noisy tables say is combined with the first's; may be repeated"
WITHIN = "also say what one more release must measure, at which epsilon, so that intervals are ± this share at most"
ARGUMENTS = (
    argument("release", "RELEASE_DIR", "the folder that `release` wrote"),
    argument("questions", "QUESTION", "such as 'sex = Female and age > 50'", nargs="*"),
    argument("--linked", ("A", "B"), LINKED, nargs=2),
    argument("--with", "RELEASE_DIR", WITH, action="append", default=[], dest="others"),
    argument("--compare", None, "of two questions: the first against the second", choices=KINDS),
    argument("--level", None, "how often intervals hold", type=real, default=0.95),
    argument("--within", "SHARE", WITHIN, type=real),
    flag("--json", "print JSON instead of lines"),
)


def execute(chosen: Namespace) -> None:
    """Read the release, not a table; answer the questions; print."""
    if bool(chosen.questions) == bool(chosen.linked):
        raise InputError("ask a question, or name two columns by --linked; one of both")
    if chosen.compare and len(chosen.questions) != 2:
        raise InputError(f"--compare {chosen.compare} takes two questions, {len(chosen.questions)} are given")
    if chosen.compare and chosen.within is not None:
        raise InputError("--within is worked out for questions on their own, without --compare")
    releases = [_read(name) for name in (chosen.release, *chosen.others)]
    _check_together(releases)
    unbiased_answers = combined([release.known for release in releases]) if chosen.others else releases[0].known
    domain, n = unbiased_answers.domain, independent(releases[0].facts["protects"])
    if chosen.linked:
        test = linked(unbiased_answers, chosen.linked, n)
        estimates = test.words
        if test.p_value is not None:
            estimates += f" p = {test.p_value:.3g}, from {test.repeats} tables"
        print(json.dumps(asdict(test), indent=1) if chosen.json else estimates)
        return
    questions = [understand(text, domain) for text in chosen.questions]
    for question in questions:
        for note in question.notes:
            tell("note", note)
    folder = None if chosen.others else Path(chosen.release)
    estimates = [_estimate(folder, unbiased_answers, question) for question in questions]
    if chosen.compare:
        estimate_pair: Any = None if None in estimates else (estimates[0], estimates[1])
        intervals = [
            compare_questions(
                unbiased_answers,
                questions[0],
                questions[1],
                n,
                chosen.compare,
                estimate=estimate_pair,
                level=chosen.level,
            )
        ]
    else:
        intervals = [
            answer(unbiased_answers, q, n, estimate=e, level=chosen.level)
            for q, e in zip(questions, estimates, strict=True)
        ]
    if any(one.facts["made_by"]["adaptive"] for one in releases):
        intervals = list(map(adaptively, intervals))
    follow_ups = (
        [] if chosen.within is None else [_more(releases[0].facts, unbiased_answers, q, chosen) for q in questions]
    )
    if chosen.json:
        interval_facts = list(map(asdict, intervals))
        print(
            json.dumps(
                [t | {"next": asdict(m)} for t, m in zip(interval_facts, follow_ups, strict=True)]
                if follow_ups
                else interval_facts,
                indent=1,
            )
        )
        return
    for i, interval in enumerate(intervals):
        print(line(interval))
        if follow_ups:
            print(f"  next: {written_out(_in_words(follow_ups[i]))}")


def line(interval: Interval) -> str:
    """An interval in one line."""
    question_text = written_out(interval.question)
    value = "-" if interval.estimate is None else f"{interval.estimate:.4g}"
    if interval.low is None:
        return f"{question_text}: {value} ({interval.how})"
    table_range = _span(interval.low, interval.high)
    population_range = _span(interval.population_low, interval.population_high)
    return (
        f"{question_text}: {value}, table {table_range}, population {population_range} at {interval.level:g} "
        f"({interval.how})"
    )


def _span(low: float | None, high: float | None) -> str:
    """Two ends in words; one without an upper end is so much or more."""
    if low is None:
        return "-"
    return f"{low:.4g} or more" if high is None else f"{low:.4g} to {high:.4g}"


def _more(facts: Json, known: UnbiasedAnswers, question: Question, chosen: Namespace) -> Further:
    n, promise = independent(facts["protects"]), facts["promise"]
    accounting = Accounting.GDP if promise["accounting"] == Accounting.GDP else Accounting.ZCDP
    return further(known, question, chosen.within, n, promise["delta"], accounting, level=chosen.level)


def _in_words(more: Further) -> str:
    if more.epsilon == 0:
        return f"within ± {more.within:g} already"
    epsilon = math.ceil(more.epsilon * 1000) / 1000
    return (
        f"for ± {more.within:g} release once more with --algorithm gaussian_maxent "
        f"--queries {shlex.quote(more.queries)} --epsilon {epsilon:g} --delta {more.delta:g}, "
        "then ask both together by --with"
    )


@frozen
class _Told:
    """A release read from its folder: its facts, and its noisy tables."""

    name: str
    facts: Json
    known: UnbiasedAnswers


@contextmanager
def _part(path: Path) -> Iterator[BinaryIO]:
    """A file of a release, opened; any error of a reader becomes an InputError that names the file."""
    with explained(str(path), "part of a release"), opened(path, MOST_BYTES) as file:
        yield file


def _read(name: str) -> _Told:
    """A release's facts and noisy tables; InputError names the file that is damaged."""
    folder = Path(name)
    facts = read_json(folder / "release.json")
    with _part(folder / "release.json"):
        domain = domain_from_json(facts["schema"])
        for key in ("name", "version"):
            facts["dataset"][key]
        if not 1 <= independent(facts["protects"]) <= MAX_RECORDS:
            raise InputError("it protects no rows, or more than there can be")
        Budget(facts["promise"]["epsilon"], facts["promise"]["delta"])
        Accounting(facts["promise"]["accounting"])
        _, _ = facts["ledger"], facts["made_by"]["adaptive"]  # both are read later: a KeyError here names this file
    with _part(folder / "tables.npz") as file, np.load(file, allow_pickle=False) as arrays:
        if (size := sum(part.file_size for part in arrays.zip.infolist())) > MOST_BYTES:
            raise InputError(f"unpacks into {size:,} bytes, at most {MOST_BYTES:,} are read")
        unbiased_answers = from_arrays(domain, dict(arrays))
    return _Told(name, facts, replace(unbiased_answers, laplace=facts["promise"]["delta"] == 0))


def _check_together(releases: list[_Told]) -> None:
    """Raise InputError unless the releases are distinct and of one data set: repeated noise is no evidence."""
    first, *others = releases
    for i, release in enumerate(others, 1):
        for key in ("name", "version"):
            if release.facts["dataset"][key] != first.facts["dataset"][key]:
                value, first_value = str(release.facts["dataset"][key])[:60], str(first.facts["dataset"][key])[:60]
                raise InputError(
                    f"{release.name}: is of data set {key} {value!r}, {first.name} of {first_value!r}; "
                    "only releases of the same rows are combined"
                )
        if release.facts["protects"] != first.facts["protects"]:
            raise InputError(f"{release.name}: protects other people than {first.name}; they are not combined")
        for earlier_release in releases[:i]:
            same_tables = np.array_equal(release.known.parts, earlier_release.known.parts) and len(release.known.parts)
            if release.facts["ledger"] == earlier_release.facts["ledger"] or same_tables:
                raise InputError(f"{release.name}: is the same release as {earlier_release.name}, and counts once")


def _estimate(folder: Path | None, known: UnbiasedAnswers, question: Question) -> float | None:
    """The release's answer from its weights, its synthetic rows or its unbiased tables; of several, these."""
    domain = known.domain
    weights, rows = (folder / f"{name}.parquet" if folder else None for name in ("weights", "synthetic"))
    if weights and weights.exists():
        with _part(weights) as file:
            D = read_table(file, weights.name).iloc[:, -1].to_numpy(dtype=float)
            if D.shape != (domain.size,) or not np.isfinite(D).all():
                raise InputError(f"its {len(D):,} weights do not fit the {domain.size:,} combinations of the schema")
            return float(question.workload.answers(D)[0])
    if rows and rows.exists():
        with _part(rows) as file:
            rows_in_domain = domain.encode(read_table(file, rows.name))
            return float(Records(domain, rows_in_domain.values, rows_in_domain.weights).answers(question.workload)[0])
    axes, values = values_of(question.workload)
    is_measured = known.within(axes) if folder else all(S in known.places for S in components(axes, values))
    return float(known.answers(question.workload)[0]) if is_measured else None


def told(known: UnbiasedAnswers, texts: list[str], run: Run, rows: Any) -> list[dict]:
    """The questions of a run: real answers (not for publishing) beside the release's."""
    answer_facts = []
    for text in texts:
        question = understand(text, known.domain)
        comparison = compare(run.release, rows, question.workload)  # type: ignore[arg-type]
        interval = answer(known, question, run.problem.effective_n, estimate=float(comparison.synthetic[0]))
        interval = adaptively(interval) if run.algorithm.adaptive else interval
        answer_facts.append({"real": float(comparison.real[0]), **asdict(interval)})
    return answer_facts
