"""Words that pages use: one meaning each, for the glossary and as a tooltip where they stand."""

import base64
import re

WORDS = {  # in the order in which a reader meets them; the first sentence alone says enough
    "ε": "How much of one person may show through. Small: well hidden, less exact. Large: more exact, less hidden.",
    "release": "What is published. It is permanent: nobody can take it back or repeat it, and it uses budget.",
    "synthetic table": "Invented rows whose counts resemble those of the real table. None of them is a person.",
    "noise": "Random numbers added to counts, so that no person's part is seen.",
    "point": "A hundredth of all rows: 0.5 points of 20,000 rows are 100 people. Differences of shares are in points.",
    "schema": "What you state about the columns without looking at the data. Such are names, kinds, ranges, values.",
    "composition": "Every release uses budget. All of them together use more than one alone.",
    "sampling floor": "What a sample of this size is off by anyway. More ε does not take it away.",
    "workload": "All the questions that are asked together. Errors are measured over every one of them.",
    "sensitivity": "The most by which one person can move an answer. Noise has to hide that much.",
    "δ": "Allows a rare exception in which more shows through than ε says. A smaller δ makes it rarer. "
    "Keep δ far below 1 divided by the rows.",
    "cell": "One combination of values, such as female and 25–34. Every row has exactly one.",
    "marginal": "A table of counts over some of the columns: how many rows have each pair of values, for example.",
    "neighbours": "Two tables that differ in one person's rows and in nothing else. The promise limits how well anyone "
    "can tell them apart.",
    "quantile": "The value below which a given share of the rows lies. Half of them lie below the median.",
    "disagreement": "How many rows of a group the synthetic table counts at a wrong value: 0% none, 100% all. It is "
    "the sum of all differences of shares, divided by the sum of all shares of both.",
    "frontier": "The smallest error that any run reached at each ε.",
    "trial": "A schema measured with noise that can be repeated: what a release would find and lose by it. It uses "
    "no budget. Do not publish it: someone who knows the number can take the noise off again. A release measures anew.",
    "seed": "The number that fixes a run's random draws: the same number gives the same run. A real release has none.",
    "α": "How much single noisy answers are smoothed. Large: only clear patterns stay. Small: noise stays, too.",
}
PLAIN = {
    "ε": "privacy budget", "δ": "failure probability", "cell": "combination", "composition": "budgets add up",
    "disagreement": "counted wrong", "α": "smoothness", "frontier": "best so far",
    "marginal": "table of counts", "neighbours": "with you, with someone else", "noise": "random change",
    "point": "hundredth", "quantile": "middle value", "release": "publication", "sampling floor": "luck of the sample",
    "schema": "what is public", "seed": "repeat number", "sensitivity": "one person's part",
    "synthetic table": "invented copy", "trial": "try-out", "workload": "questions",
}  # fmt: skip
COLOURS = {"b": "#0072B2", "o": "#D55E00", "g": "#808080"}
_LINES = {  # of a word's picture, 48 by 30: blue is real, orange synthetic
    "composition": "o6 25h10v-6h10v-6h10v-6h8",
    "α": "g4 20l5-10 5 12 5-14 5 13 5-9 5 8 5-6 o4 18q20-8 40-2",
    "noise": "b6 25v-14M16 25v-14M26 25v-14M36 25v-14 o11 25v-18M21 25v-11M31 25v-15M41 25v-12",
    "quantile": "g4 25h40 b8 25v-6M16 25v-14M32 25v-12M40 25v-5 o24 25v-22",
    "release": "b4 15h14 o18 15h24M34 8l8 7-8 7",
    "schema": "b6 5h36v20h-36z o6 11h36 g18 11v14M30 11v14",
    "sensitivity": "b10 25v-12 o10 13v-6 g26 25v-12",
    "synthetic table": "b4 5h16v20h-16z o28 5h16v20h-16zM28 15h16 g20 15h8",
    "cell": "b8 5h32v20h-32zM8 15h32M24 5v20 o25 6h14v8h-14z",
    "disagreement": "b14 25v-20 o26 25v-9 g30 16v-11",
    "frontier": "g6 8h10M18 5h8M30 12h10 o6 10h12v7h12v7h12",
    "marginal": "b8 25v-8M16 25v-18M24 25v-12 o34 5v20M40 5v20",
    "neighbours": "b5 5h16v20h-16zM5 15h16 b27 5h16v20h-16z o27 15h16",
    "point": "b4 25h40M4 25v-4M44 25v-4 o24 25v-18",
    "sampling floor": "b6 4l8 14 8 4 20 1 g4 25h40",
    "seed": "g6 20l6-9 6 6 6-8 6 10 6-7 6 4",
    "trial": "b6 25v-18M16 25v-10 o28 25v-17M38 25v-11 g24 3v24",
    "workload": "b6 7h36 b6 15h28 o6 23h20",
    "ε": "g4 15h40 b4 15h14 o18 23v-16",
    "δ": "g6 8h4M16 8h4M26 8h4M36 8h4M6 22h4M26 22h4M36 22h4 o16 22h4",
}


def picture(lines: str) -> str:
    """An image of strokes, each begun by the letter of its colour, as a table shows it."""
    paths = "".join(f'<path d="M{s[1:]}" stroke="{COLOURS[s[0]]}"/>' for s in re.split(r" (?=[bog])", lines))
    frame = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 30" fill="none" stroke-width="3">'
    return "data:image/svg+xml;base64," + base64.b64encode(f"{frame}{paths}</svg>".encode()).decode()


PICTURES = {word: picture(lines) for word, lines in _LINES.items()}


def meaning(*words: str) -> str | None:
    """The tooltip of a place where these words stand, one line each; None for no word."""
    return None if not words else "\n\n".join(f"**{word[0].upper() + word[1:]}**: {WORDS[word]}" for word in words)
