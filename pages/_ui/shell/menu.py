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
            "Make a copy of your table that protects people. First see how far off its answers are.",
            title="What does privacy cost on my table?",
            first=True,
        ),
        Entry(
            "pages/data.py",
            "Data",
            "Bring a table or take a sample. Say what is public about it, and who is protected.",
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
            "Publish one protected release. It is permanent: it cannot be undone or repeated.",
            shows=Tag.PUBLIC,
            spends=True,
            about_table=True,
        ),
    ],
    "Understand": [
        Entry(
            "pages/guarantee.py",
            "Guarantee",
            "What does a privacy budget (ε) promise, and to whom?",
            shows=Tag.PUBLIC,
            about_table=True,
        ),
        Entry(
            "pages/audit.py",
            "Audit",
            "Is the promise kept? Guess which of two tables, one person apart, was released.",
            shows=Tag.PUBLIC,
        ),
        Entry(
            "pages/lessons.py",
            "Lessons",
            "Questions for a class or a meeting, five minutes each: guess, reveal, explain. No mathematics.",
        ),
        Entry(
            "pages/glossary.py",
            "Glossary",
            "What each word means, here and in the command line.",
        ),
    ],
    "Methods": [
        Entry(
            "pages/evolution.py",
            "Evolution",
            "Publish invented places instead of real ones, such as homes that ambulances drove to.",
        ),
        Entry(
            "pages/learning.py",
            "Learning",
            "What does privacy cost when you learn a number or a model from this table?",
            shows=Tag.PEEK,
            about_table=True,
        ),
    ],
}
ENTRIES = {entry.label: entry for entries in MENU.values() for entry in entries}
