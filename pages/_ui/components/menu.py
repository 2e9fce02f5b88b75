"""Which pages there are, in which groups, and the question that each of them answers."""

import tomllib
from pathlib import Path

from dpcore.core.provenance import Provenance
from dpcore.core.types import value_object


@value_object
class PageEntry:
    """A page: its file, its name in the menu, the line below the title, and the title.

    `shows` is its badge. The head of a page that is `about_table` names the table; where the page
    `says_later`, it does so itself, once it knows which table it is.
    """

    path: str
    label: str
    lead: str
    title: str = ""  # where it is not the name in the menu
    shows: Provenance | None = None
    about_table: bool = False
    says_later: bool = False
    first: bool = False
    spends: bool = False  # draws the gauge itself, with what it is about to use


def load_menu() -> dict[str, list[PageEntry]]:
    """Return the pages by their groups, "" for none, as they are written beside this file."""
    menu: dict[str, list[PageEntry]] = {}
    for label, settings in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items():
        group = settings.pop("group", "")
        badge_name = settings.pop("shows", None)
        shows = None if badge_name is None else Provenance[badge_name]
        menu.setdefault(group, []).append(
            PageEntry(f"pages/{label.lower()}.py", label, shows=shows, **settings)
        )
    return menu


DATA_PAGE_LABEL = "Data"  # the page that brings and describes a table
ENTRIES_BY_GROUP = load_menu()
ENTRIES_BY_LABEL = {
    entry.label: entry for entries in ENTRIES_BY_GROUP.values() for entry in entries
}
