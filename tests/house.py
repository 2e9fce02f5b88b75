"""The rooms of dpcore and of the pages, and who may know whom: the names that the rules of test_boundary go by.

After a move or a rename this file, `trust` and `walls` are edited. A name that does not exist fails.
"""

# The rooms in their order: a file imports only from its own room and from rooms that stand before it.
ORDER = [
    "errors", "types", "tags", "numbers", "params", "data", "workloads", "geometry", "learning", "problems", "releases",
    "parsing", "models", "privacy", "theory", "algorithms", "intervals", "schemas", "evaluation", "experiments",
    "publishing", "cli", "__main__",
]  # fmt: skip
# What all pages share, in this order; every other folder serves the page of its name.
UI = ("shell", "charts", "jobs", "lessons", "server")
UI_ROOT = "pages/_ui"
PACKAGE = "__init__"  # the public names
MAX_FILES_AT_THE_TOP, MAX_LINES = 9, 400

# Rooms.
ALGORITHMS, PRIVACY, EVALUATION, EXPERIMENTS = "algorithms", "privacy", "evaluation", "experiments"
PUBLISHING, DATA, WORKLOADS, THEORY, CLI = "publishing", "data", "workloads", "theory", "cli"
HOLDERS = {DATA, WORKLOADS, "releases", "geometry", "learning", "parsing", PRIVACY, EVALUATION, EXPERIMENTS}
HOLDERS |= {PUBLISHING, CLI}  # the rooms that may name records
# Rooms that no release rests on: nothing that touches rows may need them.
UNTRUSTED = {ALGORITHMS, EVALUATION, EXPERIMENTS, PUBLISHING, CLI, THEORY, "models", "parsing", "intervals", "schemas"}

# Classes and functions, each with the module that defines it.
ROWS = ("data.domain", "Rows")
RAW_CELLS = ("data.cells", "RawCells")
CURATORS = {
    "TableCurator": "privacy.table_curator",
    "PointCurator": "privacy.point_curator",
    "RiskCurator": "privacy.risk_curator",
}
BASE_CURATOR, COLUMN_CURATOR = ("privacy.curator", "Curator"), ("privacy.column_curator", "ColumnCurator")
CURATOR_OF = ("privacy.curators", "curator_of")
TRUTH = {"Comparison": "evaluation.run", "compare": "evaluation.run", "errors": "evaluation.metrics"}
ANSWERS_OF_ROWS = ("workloads.base", "answers_of_rows")  # a method
GENERATOR, NEW_KEY = ("privacy.entropy", "generator"), ("privacy.entropy", "new_key")
KEYS = "publishing.noise_key"  # which alone asks the operating system for a key
NEW_RELEASE_KEY = (KEYS, "new_key")
MAKES_RELEASE_KEYS = {"publishing.attempt"}

# Modules.
DOORS = {"evaluation.run", "publishing.draw", "experiments.audit"}
REAL = {"publishing.publish", "publishing.draw", "publishing.private_schema"}  # they draw what leaves
COLUMN_DOORS = {
    "experiments.schema_transcripts", "evaluation.schema_trial", "publishing.prepared", "publishing.private_schema",
}  # fmt: skip
MAKES_PUBLIC_CELLS = "experiments.schema_transcripts"
PLAYERS = {"experiments.audit", "experiments.transcripts", "experiments.schema_transcripts"}
PLAYERS_USERS = {"cli", "cli.audit", "experiments.transcripts", "experiments.schema_transcripts"}
TABLES = {"data.readers", "data.samples"}  # where tables come from
METRICS, TRUTHS = "evaluation.metrics", "evaluation.truth"
METRICS_USERS, TRUTHS_USERS = {"evaluation.truth", "evaluation.run", "evaluation.diagnosis"}, {"evaluation.run"}
# Releases answer from their own synthetic rows, and a public start from a public table.
READS_ANSWERS_OF_ROWS = {
    "privacy.statistics.answers", "privacy.table_curator", "evaluation.truth", "evaluation.run", "evaluation.diagnosis",
    "evaluation.purposes", "releases", "problems",
}  # fmt: skip
RELEASES = "releases"
RELEASES_WITH_ROWS = {"evaluation.truth", "evaluation.run", "evaluation.diagnosis", "experiments.pool"}
SCHEMA, READERS = "data.schema", "data.readers"
PACKAGES_OUTSIDE = {"privacy.accounting.conversions": "dp_accounting", "privacy.entropy": "randomgen"}
ENTROPY, MECHANISMS, LEDGER = "privacy.entropy", "privacy.mechanisms", "privacy.accounting.ledger"
STATISTICS = "privacy.statistics"
PUBLIC_ALGORITHMS = {"algorithms.base", "algorithms.forecasts"}  # what pages may import
REGISTRY = {"ALGORITHMS", "Algorithm", "registered_name", "solving", "base"}
