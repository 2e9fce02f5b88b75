"""One-page report for a meeting: what a table reveals under each rule. HTML without scripts."""

import datetime
from pathlib import Path

import streamlit as st

from dpcore.core.provenance import Provenance
from dpcore.release.evidence import printing

from ..components import draw_heading
from ..session import Table, printable_text
from .results_view import Alternatives, chosen_noise_sentence, limit_texts, not_attacked_text


def draw_download(table: Table, found: Alternatives) -> None:
    """Draw the report's download button; the report is written when it is pressed."""
    draw_heading("Take it to a meeting")
    st.download_button(
        "One-page report (HTML)",
        lambda: render_report(table, found),
        "alternatives.html",
        "text/html",
        icon=":material/description:",
        on_click="ignore",
        help="What this table reveals under each rule, and what each costs; prints on A4.",
    )
    st.caption("It was computed from the real table. It is for people who may see the table.")


def render_report(table: Table, found: Alternatives) -> str:
    """Return the whole report as HTML."""
    today = datetime.datetime.now(datetime.UTC)
    return printing.render_page(
        Path(__file__).with_name("report.html"),
        peek=Provenance.REAL_DATA,
        table_name=printable_text(table.name),
        date=f"{today.day} {today:%B %Y}",
        attacked=not_attacked_text(found),
        columns=", ".join(map(printable_text, found.task.asked.domain.names)),
        sentences=[found.sentence(outcome) for outcome in found.result.outcomes],
        noise=chosen_noise_sentence(found),
        lines=_rule_lines(found),
        limits=limit_texts(found.unit),
    )


def _of_100(share: float | None) -> str:
    """Return a share as a number of 100; a dash for none."""
    return "–" if share is None else f"{100 * share:.3g}"


def _rule_lines(found: Alternatives) -> list[tuple[str, ...]]:
    """Return a line for each rule: what it reveals, and what it costs."""
    lines = []
    for outcome in found.result.outcomes:
        costs = outcome.costs
        baselines = f"{_of_100(outcome.baseline_share)}; {_of_100(outcome.sample_share)}"
        lines.append(
            (
                outcome.rule,
                _of_100(outcome.proved_share),
                _of_100(outcome.undecided_share),
                f"{_of_100(outcome.guessed_share)} ({baselines})",
                _of_100(outcome.disclosed_share),
                _of_100(costs.misplaced),
                f"{found.n * costs.largest:.3g}",
                _of_100(costs.lost_share),
                _of_100(costs.flipped_share),
            )
        )
    return lines
