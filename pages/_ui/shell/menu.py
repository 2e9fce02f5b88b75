"""Which pages there are, in which groups, and the question that each of them answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A page: its file, its name in the menu, its title and the line below; beside it where `compact`."""

    path: str
    label: str
    title: str
    lead: str
    first: bool = False
    compact: bool = False


MENU: dict[str, list[Entry]] = {
    "": [
        Entry(
            "pages/start.py",
            "Start",
            "What does privacy cost on my table?",
            "See it before you decide: move ε and watch the real answers turn private.",
            first=True,
        ),
        Entry(
            "pages/data.py",
            "Data",
            "Data",
            "Bring a table, or take a sample; say what everybody may know about it, and whom the promise protects.",
        ),
        Entry(
            "pages/explore.py",
            "Explore",
            "Explore",
            "What does privacy cost on this table? Choose questions, an algorithm and ε; the charts follow.",
            compact=True,
        ),
        Entry(
            "pages/compare.py",
            "Compare",
            "Compare",
            "Which algorithm, and how small an ε, does this table bear? Every dot is a run; lower is better.",
        ),
        Entry(
            "pages/release.py",
            "Release",
            "Release",
            "One real release that keeps the promise: planned in the open, charged for ever, drawn once.",
        ),
    ],
    "Understand": [
        Entry(
            "pages/guarantee.py",
            "Guarantee",
            "Guarantee",
            "What does this ε promise, and to whom? Nothing on this page reads a record.",
        ),
        Entry(
            "pages/audit.py",
            "Audit",
            "Audit",
            "Is the promise kept? Run an algorithm many times on two tables that differ in one record, and guess.",
        ),
        Entry(
            "pages/lessons.py",
            "Lessons",
            "Lessons",
            "Five links for a classroom: predict, reveal, explain. Each opens Explore on a sample, in its own state.",
        ),
        Entry(
            "pages/glossary.py",
            "Glossary",
            "Glossary",
            "One meaning each, everywhere: on these pages, in the command line and in the code.",
        ),
    ],
    "Methods": [
        Entry(
            "pages/evolution.py",
            "Evolution",
            "Evolution",
            "Points are varied at random, voted for by the private ones, kept or dropped: how near do they come?",
        ),
        Entry(
            "pages/learning.py",
            "Learning",
            "Learning",
            "What does privacy cost when a number, a classifier or a regression is learned from this table?",
        ),
    ],
}
ENTRIES = {entry.label: entry for entries in MENU.values() for entry in entries}
