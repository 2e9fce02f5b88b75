"""Attack tables that are published without noise, and say what they reveal (uses real data: for
exploring).

Chosen tables of the rows are rounded, or small counts are hidden, or rows are swapped. An attacker
who knows the rule, the tables and the number of rows looks for all tables that could be behind
them. A row that is in every one of them is proved. Every proof is checked by itself; what --seconds
do not suffice for is undecided. Beside it is a private release with the same error.

Every number holds for these tables alone: other releases about the same people reveal more.

Two examples:
  python -m dpcore reconstruct people.csv --schema s.json --queries marginals:2 --people 100 --rounding 5
  python -m dpcore reconstruct people.csv --schema s.json --queries marginals:3 --block area=N12 --suppress 5 --secondary
"""

from argparse import Namespace

from ... import InputError, Rows
from ...core.numbers import unit_noun
from ...core.provenance import Provenance
from ...core.types import Json
from ...evaluation.reconstruction.asked_tables import (
    AskedTables,
    counts_of_rows,
    draw_block,
    rows_of_group,
)
from ...evaluation.reconstruction.disclosure_rules import (
    DisclosureRule,
    Rounding,
    Suppression,
    SuppressionAndRounding,
    Swapping,
)
from ...evaluation.reconstruction.private_releases import private_counterpart, private_curve
from ...evaluation.reconstruction.rule_outcomes import (
    RuleOutcome,
    attack_rule,
    comparison_sentences,
)
from ...schema.domain import Domain
from ..arguments import (
    DELTA_HELP,
    argument,
    finite_number,
    flag,
    seed_argument,
    whole_number_parser,
)
from ..output_files import ProgressLine, check_writable, write_json
from ..table_arguments import (
    TASK_ARGUMENTS,
    load_workload,
    read_problem_and_rows,
    task_from_arguments,
)

MAX_SECONDS = 86_400
SHARE_TEXTS = {
    "proved_share": "proved to be in the table",
    "undecided_share": "undecided",
    "guessed_share": "right in the likeliest table",
    "baseline_share": "right in a guess from single columns",
    "sample_share": "in another sample of as many rows",
    "disclosed_share": "in a group where all have one value",
}

ARGUMENTS = (
    *TASK_ARGUMENTS,
    argument(
        "--rounding",
        "B",
        "round every count to a multiple of B; 1 publishes exact tables",
        type=whole_number_parser(1, 1000),
    ),
    flag("--at-random", "round to the multiple below or above by chance"),
    argument(
        "--suppress",
        "T",
        "hide counts from 1 to below T; with --rounding, publish these as 0",
        type=whole_number_parser(2, 1000),
    ),
    flag("--secondary", "hide further counts, so that none follows from its line's sum"),
    argument(
        "--swap",
        "S",
        "swap the first column's value in this share of the rows, then publish exact tables",
        type=finite_number,
    ),
    argument("--block", "COLUMN=VALUE", "only the rows of a group, such as one small area"),
    argument(
        "--people", "N", "only so many rows, drawn at random", type=whole_number_parser(2, 20_000)
    ),
    argument("--delta", None, DELTA_HELP, type=finite_number, default=1e-9),
    argument(
        "--seconds",
        None,
        "how long the proofs may take",
        type=whole_number_parser(1, MAX_SECONDS),
        default=60,
    ),
    seed_argument("of the rows drawn, and of what the rule leaves to chance"),
    argument("--json", "out.json", "write the shares, the costs and the private release"),
)


def execute(args: Namespace) -> None:
    """Read the rows, publish their tables by the rule, attack them, print and write."""
    check_writable(args.json)
    rule = rule_from_arguments(args)
    task = task_from_arguments(args, require_known=True)
    workload = load_workload(task)
    problem, rows = read_problem_and_rows(task, workload)
    if not isinstance(rows, Rows):
        raise InputError(f"{task.table}: single rows are attacked; read the table whole")
    if rows.votes_per_unit > 1:
        raise InputError(f"{task.table}: single rows are attacked; say --count rows")
    block, other = _choose_block(args, problem.domain, rows)
    asked_tables = AskedTables.of(workload, block, problem.group)
    outcome = _attack_with_progress(args, asked_tables, rule, other)
    curve = private_curve(asked_tables, block, args.delta)
    counterpart = private_counterpart(asked_tables, curve, outcome.costs.misplaced, args.delta)
    private = None
    if counterpart is not None:
        private = {"epsilon": counterpart.epsilon, "max_guess": counterpart.max_guess}
    document: Json = outcome.to_json() | {
        "n": asked_tables.n,
        "rows_not_attacked": rows.n - asked_tables.n,
        "cells": asked_tables.domain.size,
        "queries": asked_tables.tables.m,
        "delta": args.delta,
        "private_at_equal_error": private,
        "tag": Provenance.REAL_DATA,
    }
    write_json(args.json, document)
    _print_outcome(document)
    unit = unit_noun(problem.group)
    print(comparison_sentences(outcome, asked_tables.n, unit, counterpart))


def rule_from_arguments(args: Namespace) -> DisclosureRule:
    """Return the rule that the arguments state; InputError where they state none, or two."""
    if args.swap is not None:
        if args.rounding is not None or args.suppress is not None:
            raise InputError("--swap publishes exact tables; leave out --rounding and --suppress")
        return Swapping(args.swap)
    if args.secondary and (args.suppress is None or args.rounding is not None):
        raise InputError("--secondary belongs to --suppress without --rounding")
    if args.at_random and (args.rounding is None or args.suppress is not None):
        raise InputError("--at-random belongs to --rounding without --suppress")
    if args.suppress is not None and args.rounding is not None:
        return SuppressionAndRounding(args.suppress - 1, args.rounding)
    if args.suppress is not None:
        return Suppression(args.suppress, args.secondary)
    if args.rounding is not None:
        return Rounding(args.rounding, args.at_random)
    raise InputError("say how tables are published: --rounding, --suppress or --swap")


def _choose_block(args: Namespace, domain: Domain, rows: Rows) -> tuple[Rows, Rows | None]:
    """Return the rows that are attacked, and another sample of as many where there is one."""
    if args.block is not None:
        column, separator, label = args.block.partition("=")
        if not separator:
            raise InputError(f"--block {args.block!r} is not COLUMN=VALUE")
        rows = rows_of_group(domain, rows, column, label)
    return draw_block(rows, rows.n if args.people is None else args.people, args.seed)


def _attack_with_progress(
    args: Namespace, asked_tables: AskedTables, rule: DisclosureRule, other: Rows | None
) -> RuleOutcome:
    """Return what came of the attack; progress goes to stderr."""
    line = ProgressLine()

    def show_progress(done: float, total: float | None) -> None:
        line.show(lambda elapsed: f"{done:,.0f} of {total or 0:,.0f} bounds, {elapsed:.0f} s")

    other_counts = None
    if other is not None:
        other_counts = counts_of_rows(asked_tables.domain, other)
    outcome = attack_rule(
        asked_tables,
        rule,
        seed=args.seed,
        max_seconds=args.seconds,
        other_counts=other_counts,
        progress=show_progress,
    )
    line.clear()
    return outcome


def _print_outcome(document: Json) -> None:
    """Print what a rule reveals and what it costs."""
    print(
        f"{document['rule']}: n={document['n']} combinations={document['cells']} "
        f"counts={document['queries']}"
    )
    if document["rows_not_attacked"]:
        print(f"not attacked: the other {document['rows_not_attacked']:,} rows")
    print("shares of the rows (uses real data – do not publish):")
    for name, text in SHARE_TEXTS.items():
        if document[name] is not None:
            print(f"{document[name]:>8.3f} {text}")
    costs = document["costs"]
    print("costs against the real tables (uses real data – do not publish):")
    print(f"{costs['misplaced']:>8.3f} of the rows in a wrong cell")
    print(f"{costs['largest']:>8.3f} of the rows: the largest error")
    print(f"{costs['lost_share']:>8.3f} of the counts above 0 have no number of their own")
    print(f"{costs['flipped_share']:>8.3f} of the conclusions turn into their opposite")
    print(f"{document['seconds']:>8.1f} seconds")
