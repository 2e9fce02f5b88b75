"""The rooms of dpcore and of the pages, and who may know whom: the names that the rules of
test_boundary go by.

After a move or a rename this file, `trusted_lines` and `source_rules` are edited. A name that does
not exist fails.
"""

# The rooms in their order: a file imports only from its own room and from rooms that stand before
# it.
ORDER = [
    "core",
    "schema",
    "data",
    "queries",
    "problems",
    "models",
    "privacy",
    "algorithms",
    "accuracy",
    "evaluation",
    "release",
    "cli",
    "__main__",
]
# What all pages share, in this order; every other folder serves the page of its name.
UI = (
    *("session", "components", "charts", "overview", "released", "jobs"),
    *("project", "lessons", "server"),
)
UI_ROOT = "pages/_ui"
PACKAGE = "__init__"  # the public names
MAX_FILES_AT_THE_TOP = 2
MAX_FILES_IN_A_FOLDER = 16
MAX_LINES = 600

# Rooms.
ALGORITHMS = "algorithms"
PRIVACY = "privacy"
EVALUATION = "evaluation"
ACCURACY = "accuracy"
RELEASE = "release"
SCHEMA = "schema"
DATA = "data"
QUERIES = "queries"
PROBLEMS = "problems"
CLI = "cli"
HOLDERS = {
    SCHEMA,
    DATA,
    QUERIES,
    PROBLEMS,
    PRIVACY,
    EVALUATION,
    RELEASE,
    CLI,
}  # the rooms that may name records
HOLDER_MODULES = {
    "models.releases"
}  # a release of synthetic rows groups them as records are grouped
UNREACHED_BY_ALGORITHMS = {DATA, EVALUATION}
# Rooms and modules that no release rests on: nothing that touches rows may need them.
UNTRUSTED = {ALGORITHMS, EVALUATION, RELEASE, CLI, ACCURACY, "models"}
UNTRUSTED_MODULES = {
    "queries.question_grammar",
    "queries.questions",
    "queries.parse_queries",
    "problems.parse_tasks",
}

# Classes and functions, each with the module that defines it.
ROWS = ("schema.domain", "Rows")
RAW_CELLS = ("schema.column_texts", "ColumnTexts")
CURATORS = {
    "TableCurator": "privacy.curators.table_curator",
    "PointCurator": "privacy.curators.point_curator",
    "RiskCurator": "privacy.curators.risk_curator",
}
BASE_CURATOR = ("privacy.curators.curator", "Curator")
COLUMN_CURATOR = ("privacy.curators.column_curator", "ColumnCurator")
CURATOR_OF = ("privacy.curators.curator_of_problem", "make_curator")
TRUTH = {
    "Comparison": "evaluation.run",
    "compare_with_rows": "evaluation.run",
    "compute_errors": "evaluation.metrics",
}
ANSWERS_OF_ROWS = ("queries.workload", "answers_of_rows")  # a method
GENERATOR = ("privacy.entropy", "generator")
NEW_KEY = ("privacy.entropy", "new_key")
KEYS = "release.ledger.noise_key"  # which alone asks the operating system for a key
NEW_RELEASE_KEY = (KEYS, "create_key")
MAKES_RELEASE_KEYS = {"release.attempt"}

# Modules.
DOORS = {"evaluation.run", "release.draw", "evaluation.audit.distinguishing_game"}
REAL = {"release.publish", "release.draw", "release.measured_schema"}  # they draw what leaves
COLUMN_DOORS = {
    "evaluation.audit.schema_transcripts",
    "evaluation.schema_trial",
    "release.preparation",
    "release.measured_schema",
}
MAKES_PUBLIC_CELLS = "evaluation.audit.schema_transcripts"
PLAYERS = {
    "evaluation.audit.distinguishing_game",
    "evaluation.audit.transcript_test",
    "evaluation.audit.schema_transcripts",
}
PLAYERS_HELPERS = {"evaluation.audit", "evaluation.audit.output_likelihoods"}
PLAYERS_USERS = {
    "cli",
    "cli.commands.audit",
    "evaluation.audit.transcript_test",
    "evaluation.audit.schema_transcripts",
}
TABLES = {"data.readers", "data.samples"}  # where tables come from
METRICS = "evaluation.metrics"
TRUTHS = "evaluation.truth"
METRICS_USERS = {"evaluation.truth", "evaluation.run", "evaluation.error_diagnosis"}
TRUTHS_USERS = {"evaluation.run"}
# Releases answer from their own synthetic rows, and a public start from a public table.
READS_ANSWERS_OF_ROWS = {
    "privacy.statistics.query_answers",
    "privacy.curators.table_curator",
    "evaluation.truth",
    "evaluation.run",
    "evaluation.error_diagnosis",
    "evaluation.group_counts",
    "evaluation.purposes",
    "models.releases",
    "problems.kinds",
}
RELEASES = "models.releases"
# runs plans on tables that are nobody's, for a release too; it takes no row of the table
SIMULATION = "evaluation.predicted_errors"
RELEASES_WITH_ROWS = {
    SIMULATION,
    "evaluation.truth",
    "evaluation.run",
    "evaluation.error_diagnosis",
    "evaluation.sweeps.worker_pool",
}
SCHEMA_FILE = "schema.schema_json"
READERS = "data.readers"
PROBLEM_KINDS = {"problems", "problems.kinds"}
PACKAGES_OUTSIDE = {
    "privacy.accounting.conversions": "dp_accounting",
    "privacy.entropy": "randomgen",
}
ENTROPY = "privacy.entropy"
MECHANISMS = "privacy.mechanisms"
LEDGER = "privacy.accounting.budget_meter"
STATISTICS = "privacy.statistics"
PUBLIC_ALGORITHMS = {
    "algorithms.algorithm"
}  # what pages may import, and what is in this folder and these modules
PUBLIC_ALGORITHM_FOLDER = "algorithms.schema_measurement."
PUBLIC_ALGORITHMS |= {"algorithms.points.evolution_bounds", "algorithms.risk.risk_bounds"}
PUBLIC_ALGORITHMS |= {
    f"algorithms.query_release.shared.{name}"
    for name in ("optimal_noise", "step_schedules", "workload_width")
}
# Parts of algorithms that ask no curator: bounds, and schemas, which are measured by a curator of
# columns.
NO_ALGORITHM = {
    "algorithms.query_release.shared.optimal_noise",
    "algorithms.query_release.shared.workload_width",
}
NO_ALGORITHM_FOLDER = "algorithms.schema_measurement"
REGISTRY = {"ALGORITHMS", "Algorithm", "registered_name", "algorithms_for_problem"}
