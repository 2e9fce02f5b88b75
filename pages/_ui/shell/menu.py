"""Which pages there are, in which groups, and the question that each of them answers."""

from dataclasses import dataclass

from dpcore.tags import Tag


@dataclass(frozen=True)
class Entry:
    """A page: its file, its name in the menu, the line below the title, and the title.

    `shows` is its badge. The head of a page that is `about_table` names the table; where the page `says_later`, it does
    so itself, once it knows which table it is, and its badge says whether those are real rows: a sample is public.
    """

    path: str
    label: str
    lead: str
    title: str = ""  # where it is not the name in the menu
    shows: Tag | None = None
    about_table: bool = False
    says_later: bool = False
    first: bool = False
    spends: bool = False  # draws the gauge itself, with what it is about to use


MENU: dict[str, list[Entry]] = {
    "": [
        Entry(
            "pages/start.py",
            "Start",
            "Its rows are invented, its counts resemble yours. First see how far off they are.",
            title="Publish a copy of your table that protects people",
            first=True,
        ),
        Entry(
            "pages/data.py",
            "Data",
            "Bring a table: it stays in memory and goes with your tab. Say what is public about its columns.",
            says_later=True,
        ),
        Entry(
            "pages/explore.py",
            "Explore",
            "What does privacy cost on this table?",
            shows=Tag.PEEK,
            about_table=True,
        ),
        Entry(
            "pages/compare.py",
            "Compare",
            "How small can the privacy budget (ε) be?",
            shows=Tag.PEEK,
            about_table=True,
        ),
        Entry(
            "pages/release.py",
            "Release",
            "A release cannot be undone or repeated.",
            shows=Tag.PUBLIC,
            spends=True,
            about_table=True,
        ),
    ],
    "Understand": [
        Entry(
            "pages/guarantee.py",
            "Guarantee",
            "What does a person risk?",
            shows=Tag.PUBLIC,
            about_table=True,
        ),
        Entry(
            "pages/audit.py",
            "Audit",
            "Is the promise kept? A game tests it.",
            shows=Tag.PUBLIC,
        ),
        Entry(
            "pages/lessons.py",
            "Lessons",
            "Your class guesses the missing bar, then drags the privacy budget (ε) to see it. Five minutes each.",
        ),
        Entry(
            "pages/glossary.py",
            "Glossary",
            "What each word means.",
        ),
    ],
    "Methods": [
        Entry(
            "pages/evolution.py",
            "Evolution",
            "Publish a map of ambulance calls, say, without showing anyone's home.",
        ),
        Entry(
            "pages/learning.py",
            "Learning",
            "What does privacy cost when you learn from this table?",
            shows=Tag.PEEK,
            about_table=True,
        ),
    ],
}
ENTRIES = {entry.label: entry for entries in MENU.values() for entry in entries}
