"""Answer questions from a real release, with intervals: for the table, and for the population it
comes from.

No row is read. The interval is exact where noisy tables give it. Columns that were not measured
together get bounds that are never too narrow. Where nothing was measured, it says so.

Two examples:
  python -m dpcore ask first 'sex = Female and age > 50'
  python -m dpcore ask first 'age > 50' 'age < 50' --compare ratio --with second --level 0.9
"""

import json
import math
import shlex
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ... import Domain, InputError, Run
from ...accuracy.intervals.follow_up import FollowUpMeasurement, plan_follow_up
from ...accuracy.intervals.independence_test import run_independence_test
from ...accuracy.intervals.question_intervals import (
    COMPARISON_KINDS,
    Interval,
    comparison_interval,
    independent_row_count,
    mark_as_adaptive,
    question_interval,
    row_total_interval,
    row_total_question,
    row_total_scale,
)
from ...accuracy.intervals.unbiased_tables import (
    axes_and_values,
    combine_releases,
    query_components,
)
from ...core.errors import escape_control_chars
from ...core.types import Json, Texts, frozen
from ...evaluation.run import compare_with_rows
from ...models.releases import UnbiasedAnswers
from ...privacy.accounting import GdpAccountant, ZcdpAccountant
from ...queries.parse_queries import SUCCESSIONS, split_column_names
from ...queries.questions import Question, parse_question
from ...queries.succession_questions import succession_questions
from ...release.finished_release import (
    FinishedRelease,
    estimate_answer,
    files_in_folder,
    read_finished_release,
    read_model,
)
from ..arguments import PEOPLE, ROWS, argument, finite_number, flag
from ..output_files import print_message

QUESTION_HELP = (
    "such as 'sex = Female and age > 50', or successions:ward for all that follows what in two "
    "rows of a person"
)
LINKED_HELP = "test whether two columns are linked, by what was measured of them together"
WITH_HELP = (
    "another release of the same data set: what its noisy tables say is combined with "
    "the first's; may be repeated"
)
WITHIN_HELP = (
    "also say what one more release must measure, at which epsilon, so that intervals "
    "are ± this share at most"
)
COUNT_HELP = (
    f"what answers are about, where everyone counts once: shares of {PEOPLE}, or how many {ROWS} "
    f"there are (of a release that was made with --row-totals) (default: {PEOPLE})"
)
ARGUMENTS = (
    argument("release", "RELEASE_DIR", "the folder that `release` wrote"),
    argument("questions", "QUESTION", QUESTION_HELP, nargs="*"),
    argument("--linked", ("A", "B"), LINKED_HELP, nargs=2),
    argument("--with", "RELEASE_DIR", WITH_HELP, action="append", default=[], dest="others"),
    argument(
        "--compare",
        None,
        "of two questions: the first against the second",
        choices=COMPARISON_KINDS,
    ),
    argument("--count", None, COUNT_HELP, choices=(PEOPLE, ROWS)),
    argument("--level", None, "how often intervals hold", type=finite_number, default=0.95),
    argument("--within", "SHARE", WITHIN_HELP, type=finite_number),
    flag("--json", "print JSON instead of lines"),
)


def execute(args: Namespace) -> None:
    """Read the release, not a table; answer the questions; print."""
    _check_arguments(args)
    releases = [
        read_finished_release(files_in_folder(Path(name)), name)
        for name in (args.release, *args.others)
    ]
    _check_combinable(releases)
    unbiased_answers = releases[0].unbiased_answers
    if args.others:
        unbiased_answers = combine_releases([release.unbiased_answers for release in releases])
    n = independent_row_count(releases[0].facts["protects"])
    if args.linked:
        _print_independence_test(unbiased_answers, n, args)
        return
    questions = _read_questions(args.questions, unbiased_answers.domain)
    for question in questions:
        for note in question.notes:
            print_message("note", note)
    if args.count == ROWS:
        intervals = _row_totals(releases, unbiased_answers, questions, args)
    else:
        intervals = _intervals(releases, unbiased_answers, questions, n, args)
    if any(release.is_adaptive for release in releases):
        intervals = list(map(mark_as_adaptive, intervals))
    follow_ups = []
    if args.within is not None:
        facts = releases[0].facts
        follow_ups = [_plan_follow_up(facts, unbiased_answers, q, args) for q in questions]
    if args.json:
        _print_json(intervals, follow_ups)
        return
    for i, interval in enumerate(intervals):
        print(interval_text(interval))
        if follow_ups:
            print(f"  next: {escape_control_chars(_follow_up_text(follow_ups[i]))}")


def _read_questions(texts: Sequence[str], domain: Domain) -> list[Question]:
    """Return the questions of some texts, of successions one for each cell of their table."""
    questions = list[Question]()
    for text in texts:
        kind, _, argument_text = text.partition(":")
        if kind == SUCCESSIONS and argument_text:
            for name in split_column_names(argument_text):
                questions.extend(succession_questions(domain, name))
        else:
            questions.append(parse_question(text, domain))
    return questions


def _check_arguments(args: Namespace) -> None:
    """Raise InputError for arguments that do not go together."""
    if bool(args.questions) == bool(args.linked):
        raise InputError("ask a question, or name two columns by --linked; one of both")
    if args.compare and len(args.questions) != 2:
        raise InputError(
            f"--compare {args.compare} takes two questions, {len(args.questions)} are given"
        )
    if args.compare and args.within is not None:
        raise InputError("--within is worked out for questions on their own, without --compare")
    if args.count == ROWS and (args.compare or args.within is not None):
        raise InputError(f"--count {ROWS} answers questions on their own, by --level alone")


def _print_independence_test(unbiased_answers: UnbiasedAnswers, n: float, args: Namespace) -> None:
    """Test whether two columns are linked, and print what comes out."""
    test = run_independence_test(unbiased_answers, args.linked, n)
    sentence = test.words
    if test.p_value is not None:
        sentence += f" p = {test.p_value:.3g}, from {test.repeats} tables"
    print(json.dumps(asdict(test), indent=1) if args.json else sentence)


def _intervals(
    releases: list[FinishedRelease],
    unbiased_answers: UnbiasedAnswers,
    questions: list[Question],
    n: float,
    args: Namespace,
) -> list[Interval]:
    """Return the interval of each question, or that of the comparison of two."""
    estimates = _estimates(releases, unbiased_answers, questions)
    if not args.compare:
        return [
            question_interval(unbiased_answers, q, n, estimate=e, level=args.level)
            for q, e in zip(questions, estimates, strict=True)
        ]
    estimate_pair: Any = None if None in estimates else (estimates[0], estimates[1])
    interval = comparison_interval(
        unbiased_answers,
        questions[0],
        questions[1],
        n,
        args.compare,
        estimate=estimate_pair,
        level=args.level,
    )
    return [interval]


def _estimates(
    releases: list[FinishedRelease], unbiased_answers: UnbiasedAnswers, questions: list[Question]
) -> list[float | None]:
    """Return the answer of one release, or of several together, to each question."""
    if len(releases) > 1:
        return [_estimate_combined(unbiased_answers, question) for question in questions]
    release = releases[0]
    model = read_model(files_in_folder(Path(release.name)), release)
    return [estimate_answer(model, unbiased_answers, question) for question in questions]


def _row_totals(
    releases: list[FinishedRelease],
    unbiased_answers: UnbiasedAnswers,
    questions: list[Question],
    args: Namespace,
) -> list[Interval]:
    """Return the interval of the number of rows that each question asks for."""
    protects = releases[0].facts["protects"]
    if not protects.get("row_totals"):
        raise InputError(
            f"{args.release}: holds no totals of rows; release with --count {PEOPLE} --row-totals"
        )
    totals = [row_total_question(question, unbiased_answers.domain) for question in questions]
    estimates = _estimates(releases, unbiased_answers, totals)
    intervals = []
    for total, estimate in zip(totals, estimates, strict=True):
        interval = row_total_interval(
            unbiased_answers, total, protects["records"], estimate=estimate, level=args.level
        )
        intervals.append(interval)
    return intervals


def _print_json(intervals: list[Interval], follow_ups: list[FollowUpMeasurement]) -> None:
    """Print the intervals as JSON, each with its follow-up measurement if these are planned."""
    interval_facts = list(map(asdict, intervals))
    if follow_ups:
        interval_facts = [
            facts | {"next": asdict(measurement)}
            for facts, measurement in zip(interval_facts, follow_ups, strict=True)
        ]
    print(json.dumps(interval_facts, indent=1))


def interval_text(interval: Interval) -> str:
    """Return an interval in one line."""
    question_text = escape_control_chars(interval.question)
    value = "-" if interval.estimate is None else f"{interval.estimate:.4g}"
    if interval.low is None:
        return f"{question_text}: {value} ({interval.how})"
    table_range = _range_text(interval.low, interval.high)
    population_range = _range_text(interval.population_low, interval.population_high)
    return (
        f"{question_text}: {value}, table {table_range}, population {population_range} at "
        f"{interval.level:g} "
        f"({interval.how})"
    )


def _range_text(low: float | None, high: float | None) -> str:
    """Return two ends in words; "… or more" without an upper end."""
    if low is None:
        return "-"
    return f"{low:.4g} or more" if high is None else f"{low:.4g} to {high:.4g}"


def _plan_follow_up(
    facts: Json, unbiased_answers: UnbiasedAnswers, question: Question, args: Namespace
) -> FollowUpMeasurement:
    n = independent_row_count(facts["protects"])
    promise = facts["promise"]
    accounting = GdpAccountant if promise["accounting"] == GdpAccountant.name else ZcdpAccountant
    return plan_follow_up(
        unbiased_answers, question, args.within, n, promise["delta"], accounting, level=args.level
    )


def _follow_up_text(follow_up: FollowUpMeasurement) -> str:
    if follow_up.epsilon == 0:
        return f"within ± {follow_up.within:g} already"
    epsilon = math.ceil(follow_up.epsilon * 1000) / 1000
    return (
        f"for ± {follow_up.within:g} release once more with --algorithm gaussian_maxent "
        f"--queries {shlex.quote(follow_up.queries)} --epsilon {epsilon:g} --delta "
        f"{follow_up.delta:g}, "
        "then ask both together by --with"
    )


def _check_combinable(releases: list[FinishedRelease]) -> None:
    """Raise InputError unless the releases are distinct and of one data set.

    Repeated noise is no evidence.
    """
    first, *others = releases
    for i, release in enumerate(others, 1):
        for key in ("name", "version"):
            if release.facts["dataset"][key] != first.facts["dataset"][key]:
                value = str(release.facts["dataset"][key])[:60]
                first_value = str(first.facts["dataset"][key])[:60]
                raise InputError(
                    f"{release.name}: is of data set {key} {value!r}, {first.name} of "
                    f"{first_value!r}; "
                    "only releases of the same rows are combined"
                )
        if release.facts["protects"] != first.facts["protects"]:
            raise InputError(
                f"{release.name}: protects other people than {first.name}; they are not combined"
            )
        for earlier_release in releases[:i]:
            same_tables = np.array_equal(
                release.unbiased_answers.parts, earlier_release.unbiased_answers.parts
            ) and len(release.unbiased_answers.parts)
            if release.facts["ledger"] == earlier_release.facts["ledger"] or same_tables:
                raise InputError(
                    f"{release.name}: is the same release as {earlier_release.name}, and counts "
                    "once"
                )


def _estimate_combined(unbiased_answers: UnbiasedAnswers, question: Question) -> float | None:
    """Return the answer of several releases' noisy tables; None where they lack a part of it."""
    axes, values = axes_and_values(question.workload)
    if not all(S in unbiased_answers.part_slices for S in query_components(axes, values)):
        return None
    return float(unbiased_answers.answers(question.workload)[0])


@frozen
class RunAnswer:
    """The answer of a run to a question: the real one (not for publishing) beside the release's."""

    real: float
    interval: Interval

    def to_json(self) -> Json:
        """Return the answer as one flat dictionary."""
        return {"real": self.real, **asdict(self.interval)}


def answer_questions(
    unbiased_answers: UnbiasedAnswers,
    texts: Texts,
    run: Run,
    rows: Any,
    *,
    row_totals: bool = False,
) -> list[RunAnswer]:
    """Return the answers of a run to questions; with `row_totals` each is followed by its total."""
    release: Any = run.release
    answers = []
    for text in texts:
        question = parse_question(text, unbiased_answers.domain)
        comparison = compare_with_rows(release, rows, question.workload)
        interval = question_interval(
            unbiased_answers,
            question,
            run.problem.effective_n,
            estimate=float(comparison.synthetic[0]),
        )
        interval = mark_as_adaptive(interval) if run.algorithm.adaptive else interval
        answers.append(RunAnswer(float(comparison.real[0]), interval))
        if row_totals:
            answers.append(_answer_row_total(unbiased_answers, question, run, rows))
    return answers


def _answer_row_total(
    unbiased_answers: UnbiasedAnswers, question: Question, run: Run, rows: Any
) -> RunAnswer:
    """Return the answer of a run to how many rows of people fulfil a question."""
    release: Any = run.release
    people = run.problem.n
    total = row_total_question(question, unbiased_answers.domain)
    comparison = compare_with_rows(release, rows, total.workload)
    interval = row_total_interval(
        unbiased_answers, total, people, estimate=float(comparison.synthetic[0])
    )
    interval = mark_as_adaptive(interval) if run.algorithm.adaptive else interval
    real = float(comparison.real[0]) * row_total_scale(unbiased_answers.domain, people)
    return RunAnswer(real, interval)
