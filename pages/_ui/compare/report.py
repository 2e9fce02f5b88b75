"""The comparison on one page, for people who were not there: HTML without scripts, to print, mail or keep."""

from collections.abc import Sequence
from html import escape

import numpy as np
import streamlit as st

from dpcore.algorithms import solving
from dpcore.evaluation.run import Comparison, subgroups
from dpcore.experiments.frontier import middles, step_frontier
from dpcore.numbers import brief
from dpcore.problems import QueryRelease
from dpcore.publishing import printing
from dpcore.tags import Tag
from dpcore.theory.meaning import SUSPICION, Promise, one_in, percent, times_in_100

from ..charts import frontier
from ..charts import svg as drawing
from ..shell.frame import heading, peek
from ..shell.table import Table
from ..shell.text import clean
from .overview import floors_of
from .sweeps import TITLES, Dot, Sweep

TITLE = "largest error, points (median over repeats)"
PUBLIC = f'<span class="tag">{Tag.PUBLIC}</span>'


@peek
def download(table: Table, sweep: Sweep) -> None:
    """The button; the page is written when it is pressed."""
    heading("Take it to a meeting", Tag.PEEK)
    done = any(d.point.state == "done" for d in sweep.shown)
    st.download_button(
        "One-page report (HTML)", lambda: page(table, sweep), "comparison.html", "text/html",
        icon=":material/description:", on_click="ignore", disabled=not done,
        help="Settings, frontier, verdict, groups and what ε means; opens anywhere, prints on one or two pages.",
    )  # fmt: skip
    st.caption("It shows errors against the real table. It is for people who may see the table.")


def page(table: Table, sweep: Sweep) -> str:
    """The whole report."""
    problem = sweep.problem
    if problem is None:
        return ""
    dots = sweep.table(lambda d: d.point.errors.get("max_error"))
    middle = middles(dots)
    found = step_frontier(middle)
    delta = sweep.shown[0].point.delta
    rows = {
        "Table": f"{clean(table.name)}, {problem.n:,} rows",
        "Columns": ", ".join(map(clean, problem.domain.names)),
        "Questions": f"{problem.workload.m:,}: {sweep.kinds}",
        "Protected": table.unit.words,
        "δ": brief(delta),
        "Algorithms": ", ".join(dict.fromkeys(middle["algorithm"].map(TITLES))),
        "Repeats": str(dots["seed"].nunique()),
    }
    looks = frontier.look([TITLES[name] for name in solving(QueryRelease)])
    parts = [
        f'<p><span class="tag">{Tag.PEEK}</span></p><h2>Verdict</h2>{_verdict(found)}<h2>Error against ε</h2>',
        drawing.frontier(
            middle.assign(algorithm=middle["algorithm"].map(TITLES), error=100 * middle["error"]),
            found.assign(error=100 * found["error"]),
            {name: 100 * floor for name, floor in floors_of(sweep, "max_error").items()},
            looks,
            TITLE,
        ),
        "<p>Grey: the best that was reached with that ε or less.</p>",
        f"<h2>What ε means {PUBLIC}</h2>{_odds(sorted(set(dots['epsilon'])), delta)}",
        f"<h2>Who gets the least accurate results?</h2>{_groups(sweep)}",
        f"<h2>Settings{' ' + PUBLIC if not table.peeked else ''}</h2>{_table(rows.items())}",
        "<p>Errors were computed from the real rows. They are not protected: do not publish this "
        "page. An ε that was chosen by them says a little about the table.</p>",
    ]
    return printing.page("What does privacy cost on this table?", "".join(parts))


def _verdict(found) -> str:  # noqa: ANN001 - a table of `steps`
    lines = [
        (f"ε = {line.epsilon:g}", f"{100 * line.error:.2g} points", TITLES[line.algorithm])
        for line in found.itertuples()
    ]
    return _table(lines, ("budget", "largest error (median over repeats)", "best algorithm"))


def _odds(epsilons: Sequence[float], delta: float) -> str:
    promises = [Promise(e, delta) for e in epsilons]
    risen, guesses = [p.suspicion for p in promises], [times_in_100(p.guess()) for p in promises]
    rarely = f" (except {one_in(promises[0].failure)})" if delta else ""
    words = (
        "<p>Someone knows everyone else and sees what is released. They guess which of two values the last row has. "
        "Without the release a guess is right 50 times in 100.</p>"
    )
    head = (
        "ε",
        f"a suspicion of {percent(SUSPICION)} rises to at most{rarely}",
        "guesses are right at most, whatever the algorithm",
    )
    return words + _table(zip(map("{:g}".format, epsilons), risen, guesses, strict=True), head)


def _groups(sweep: Sweep) -> str:
    """The smallest and the largest group of every column, for the best run at the middle budget."""
    done = [d for d in sweep.shown if d.point.state == "done" and d.pairs is not None]
    if not done or sweep.pairs is None:
        return "<p>Not measured.</p>"
    budgets = sorted({d.point.epsilon for d in done})
    epsilon = budgets[len(budgets) // 2]
    best: Dot = min((d for d in done if d.point.epsilon == epsilon), key=lambda d: d.point.errors["max_error"] or 0)
    both, lines = Comparison(sweep.pairs, np.asarray(sweep.real_pairs), np.asarray(best.pairs)), []
    for name in sweep.pairs.domain.names:
        found = subgroups(both, name)
        present = np.flatnonzero(found.share > 0)
        for i in sorted({present[found.share[present].argmin()], present[found.share[present].argmax()]}):
            where = f"{clean(name)}: {clean(found.labels[i])}"
            lines.append((where, f"{found.share[i]:.2%}", f"{found.error[i]:.2%}"))
    words = f"<p>{TITLES[best.point.algorithm]} at ε = {epsilon:g}, repeat number {best.point.seed}: how much the "
    words += "two tables disagree about the smallest and the largest group of each column, from 0% (identical) "
    words += "to 100% (completely different).</p>"
    return words + _table(lines, ("group", "share of rows", "difference"))


def _table(lines, head: Sequence[str] = ()) -> str:  # noqa: ANN001 - lines of texts
    top = f"<thead><tr>{''.join(f'<th>{escape(h)}</th>' for h in head)}</tr></thead>" if head else ""  # on each page
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(c))}</td>' for c in line)}</tr>" for line in lines)
    return f"<table>{top}{body}</table>"
