"""Play the distinguishing game against an algorithm: an empirical lower bound on ε beside its
promise.

It sees what is released and guesses which of two neighbouring public tables was used, as often
right as it can. Exit code 1 when that is more often than ε allows. --transcripts also judges all
that leaves the curator, by its exact likelihood ratio.

Two examples:
  python -m dpcore audit --algorithm dpfw --runs 4000
  python -m dpcore audit --algorithm dpfw --bug half-sensitivity --epsilon 2 --delta 0
"""

import json
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from ... import Budget, InputError, QueryRelease
from ...algorithms import algorithms_for_problem
from ...core.numbers import format_short_number
from ...core.types import Json
from ...data.privacy_unit import MAX_ROWS_OF_ONE_VOTE
from ...evaluation.audit.distinguishing_game import (
    CONFIDENCE,
    DEFAULT_RUNS_PER_TABLE,
    MAX_RUNS_PER_TABLE,
    PLANTED_BUGS,
    play_distinguishing_game,
    with_fewest_rounds,
)
from ...evaluation.audit.schema_transcripts import SCHEMA_AUDIT_NAME as SCHEMA
from ...evaluation.audit.schema_transcripts import audit_schema_transcripts
from ...evaluation.audit.transcript_test import (
    DEFAULT_TRANSCRIPTS,
    EVIDENCE_CONFIDENCE,
    MAX_TRANSCRIPTS,
    MIN_TRANSCRIPTS,
    AuditResult,
    AuditVerdict,
    audit_transcripts,
)
from ..arguments import (
    argument,
    budget_arguments,
    flag,
    seed_argument,
    settings_argument,
    stated_budget,
    whole_number_parser,
)
from ..table_arguments import build_algorithm

ALL_ALGORITHMS = "all"
AUDIT_PROCESSES = 2
RUNS_FOR_ALL = 1000  # runs on each table where all algorithms are audited
CONSISTENT_VERDICT = "the promise is consistent with this game"
BROKEN_VERDICT = "THE PROMISE IS BROKEN"

SHARED_ROWS_HELP = (
    "play on tables of people who count once: their rows, up to so many, share one vote "
    "(default: each row is one person)"
)
ARGUMENTS = (
    argument(
        "--algorithm",
        "NAME",
        f"{ALL_ALGORITHMS}, one after the other, or one of "
        f"{', '.join(algorithms_for_problem(QueryRelease))}; {SCHEMA}: one that is measured",
        required=True,
    ),
    *budget_arguments(epsilon=1.0, delta=0.01),
    settings_argument(),
    argument(
        "--runs",
        None,
        f"of the game, on each of two tables (default: {DEFAULT_RUNS_PER_TABLE}, for "
        f"{ALL_ALGORITHMS} {RUNS_FOR_ALL}, as transcripts tell more)",
        type=whole_number_parser(20, MAX_RUNS_PER_TABLE),
    ),
    argument(
        "--transcripts",
        None,
        f"at most, judged by their exact likelihood ratio (default: {DEFAULT_TRANSCRIPTS} for "
        f"{ALL_ALGORITHMS}, else none)",
        type=whole_number_parser(MIN_TRANSCRIPTS, MAX_TRANSCRIPTS),
    ),
    argument(
        "--shared-rows",
        "S",
        SHARED_ROWS_HELP,
        type=whole_number_parser(1, MAX_ROWS_OF_ONE_VOTE),
    ),
    argument(
        "--bug",
        None,
        "plant a bug, to see it caught",
        choices=PLANTED_BUGS,
        default=PLANTED_BUGS[0],
    ),
    seed_argument("of the game"),
    flag("--json", "machine-readable, with the empirical curve"),
)


def execute(args: Namespace) -> int:
    """Print the verdict; exit code 1 when a lower bound exceeds the promise."""
    if args.algorithm == SCHEMA:
        return _audit_schema(args)
    names = (
        list(algorithms_for_problem(QueryRelease))
        if args.algorithm == ALL_ALGORITHMS
        else [args.algorithm]
    )
    budget = stated_budget(args)
    promise_kept = True
    for verdict in _audit_algorithms(names, args):
        promise_kept &= verdict.is_consistent
        game_result = verdict.game
        evidence = verdict.evidence
        if args.json:
            result_json = game_result.to_json() | (
                {"transcripts": evidence.to_json()} if evidence else {}
            )
            if args.shared_rows:
                result_json["shared_rows"] = args.shared_rows
            print(json.dumps(result_json, indent=None if len(names) > 1 else 1), flush=True)
        elif len(names) > 1:
            bounds_text = (
                f"promised {game_result.promised:.4f}, at least {game_result.epsilon_low:.4f} or "
                f"{game_result.accounted_low:.4f}"
            )
            transcript_text = f"  {_transcript_summary(evidence)}" if evidence else ""
            print(
                f"{game_result.algorithm:<24} {bounds_text}{transcript_text}  "
                f"{'consistent' if verdict.is_consistent else 'BROKEN'}",
                flush=True,
            )
        else:
            _print_verdict(verdict, budget, "people" if args.shared_rows else "rows")
    return 0 if promise_kept else 1


def _audit_schema(args: Namespace) -> int:
    """Judge a schema's counts, and its values above a threshold, against their charges."""
    if args.set or args.runs:
        raise InputError(
            f"--algorithm {SCHEMA} has no parameters, and is judged by transcripts alone"
        )
    if args.shared_rows:
        raise InputError(
            f"--algorithm {SCHEMA} measures one row of each person; leave out --shared-rows"
        )
    transcripts = args.transcripts or DEFAULT_TRANSCRIPTS
    results = audit_schema_transcripts(
        stated_budget(args), transcripts=transcripts, bug=args.bug, seed=args.seed
    )
    promise_kept = all(evidence.kept for evidence in results)
    if args.json:
        print(
            json.dumps(
                {
                    "algorithm": SCHEMA,
                    "kept": promise_kept,
                    "transcripts": [e.to_json() for e in results],
                },
                indent=1,
            )
        )
    else:
        for evidence in results:
            _print_transcripts(evidence)
        print(CONSISTENT_VERDICT if promise_kept else BROKEN_VERDICT)
    return 0 if promise_kept else 1


def _audit_algorithm(name: str, args: Namespace) -> AuditVerdict:
    """Return the evidence on one algorithm, by the game and, if asked for, by transcripts."""
    budget = stated_budget(args)
    audits_all = args.algorithm == ALL_ALGORITHMS
    algorithm = with_fewest_rounds(
        build_algorithm(name, args.set, QueryRelease), {text.partition("=")[0] for text in args.set}
    )
    game_options: Json = {"bug": args.bug, "seed": args.seed, "shared_rows": args.shared_rows}
    game_result = play_distinguishing_game(
        algorithm,
        budget,
        runs=args.runs or (RUNS_FOR_ALL if audits_all else DEFAULT_RUNS_PER_TABLE),
        **game_options,
    )
    transcripts = args.transcripts or (DEFAULT_TRANSCRIPTS if audits_all else 0)
    return AuditVerdict(
        game_result,
        audit_transcripts(algorithm, budget, transcripts=transcripts, **game_options)
        if transcripts
        else None,
    )


def _audit_algorithms(names: list[str], args: Namespace) -> Iterator[AuditVerdict]:
    """Yield the evidence on each algorithm, in order.

    Several are judged in processes of their own.
    """
    audit_one = partial(_audit_algorithm, args=args)
    if len(names) == 1:
        yield audit_one(names[0])
        return
    with ProcessPoolExecutor(AUDIT_PROCESSES, get_context("spawn")) as pool:
        yield from pool.map(audit_one, names)


def _transcript_summary(evidence: AuditResult) -> str:
    """Return a line with the promised loss and how much of it the transcripts showed."""
    symbol = {"noise": "mu", "failure": "delta of values above a threshold"}.get(
        evidence.kind, "epsilon of a selection"
    )
    share = f"{evidence.low / evidence.promised:.0%}"
    return f"{symbol} {evidence.promised:.4f}, shown {evidence.low:.4f} ({share})"


def _print_verdict(verdict: AuditVerdict, budget: Budget, counted_noun: str) -> None:
    game_result = verdict.game
    print(
        f"{game_result.algorithm}, {game_result.runs} runs on each of two tables of "
        f"{game_result.records} {counted_noun}, bug: "
        f"{game_result.bug}"
    )
    print(
        f"promised:     epsilon = {game_result.promised:.4f} at "
        f"delta={format_short_number(budget.delta)} ({game_result.accounting.name})"
    )
    print(
        f"at least:     epsilon ≥ {game_result.epsilon_low:.4f} ({CONFIDENCE:.1%} confidence, "
        "any mechanism)"
    )
    print(
        f"              epsilon ≥ {game_result.accounted_low:.4f} ({CONFIDENCE:.1%} confidence, "
        "by the same accounting)"
    )
    if verdict.evidence is not None:
        _print_transcripts(verdict.evidence)
    print(CONSISTENT_VERDICT if verdict.is_consistent else BROKEN_VERDICT)


def _print_transcripts(evidence: AuditResult) -> None:
    print(
        f"transcripts:  {_transcript_summary(evidence)}, {EVIDENCE_CONFIDENCE:.0%} confidence, "
        f"{evidence.transcripts} transcripts"
    )
