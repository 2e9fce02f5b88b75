"""The questions of NIST SP 800-226 about a release, answered from its facts: a page to print, and a file of it.

The guidelines draw a pyramid: the guarantee on top (unit, ε), below it how it was made (correctness, utility, bias,
side channels), at the bottom what all of that stands on (trust, access, exposure of what was collected). Every question
has one answer: proved, by arithmetic that can be done again; measured, on this release; declared, by whoever made it;
or not covered, which is said and not left out. Source: Near, Darais, Lefkovitz, Howarth 2025, NIST SP 800-226.
"""

from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from ..numbers import brief, points
from ..theory.meaning import Promise
from ..types import value_object
from .printing import TEMPLATES, Facts, page


class Standing(StrEnum):
    """The kind of evidence that an answer rests on."""

    PROVED = "proved"
    MEASURED = "measured"
    DECLARED = "declared"
    OPEN = "not covered"


PROVED, MEASURED, DECLARED, OPEN = Standing
Said = tuple[Standing, str]
MEANING = {
    PROVED: "follows by arithmetic from release.json and account.json; verify.py does it again",
    MEASURED: "computed from this release's own files",
    DECLARED: "said by whoever made the release; nobody can check it from the files",
    OPEN: "the guarantee says nothing about it",
}
LEVELS = ("The guarantee", "How it was made", "What it rests on")


@value_object
class Answer:
    """The answer to one question: its place in the pyramid, its evidence and one sentence."""

    level: str
    question: str
    standing: Standing
    sentence: str


def review(facts: Facts) -> list[Answer]:
    """The answers to all questions, from the facts of a release."""
    return [Answer(level, question, *answer(facts)) for level, question, answer in _QUESTIONS]


def review_page(facts: Facts) -> str:
    """The answers as an HTML page to print."""
    answers = review(facts)
    return page(
        TEMPLATES / "review.html",
        dataset=facts["dataset"],
        answers=answers,
        counts=Counter(answer.standing for answer in answers),
        levels=LEVELS,
        meaning=MEANING,
    )


def _algorithm(facts: Facts) -> Said:
    made, plan = facts["made_by"], sum(c["times"] for c in facts["promise"]["charges"] if c["kind"] != "Drawn")
    before = ", and the measurement of its schema before it," if facts.get("measured") else ""
    return DECLARED, (
        f"{made['algorithm']} ({made['source']}){before} used the data {plan:,} time{'s' * (plan > 1)}. "
        "Each use was entered in the ledger before it happened. No file can show that the program which ran is the "
        "one that was reviewed."
    )


def _utility(facts: Facts) -> Said:
    told, useful = facts.get("errors"), facts["utility"]
    exact = useful["as_exact_as_sample"]
    sample = "" if exact is None else f" The answers are as exact as a sample of {points(exact)}% of the rows."
    if told is None:
        return MEASURED if useful["good_for"] or useful["not_for"] else OPEN, (
            f"{useful['sentence']}{sample} No answer was measured alone. No error against the real table was computed, "
            "because that would be another release."
        )
    return MEASURED, (
        f"{useful['sentence']}{sample} {told['measured']:,} of {told['answers']:,} answers have a noisy measurement of "
        f"their own, with standard errors of its noise from {told['least']:.3g} to {told['most']:.3g}; what fitting "
        "adds to that is not known."
    )


def _bounds(facts: Facts) -> Said:
    if facts["schema"].get("peeked"):
        return OPEN, (
            f"The schema's bounds were {facts['bounds']}, outside the guarantee, for this reason: {facts['reason']}"
        )
    if facts["schema"].get("measured"):
        here = " Its cost is among the uses above." if facts.get("measured") else ""
        return DECLARED, f"The schema's bounds and values were {facts['bounds']}.{here}"
    return DECLARED, f"The schema's bounds were {facts['bounds']}, as public knowledge."


def _peek(facts: Facts) -> Said:
    if facts["reason"]:
        return OPEN, f"Someone looked at the data before, for this reason: {facts['reason']}"
    return DECLARED, "Nobody declared a look at the data before the release."


def _bits(facts: Facts) -> Said:
    if "floating-point" in facts["made_by"]["noise"]:
        return OPEN, ("Part of the noise is drawn in floating point, whose rounding may leak information.")
    return DECLARED, "All noise and all coins are drawn without rounding, so rounding leaks nothing."


_TOP, _MIDDLE, _BASE = LEVELS
_QUESTIONS: tuple[tuple[str, str, Callable[[Facts], Said]], ...] = (
    (_TOP, "Who is protected (unit of privacy)?", lambda f: (DECLARED, (
        f"Protected: {f['protects']['unit']}, in a table of {f['protects']['records']:,} rows. Only the owner of the "
        "table knows whether someone has more rows elsewhere."
    ))),
    (_TOP, "How large are ε and δ?", lambda f: (PROVED, (
        f"All uses of the budget together cost no more than ε = {f['promise']['epsilon']:g} at "
        f"δ = {brief(f['promise']['delta'])} by {f['promise']['accounting']} ({f['promise']['cost']})."
    ))),
    (_TOP, "What does that mean for one person?", lambda f: (PROVED, Promise.of_release(f).words)),
    (_TOP, "What do all releases cost together?", lambda f: (PROVED, (
        f"All releases about this data set together cost ε = {f['dataset']['spent']['epsilon']:.4g} of "
        f"{f['dataset']['total']['epsilon']:g} at δ = {brief(f['dataset']['total']['delta'])}; releases outside this "
        "ledger are not in it."
    ))),
    (_MIDDLE, "Is the algorithm correct, and the one that ran?", _algorithm),
    (_MIDDLE, "Where does the noise come from?", lambda f: (DECLARED, f"The noise: {f['made_by']['noise']}.")),
    (_MIDDLE, "How useful is it?", _utility),
    (_MIDDLE, "Who gets less accurate results (bias)?", lambda f: (OPEN, (
        "Answers that are fitted, counts that cannot fall below zero and rows that were refused or clipped lean one "
        f"way, most of all for small groups among the {f['protects']['records']:,} rows. By how much is unknown."
    ))),
    (_MIDDLE, "Can rounding leak information (floating point)?", _bits),
    (_MIDDLE, "Can running time leak information?", lambda _: (
        OPEN, "How long the run took may depend on the data, and is not protected."
    )),
    (_MIDDLE, "Where do bounds and categories come from?", _bounds),
    (_MIDDLE, "Did anyone look before?", _peek),
    (_BASE, "Who has to be trusted?", lambda _: (DECLARED, (
        "The central model: whoever holds the table and runs the program sees every row and is trusted with them."
    ))),
    (_BASE, "Who may release, and is it recorded?", lambda f: (PROVED, (
        f"Entry {f['ledger']['entry']} of ledger {f['ledger']['id']} holds exactly this use of the budget. Its owner's "
        "key signed every file."
    ))),
    (_BASE, "How were the data collected and kept?", lambda _: (OPEN, (
        "How the data were collected, stored and deleted, and who else has a copy, is outside the guarantee."
    ))),
    (_BASE, "What is not hidden by design?", lambda _: (OPEN, (
        "What is true of many people is shown on purpose. It may be used for or against someone who is not in the "
        "table at all."
    ))),
)  # fmt: skip
