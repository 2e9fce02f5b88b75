"""What a rule reveals of a table, and what it costs: the attack on it, with everything beside."""

import time
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from ...accuracy.meaning_of_epsilon import format_times_in_100
from ...core.provenance import Provenance
from ...core.types import Array, Json, ProgressCallback, by_name, ignore_progress
from .asked_tables import AskedTables
from .best_guesses import disclosed_share, guess_from_single_columns, guess_table, overlap_share
from .disclosure_rules import DisclosureRule
from .private_releases import PrivateCounterpart
from .row_proofs import RowProofs, prove_rows
from .rule_costs import GroupCost, RuleCosts, measure_costs

MAX_GUESS_SECONDS = 5.0


@by_name
class RuleOutcome:
    """What came of attacking one rule, with its costs; shares are of the rows.

    Args:
        rule: The rule in a few words.
        proved_share: Rows that are in every table that agrees with what was published.
        undecided_share: Rows for which the time did not suffice.
        guessed_share: Rows that the attacker's likeliest table has right, proved or not.
        baseline_share: Rows that a guess from the single columns alone has right.
        sample_share: Rows that another sample of as many rows has, too; None without another.
        disclosed_share: Rows of a group in which everyone has the same value of a column.
        costs: What the rule costs the readers of the tables.
        seconds: How long the attack took.

    """

    rule: str
    proved_share: float
    undecided_share: float
    guessed_share: float
    baseline_share: float
    sample_share: float | None
    disclosed_share: float
    costs: RuleCosts
    seconds: float
    tag = Provenance.REAL_DATA

    def to_json(self) -> Json:
        """Return the outcome as a dictionary."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Json) -> "RuleOutcome":
        """Return the outcome that `to_json` wrote."""
        fields: Json = document | {"costs": costs_from_json(document["costs"])}
        return cls(**fields)


def costs_from_json(document: Json) -> RuleCosts:
    """Return the costs that a dictionary holds."""
    groups = tuple(GroupCost(**group) for group in document["groups"])
    fields: Json = document | {"groups": groups}
    return RuleCosts(**fields)


def comparison_sentences(
    outcome: RuleOutcome, n: int, unit: str, counterpart: PrivateCounterpart | None
) -> str:
    """Return what a rule proves, beside a private release of equal error, in sentences.

    Args:
        outcome: Of the rule.
        n: The number of rows.
        unit: What a row is, in the plural.
        counterpart: The private release of equal mean error; None where there is none.

    """
    proved = f"proves {round(n * outcome.proved_share):,} of {n:,} {unit} of these tables"
    if outcome.undecided_share:
        proved += f" ({round(n * outcome.undecided_share):,} undecided)"
    rule = f"“{outcome.rule[0].upper()}{outcome.rule[1:]}”"
    if counterpart is None:
        return f"{rule} {proved}. No private release tried here has the same error."
    return (
        f"{rule} has the error of ε = {counterpart.epsilon:.2g}. It {proved}; the noise lets a "
        f"guess be right at most {format_times_in_100(counterpart.max_guess)}."
    )


def attack_rule(
    asked_tables: AskedTables,
    rule: DisclosureRule,
    *,
    seed: int,
    max_seconds: float,
    other_counts: Array | None = None,
    progress: ProgressCallback = ignore_progress,
) -> RuleOutcome:
    """Publish tables by a rule, attack them, and return what that revealed and what it costs.

    Args:
        asked_tables: The tables asked, with the rows.
        rule: How they are published.
        seed: Of what the rule leaves to chance.
        max_seconds: How long the proofs may take.
        other_counts: Another sample (k,) of as many rows, to compare guesses with.
        progress: Receives how far the proofs are.

    """
    start = time.monotonic()
    published = rule.publish(asked_tables, np.random.default_rng(seed))
    proofs = prove_rows(published, max_seconds, progress)
    proved, undecided = _decided_rows(proofs, published.swapped_rows)
    guess = guess_table(published, min(max_seconds, MAX_GUESS_SECONDS))
    baseline = guess_from_single_columns(asked_tables, published.answers)
    sample_share = None
    if other_counts is not None:
        sample_share = overlap_share(other_counts, asked_tables.counts)
    return RuleOutcome(
        rule=rule.name,
        proved_share=proved / asked_tables.n,
        undecided_share=undecided / asked_tables.n,
        guessed_share=overlap_share(guess, asked_tables.counts),
        baseline_share=overlap_share(baseline, asked_tables.counts),
        sample_share=sample_share,
        disclosed_share=disclosed_share(asked_tables, published),
        costs=measure_costs(asked_tables, published.answers, published.is_lost),
        seconds=time.monotonic() - start,
    )


def attack_rules(
    asked_tables: AskedTables,
    rules: Sequence[DisclosureRule],
    *,
    seed: int,
    max_seconds: float,
    other_counts: Array | None = None,
    progress: ProgressCallback = ignore_progress,
) -> tuple[RuleOutcome, ...]:
    """Return what each rule reveals and costs; `max_seconds` is for each of them.

    `progress` receives how many rules are done, with the share of the one under way, and how many
    there are.
    """
    outcomes = []
    for number, rule in enumerate(rules):

        def show_progress(done: float, total: float | None, before: int = number) -> None:
            progress(before + done / (total or 1), len(rules))

        outcomes.append(
            attack_rule(
                asked_tables,
                rule,
                seed=seed,
                max_seconds=max_seconds,
                other_counts=other_counts,
                progress=show_progress,
            )
        )
    return tuple(outcomes)


def _decided_rows(proofs: RowProofs, swapped_rows: int) -> tuple[int, int]:
    """Return how many rows are proved, and how many are undecided.

    A combination with y rows after a swap had at least y − `swapped_rows` before.
    """
    proved = np.maximum(proofs.proved - swapped_rows, 0)
    possible = np.maximum(proofs.possible - swapped_rows, 0)
    return int(proved.sum()), int((possible - proved).sum())
