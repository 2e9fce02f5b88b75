"""What a release rests on, by problem: the curator that charges and draws, and all that touches
rows before it.
"""

# Rows come to every curator this way. What is named here is counted with all that it imports.
READING = (
    "data.readers",
    "data.excel",
    "data.text_file",
    "schema.column_texts",
    "data.sources.open_source",
    "data.sources.text_source",
    "data.sources.parquet_source",
    "data.sources.database_source",
)
LIMITING = ("data.privacy_unit", "data.sources.limited_rows_source")
COUNTING = (
    "schema.domain",
    "data.sources.table_counting",
    "data.sources.gathered_counts",
    "data.sources.parallel_counting",
)
DRAWING = ("privacy.entropy", "privacy.curators.curator_of_problem")
ROWS = {
    "reading cells": READING,
    "rows per person": LIMITING,
    "counting": COUNTING,
    "randomness": DRAWING[:1],
}
# (curator, what it rests on beside its own imports) by problem.
RESTS_ON = {
    "tables": ("privacy.curators.table_curator", ROWS),
    "points": ("privacy.curators.point_curator", ROWS),
    "risks": (
        "privacy.curators.risk_curator",
        ROWS | {"the minimiser": ("privacy.minimiser",), "samplers": ("privacy.samplers",)},
    ),
    "columns": ("privacy.curators.column_curator", ROWS),
}
CURATOR, CURATOR_CLASS = (
    "privacy.curators.curator",
    "BudgetedCurator",
)  # every curator's class derives from this one


def modules_of(problem):
    """The modules that a release of a problem rests on, without what they import."""
    curator, others = RESTS_ON[problem]
    return [curator, *(name for names in others.values() for name in names)]


def trusted(source, problem):
    """The (lines of the curator with its imports, lines of all that a release rests on)."""
    curator, _ = RESTS_ON[problem]
    return source.lines(source.reach(curator)), source.lines(source.reach(*modules_of(problem)))


def summary(source):
    """A line to print for each problem."""
    for problem, (_, others) in RESTS_ON.items():
        own, whole = trusted(source, problem)
        also = ", ".join(others)
        yield (
            f"To trust a release of {problem}: {whole:,} lines; {own:,} of the curator, the "
            f"rest for {also}"
        )
