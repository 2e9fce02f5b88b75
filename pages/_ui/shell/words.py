"""Words that pages use: one meaning each, for the glossary and as a tooltip where they stand."""

WORDS = {
    "cell": "One combination of values, such as female and 25–34. Every row has exactly one.",
    "disagreement": "How much the real and the synthetic table differ about a group: 0% identical, 100% completely "
    "different. It is the sum of all differences of shares, divided by the sum of all shares of both.",
    "frontier": "The smallest error that any run reached at each ε.",
    "marginal": "A table of counts over some of the columns: how many rows have each pair of values, for example.",
    "neighbours": "Two tables that differ in one person's rows and in nothing else. The promise limits how well anyone "
    "can tell them apart.",
    "point": "A hundredth of all rows: 0.5 points of 20,000 rows are 100 people. Differences of shares are in points.",
    "sampling floor": "What a sample of this size is off by anyway. More ε does not take it away.",
    "seed": "The number that fixes a run's random draws: the same number gives the same run. A real release has none.",
    "trial": "A schema measured with noise that can be repeated: what a release would find and lose by it.  It uses "
    "no budget. Do not publish it: someone who knows the number can take the noise off again. A release measures anew.",
    "workload": "All the questions that are asked together. Errors are measured over every one of them.",
}
PLAIN = {
    "cell": "combination", "disagreement": "difference", "frontier": "best so far", "marginal": "table of counts",
    "neighbours": "with you, without you", "point": "hundredth", "sampling floor": "luck of the sample",
    "seed": "repeat number", "trial": "try-out", "workload": "questions",
}  # fmt: skip


def meaning(*words: str) -> str | None:
    """The tooltip of a place where these words stand, one line each; None for no word."""
    return None if not words else "\n\n".join(f"**{word[0].upper() + word[1:]}**: {WORDS[word]}" for word in words)
