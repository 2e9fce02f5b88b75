"""Words that pages use: one meaning each, for the glossary and as a tooltip where they stand."""

WORDS = {
    "cell": "One combination of values, such as female and 25–34: every record lies in exactly one cell.",
    "disagreement": "How much of what the real and the synthetic table say about a group differs: the sum of all "
    "differences of shares, divided by the sum of all shares of both. 0% where they say the same, 100% where they "
    "have nothing in common.",
    "frontier": "The smallest error that any of the runs reached at each ε: below and to its left nothing was found.",
    "marginal": "A table of counts over some of the columns, all others summed out: how many have each pair of values.",
    "neighbours": "Two tables that differ in one person's rows, and in nothing else: the promise limits "
    "how well anybody can tell them apart.",
    "point": "A hundredth of all records: 0.5 points of 20,000 records are 100 people. Differences of shares are in "
    "points.",
    "sampling floor": "The error against the population that a perfect copy of the table would have, as the table is "
    "only a sample of it. More ε does not take it away.",
    "seed": "The number that a run's random draws follow from: the same seed gives the same run. A real release "
    "has none.",
    "trial": "A schema measured with the noise of a seed, to see what a release would find and lose by it. It uses "
    "no budget. Do not publish it: someone who knows the seed can take the noise off again. A release measures anew.",
    "workload": "All the questions that are asked together; errors are measured over every one of them.",
}


def meaning(*words: str) -> str | None:
    """The tooltip of a place where these words stand, one line each; None for no word."""
    return None if not words else "\n\n".join(f"**{word[0].upper() + word[1:]}**: {WORDS[word]}" for word in words)
