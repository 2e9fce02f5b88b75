"""Words on where a schema's bounds and values come from; `verify.py` holds a copy of this."""

HERE, EARLIER, AUTHOR = "this release", "earlier release", "author"
PERSON, DATA = "person", "data"
SOURCES = (HERE, EARLIER, AUTHOR, PERSON, DATA)
FILLED_IN = "filled in from the data, not protected"
STATED = "stated by the schema's author, not by this ledger, to have been measured"


def group_origins(origins: list[dict]) -> list[tuple[str, int | None, list[str]]]:
    """Return each source and entry with the names of its columns, in the order of SOURCES.

    Args:
        origins: what release.json says under "provenance": column, source, and the entry of an earlier release.

    """
    columns: dict[tuple[str, int | None], list[str]] = {}
    for origin in origins:
        columns.setdefault((origin["source"], origin["entry"]), []).append(origin["column"])
    order = sorted(columns, key=lambda key: (SOURCES.index(key[0]), key[1] or 0))
    return [(source, entry, columns[source, entry]) for source, entry in order]


def bounds_in_words(origins: list[dict]) -> str:
    """Return the words on where bounds and values come from; for `origins` see `group_origins`."""
    groups = group_origins(origins)
    if any(source == DATA for source, *_ in groups):
        return FILLED_IN
    parts = [_part_in_words(*group) for group in groups if group[0] != PERSON]
    if any(source == PERSON for source, *_ in groups):
        parts.append("others entered by a person" if parts else "entered by a person")
    return "; ".join(parts)


def _part_in_words(source: str, entry: int | None, names: list[str]) -> str:
    """Return the words on the columns of one source."""
    columns = ", ".join(names)
    if source == AUTHOR:
        return f"{STATED}: {columns}"
    release = "this release" if source == HERE else f"an earlier release, entry {entry} of the ledger"
    return f"measured from the data, protected, with {release}: {columns}"
