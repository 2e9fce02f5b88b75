"""The questions of NIST SP 800-226 about a release, answered from its facts: a page to print, and a file of it.

The guidelines draw a pyramid: the guarantee on top (unit, ε), below it how it was made (correctness, utility, bias,
side channels), at the bottom what all of that stands on (trust, access, exposure of what was collected). Every question
has one answer: proved, by arithmetic that can be done again; measured, on this release; declared, by whoever made it;
or not covered, which is said and not left out. Source: Near, Darais, Lefkovitz, Howarth 2025, NIST SP 800-226.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..numbers import brief
from ..theory.meaning import Promise
from .printing import page, text


class Standing(StrEnum):
    """What an answer rests on."""

    PROVED = "proved"
    MEASURED = "measured"
    DECLARED = "declared"
    OPEN = "not covered"


MEANING = {
    Standing.PROVED: "follows by arithmetic from release.json and account.json; verify.py does it again",
    Standing.MEASURED: "computed from this release's own files",
    Standing.DECLARED: "said by whoever made the release; nobody can check it from the files",
    Standing.OPEN: "the guarantee says nothing about it",
}
LEVELS = ("The guarantee", "How it was made", "What it rests on")


@dataclass(frozen=True)
class Answer:
    """One question, where it stands in the pyramid, and one sentence."""

    level: str
    question: str
    standing: Standing
    sentence: str


def review(facts: dict[str, Any]) -> list[Answer]:
    """An answer to every question, by the facts of a release."""
    return [Answer(level, question, *answer(facts)) for level, question, answer in _QUESTIONS]


def review_page(facts: dict[str, Any]) -> str:
    """The answers as a page (HTML) to print."""
    answers = review(facts)
    body = []
    for level in LEVELS:
        rows = "".join(
            f'<tr><th scope="row">{text(a.question)}</th><td>{text(a.sentence)} '
            f'<span class="tag">{a.standing}</span></td></tr>'
            for a in answers
            if a.level == level
        )
        body.append(f"<h2>{level}</h2><table>{rows}</table>")
    told = "".join(f"<li><b>{standing}</b>: {words}</li>" for standing, words in MEANING.items())
    counts = ", ".join(f"{sum(a.standing is s for a in answers)} {s}" for s in Standing)
    title = f"Review of a private release: {facts['dataset']['name']}"
    first = f"<p>{len(answers)} questions in the order of NIST SP 800-226: {counts}.</p>"
    return page(title, f"{first}{''.join(body)}<h2>What the words mean</h2><ul>{told}</ul>")


def _unit(facts: dict[str, Any]) -> tuple[Standing, str]:
    protects = facts["protects"]
    return Standing.DECLARED, (
        f"{protects['unit']} is protected, in a table of {protects['records']:,} rows. Only the owner of the table "
        "knows whether someone has more rows elsewhere."
    )


def _epsilon(facts: dict[str, Any]) -> tuple[Standing, str]:
    told = facts["promise"]
    return Standing.PROVED, (
        f"All uses of the budget together cost no more than ε = {told['epsilon']:g} at δ = {brief(told['delta'])} by "
        f"{told['accounting']} ({told['cost']})."
    )


def _meaning(facts: dict[str, Any]) -> tuple[Standing, str]:
    return Standing.PROVED, Promise.of_release(facts).words


def _total(facts: dict[str, Any]) -> tuple[Standing, str]:
    spent, total = facts["dataset"]["spent"], facts["dataset"]["total"]
    return Standing.PROVED, (
        f"All releases about this data set together cost ε = {spent['epsilon']:.4g} of {total['epsilon']:g} at "
        f"δ = {brief(total['delta'])}; releases outside this ledger are not in it."
    )


def _algorithm(facts: dict[str, Any]) -> tuple[Standing, str]:
    made, plan = facts["made_by"], sum(c["times"] for c in facts["promise"]["charges"] if c["kind"] != "Drawn")
    before = ", and the measurement of its schema before it," if facts.get("measured") else ""
    return Standing.DECLARED, (
        f"{made['algorithm']} ({made['source']}){before} used the data {plan:,} time{'s' * (plan > 1)}. "
        "Each use was entered in the ledger before it happened. No file can show that the program which ran is the "
        "one that was reviewed."
    )


def _noise(facts: dict[str, Any]) -> tuple[Standing, str]:
    return Standing.DECLARED, f"The noise: {facts['made_by']['noise']}."


def _utility(facts: dict[str, Any]) -> tuple[Standing, str]:
    told, useful = facts.get("errors"), facts["utility"]
    if told is None:
        return Standing.MEASURED if useful["good_for"] or useful["not_for"] else Standing.OPEN, (
            f"{useful['sentence']} No answer was measured alone. No error against the real table was computed, "
            "because that would be another release."
        )
    return Standing.MEASURED, (
        f"{useful['sentence']} {told['measured']:,} of {told['answers']:,} answers have a noisy measurement of their "
        f"own, with standard errors of its noise from {told['least']:.3g} to {told['most']:.3g}; what fitting adds to "
        "that is not known."
    )


def _bias(facts: dict[str, Any]) -> tuple[Standing, str]:
    return Standing.OPEN, (
        "Answers that are fitted, counts that cannot fall below zero and rows that were refused or clipped lean one "
        f"way, most of all for small groups among the {facts['protects']['records']:,} rows. By how much is unknown."
    )


def _bounds(facts: dict[str, Any]) -> tuple[Standing, str]:
    if facts["schema"].get("peeked"):
        return Standing.OPEN, (
            f"The schema's bounds were {facts['bounds']}, outside the guarantee, for this reason: {facts['reason']}"
        )
    if facts["schema"].get("measured"):
        here = " Its cost is among the uses above." if facts.get("measured") else ""
        return Standing.DECLARED, f"The schema's bounds and values were {facts['bounds']}.{here}"
    return Standing.DECLARED, f"The schema's bounds were {facts['bounds']}, as public knowledge."


def _peek(facts: dict[str, Any]) -> tuple[Standing, str]:
    if facts["reason"]:
        return Standing.OPEN, f"Someone looked at the data before, for this reason: {facts['reason']}"
    return Standing.DECLARED, "Nobody declared a look at the data before the release."


def _time(_facts: dict[str, Any]) -> tuple[Standing, str]:
    return Standing.OPEN, "How long the run took may depend on the data, and is not protected."


def _bits(facts: dict[str, Any]) -> tuple[Standing, str]:
    if "floating-point" in facts["made_by"]["noise"]:
        return Standing.OPEN, ("Part of the noise is drawn in floating point, whose rounding may leak information.")
    return Standing.DECLARED, "All noise is whole numbers or coins drawn without rounding, so rounding leaks nothing."


def _trust(_facts: dict[str, Any]) -> tuple[Standing, str]:
    return Standing.DECLARED, (
        "The central model: whoever holds the table and runs the program sees every row and is trusted with them."
    )


def _access(facts: dict[str, Any]) -> tuple[Standing, str]:
    ledger = facts["ledger"]
    return Standing.PROVED, (
        f"Entry {ledger['entry']} of ledger {ledger['id']} holds exactly this use of the budget. Its owner's "
        "key signed every file."
    )


def _exposure(_facts: dict[str, Any]) -> tuple[Standing, str]:
    return Standing.OPEN, (
        "How the data were collected, stored and deleted, and who else has a copy, is outside the guarantee."
    )


def _aimed(_facts: dict[str, Any]) -> tuple[Standing, str]:
    return Standing.OPEN, (
        "What is true of many people is shown on purpose. It may be used for or against someone who is not in the "
        "table at all."
    )


_TOP, _MIDDLE, _BASE = LEVELS
_Question = tuple[str, str, Callable[[dict[str, Any]], tuple[Standing, str]]]
_QUESTIONS: tuple[_Question, ...] = (
    (_TOP, "Who is protected (unit of privacy)?", _unit),
    (_TOP, "How large are ε and δ?", _epsilon),
    (_TOP, "What does that mean to one of them?", _meaning),
    (_TOP, "What do all releases cost together?", _total),
    (_MIDDLE, "Is the algorithm correct, and the one that ran?", _algorithm),
    (_MIDDLE, "Where does the noise come from?", _noise),
    (_MIDDLE, "How useful is it?", _utility),
    (_MIDDLE, "Who gets less accurate results (bias)?", _bias),
    (_MIDDLE, "Can rounding leak information (floating point)?", _bits),
    (_MIDDLE, "Can running time leak information?", _time),
    (_MIDDLE, "Where do bounds and categories come from?", _bounds),
    (_MIDDLE, "Did anyone look before?", _peek),
    (_BASE, "Who has to be trusted?", _trust),
    (_BASE, "Who may release, and is it recorded?", _access),
    (_BASE, "How were the data collected and kept?", _exposure),
    (_BASE, "What is not hidden by design?", _aimed),
)
