"""One-page report for a meeting: what a table reveals under each rule. HTML without scripts."""

import datetime
from pathlib import Path

import streamlit as st

from dpcore.core.provenance import Provenance
from dpcore.evaluation.reconstruction.rule_outcomes import RuleOutcome
from dpcore.release.evidence import printing

from ..components import draw_heading
from ..session import Table, printable_text
from .results_view import Alternatives, attacked_text, chosen_noise_sentence, limit_texts

RULES_PER_TABLE = 6  # as many columns as a page is wide


def draw_download(table: Table, alternatives: Alternatives) -> None:
    """Draw the report's download button; the report is written when it is pressed."""
    draw_heading("Take it to a meeting")
    st.download_button(
        "One-page report (HTML)",
        lambda: render_report(table, alternatives),
        "alternatives.html",
        "text/html",
        icon=":material/description:",
        on_click="ignore",
        help="What this table reveals under each rule, and what each costs; prints on A4.",
    )
    st.caption("It was computed from the real table. It is for people who may see the table.")


def render_report(table: Table, alternatives: Alternatives) -> str:
    """Return the whole report as HTML."""
    today = datetime.datetime.now(datetime.UTC)
    return printing.render_page(
        Path(__file__).with_name("report.html"),
        peek=Provenance.REAL_DATA,
        table_name=printable_text(table.name),
        date=f"{today.day} {today:%B %Y}",
        attacked=attacked_text(alternatives),
        columns=", ".join(map(printable_text, alternatives.task.asked_tables.domain.names)),
        sentences=[alternatives.sentence(outcome) for outcome in alternatives.result.outcomes],
        noise=chosen_noise_sentence(alternatives),
        tables=_rule_tables(alternatives),
        limits=limit_texts(alternatives.unit),
    )


def _of_100(share: float | None) -> str:
    """Return a share as a number of 100; a dash for none."""
    return "–" if share is None else f"{100 * share:.3g}"


def _rule_tables(alternatives: Alternatives) -> list[tuple[list[str], list[list[str]]]]:
    """Return tables with a column for each rule, a few rules each: the headings, and the lines."""
    tables = []
    outcomes = alternatives.result.outcomes
    for start in range(0, len(outcomes), RULES_PER_TABLE):
        table_outcomes = outcomes[start : start + RULES_PER_TABLE]
        columns = [_rule_numbers(outcome, alternatives.n) for outcome in table_outcomes]
        lines = [[name, *(column[name] for column in columns)] for name in columns[0]]
        tables.append((["of 100", *(outcome.rule for outcome in table_outcomes)], lines))
    return tables


def _rule_numbers(outcome: RuleOutcome, n: int) -> dict[str, str]:
    """Return what a rule reveals, and what it costs, by its name."""
    costs = outcome.costs
    return {
        "proved": _of_100(outcome.proved_share),
        "undecided": _of_100(outcome.undecided_share),
        "guessed right": _of_100(outcome.guessed_share),
        "from single columns": _of_100(outcome.baseline_share),
        "in another sample": _of_100(outcome.sample_share),
        "value disclosed": _of_100(outcome.disclosed_share),
        "in a wrong cell": _of_100(costs.misplaced),
        "largest error, a count": f"{n * costs.largest:.3g}",
        "counts lost": _of_100(costs.lost_share),
        "conclusions turned": _of_100(costs.flipped_share),
        "conclusions gone": _of_100(costs.vanished_share),
    }
