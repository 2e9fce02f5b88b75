"""Play the distinguishing game against an algorithm: an empirical lower bound on ε beside its promise.

It sees what is released and guesses which of two neighbouring public tables was used, as often right as it can. Exit
code 1 when that is more often than ε allows. --transcripts also judges all that leaves the curator, by its exact
likelihood ratio.

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
from ...algorithms import solving
from ...core.numbers import brief
from ...core.types import Json
from ...evaluation.audit.distinguishing_game import BUGS, CONFIDENCE, MOST_RUNS, RUNS, audit, short
from ...evaluation.audit.schema_transcripts import NAME as SCHEMA
from ...evaluation.audit.schema_transcripts import transcribe_schema
from ...evaluation.audit.transcript_test import FEWEST, MOST, TRANSCRIPTS, TRUST, AuditResult, Judged, transcribe
from ..arguments import argument, budget, budget_of, flag, seed, settings, whole_number
from ..table_arguments import choose

ALL = "all"
PROCESSES, RUNS_OF_ALL = 2, 1000  # for all algorithms
CONSISTENT, BROKEN = "the promise is consistent with this game", "THE PROMISE IS BROKEN"

ARGUMENTS = (
    argument(
        "--algorithm",
        "NAME",
        f"{ALL}, one after the other, or one of {', '.join(solving(QueryRelease))}; {SCHEMA}: one that is measured",
        required=True,
    ),
    *budget(epsilon=1.0, delta=0.01),
    settings(),
    argument(
        "--runs",
        None,
        f"of the game, on each of two tables (default: {RUNS}, for {ALL} {RUNS_OF_ALL}, as transcripts tell more)",
        type=whole_number(20, MOST_RUNS),
    ),
    argument(
        "--transcripts",
        None,
        f"at most, judged by their exact likelihood ratio (default: {TRANSCRIPTS} for {ALL}, else none)",
        type=whole_number(FEWEST, MOST),
    ),
    argument("--bug", None, "plant a bug, to see it caught", choices=BUGS, default=BUGS[0]),
    seed("of the game"),
    flag("--json", "machine-readable, with the empirical curve"),
)


def execute(chosen: Namespace) -> int:
    """Print the verdict; exit code 1 when a lower bound exceeds the promise."""
    if chosen.algorithm == SCHEMA:
        return _schema(chosen)
    names = list(solving(QueryRelease)) if chosen.algorithm == ALL else [chosen.algorithm]
    budget, promise_kept = budget_of(chosen), True
    for verdict in _all_judged(names, chosen):
        promise_kept &= verdict.kept
        game_result, evidence = verdict.found, verdict.evidence
        if chosen.json:
            result_json = game_result.to_json() | ({"transcripts": evidence.to_json()} if evidence else {})
            print(json.dumps(result_json, indent=None if len(names) > 1 else 1), flush=True)
        elif len(names) > 1:
            bounds_text = (
                f"promised {game_result.promised:.4f}, at least {game_result.epsilon_low:.4f} or "
                f"{game_result.accounted_low:.4f}"
            )
            transcript_text = f"  {_seen(evidence)}" if evidence else ""
            print(
                f"{game_result.algorithm:<24} {bounds_text}{transcript_text}  "
                f"{'consistent' if verdict.kept else 'BROKEN'}",
                flush=True,
            )
        else:
            _tell(verdict, budget)
    return 0 if promise_kept else 1


def _schema(chosen: Namespace) -> int:
    """The evidence on a schema's counts, and on its values above a threshold, against their charges."""
    if chosen.set or chosen.runs:
        raise InputError(f"--algorithm {SCHEMA} has no parameters, and is judged by transcripts alone")
    transcripts = chosen.transcripts or TRANSCRIPTS
    results = transcribe_schema(budget_of(chosen), transcripts=transcripts, bug=chosen.bug, seed=chosen.seed)
    promise_kept = all(evidence.kept for evidence in results)
    if chosen.json:
        print(
            json.dumps(
                {"algorithm": SCHEMA, "kept": promise_kept, "transcripts": [e.to_json() for e in results]}, indent=1
            )
        )
    else:
        for evidence in results:
            _tell_transcripts(evidence)
        print(CONSISTENT if promise_kept else BROKEN)
    return 0 if promise_kept else 1


def _judged(name: str, chosen: Namespace) -> Judged:
    """The evidence on one algorithm, by the game and, where they are asked for, by transcripts."""
    budget, audits_all = budget_of(chosen), chosen.algorithm == ALL
    algorithm = short(choose(name, chosen.set, QueryRelease), {text.partition("=")[0] for text in chosen.set})
    game_options: Json = {"bug": chosen.bug, "seed": chosen.seed}
    game_result = audit(algorithm, budget, runs=chosen.runs or (RUNS_OF_ALL if audits_all else RUNS), **game_options)
    transcripts = chosen.transcripts or (TRANSCRIPTS if audits_all else 0)
    return Judged(
        game_result, transcribe(algorithm, budget, transcripts=transcripts, **game_options) if transcripts else None
    )


def _all_judged(names: list[str], chosen: Namespace) -> Iterator[Judged]:
    """The evidence on each algorithm, in order; several are judged in processes of their own."""
    audit_one = partial(_judged, chosen=chosen)
    if len(names) == 1:
        yield audit_one(names[0])
        return
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        yield from pool.map(audit_one, names)


def _seen(evidence: AuditResult) -> str:
    """One line with what was promised and what the transcripts showed of it."""
    symbol = {"noise": "mu", "failure": "delta of values above a threshold"}.get(
        evidence.kind, "epsilon of a selection"
    )
    share = f"{evidence.low / evidence.promised:.0%}"
    return f"{symbol} {evidence.promised:.4f}, shown {evidence.low:.4f} ({share})"


def _tell(judged: Judged, budget: Budget) -> None:
    game_result = judged.found
    print(
        f"{game_result.algorithm}, {game_result.runs} runs on each of two tables of {game_result.records} rows, bug: "
        f"{game_result.bug}"
    )
    print(
        f"promised:     epsilon = {game_result.promised:.4f} at delta={brief(budget.delta)} ({game_result.accounting})"
    )
    print(f"at least:     epsilon ≥ {game_result.epsilon_low:.4f} ({CONFIDENCE:.1%} confidence, any mechanism)")
    print(
        f"              epsilon ≥ {game_result.accounted_low:.4f} ({CONFIDENCE:.1%} confidence, by the same accounting)"
    )
    if judged.evidence is not None:
        _tell_transcripts(judged.evidence)
    print(CONSISTENT if judged.kept else BROKEN)


def _tell_transcripts(evidence: AuditResult) -> None:
    print(f"transcripts:  {_seen(evidence)}, {TRUST:.0%} confidence, {evidence.transcripts} transcripts")
