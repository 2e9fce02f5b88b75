"""Words on where a schema's bounds and values come from; `verify.py` holds a copy of this."""

THIS_RELEASE = "this release"
EARLIER_RELEASE = "earlier release"
SCHEMA_AUTHOR = "author"
ENTERED = "person"
REAL_DATA = "data"
SOURCES = (THIS_RELEASE, EARLIER_RELEASE, SCHEMA_AUTHOR, ENTERED, REAL_DATA)
FILLED_IN_TEXT = "filled in from the data, not protected"
STATED_TEXT = "stated by the schema's author, not by this ledger, to have been measured"


def group_origins(origins: list[dict]) -> list[tuple[str, int | None, list[str]]]:
    """Return each source and entry with the names of its columns, in the order of SOURCES.

    Args:
        origins: what release.json says under "provenance": column, source, and the entry of an
            earlier release.

    """
    columns: dict[tuple[str, int | None], list[str]] = {}
    for origin in origins:
        columns.setdefault((origin["source"], origin["entry"]), []).append(origin["column"])
    order = sorted(columns, key=lambda key: (SOURCES.index(key[0]), key[1] or 0))
    return [(source, entry, columns[source, entry]) for source, entry in order]


def describe_bounds(origins: list[dict]) -> str:
    """Return the words on where bounds and values come from; for `origins` see `group_origins`."""
    groups = group_origins(origins)
    if any(source == REAL_DATA for source, *_ in groups):
        return FILLED_IN_TEXT
    parts = [_describe_columns(*group) for group in groups if group[0] != ENTERED]
    if any(source == ENTERED for source, *_ in groups):
        parts.append("others entered by a person" if parts else "entered by a person")
    return "; ".join(parts)


def _describe_columns(source: str, entry: int | None, names: list[str]) -> str:
    """Return the words on the columns of one source."""
    columns = ", ".join(names)
    if source == SCHEMA_AUTHOR:
        return f"{STATED_TEXT}: {columns}"
    release = (
        "this release"
        if source == THIS_RELEASE
        else f"an earlier release, entry {entry} of the ledger"
    )
    return f"measured from the data, protected, with {release}: {columns}"
