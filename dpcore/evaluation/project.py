"""A project: an experiment with what a person decided and where budget is recorded, as one file.

It holds no row: what is known of the table is its file's name, and what a person may write into a
schema. A file of a project is read as any other text of a stranger: every value is checked, and
nothing that it names is opened.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import InputError
from ..core.types import Json
from ..core.versions import software_versions
from .experiment import Experiment, is_short_text

PROJECT_FILE = "project.json"
MAX_PROJECT_BYTES = 8_000_000  # of a file that a page opens
MAX_REASON_CHARS = 1000
MAX_PATH_CHARS = 1000
TYPED = "typed"
GUESSED = "guessed"
INFERRED_FROM_DATA = "read off"
ORIGINS = (TYPED, GUESSED, INFERRED_FROM_DATA)


@dataclass(frozen=True, kw_only=True)
class Project:
    """An experiment, and the decisions behind it.

    Args:
        experiment: all that determines a run.
        origins: by column of the schema, where its entry comes from: one of ORIGINS.
        kinds_confirmed: whether a person said that kinds and the choice of columns are known
            without the table.
        has_data_entries: whether values or bounds were ever taken from the rows.
        reason: why the table may be released after a look at it; empty where nobody said.
        ledger: the folder of the ledger of its releases; empty where none was named.

    """

    experiment: Experiment
    origins: Mapping[str, str] = field(default_factory=dict)
    kinds_confirmed: bool = False
    has_data_entries: bool = True
    reason: str = ""
    ledger: str = ""

    def to_json(self) -> Json:
        """Return the project as a dictionary, as its file holds it."""
        return {
            **self.experiment.to_json(),
            "decisions": dict(self.origins),
            "kinds_confirmed": self.kinds_confirmed,
            "has_data_entries": self.has_data_entries,
            "reason": self.reason,
            "ledger": self.ledger,
            "versions": software_versions(),
        }

    @classmethod
    def from_json(cls, document: Any) -> "Project":
        """Return the project of a file; InputError says what is wrong with it.

        An experiment is a project without decisions.
        """
        experiment = Experiment.from_json(document)
        origins = document.get("decisions", {})
        if not isinstance(origins, dict) or not all(
            isinstance(origin, str) and origin in ORIGINS for origin in origins.values()
        ):
            raise InputError(f"the project's 'decisions' are not each one of {', '.join(ORIGINS)}")
        flags = {
            "kinds_confirmed": document.get("kinds_confirmed", False),
            "has_data_entries": document.get("has_data_entries", True),
        }
        for name, value in flags.items():
            if not isinstance(value, bool):
                raise InputError(f"the project's {name!r} is not true or false")
        reason = document.get("reason", "")
        ledger = document.get("ledger", "")
        for name, text, max_chars in (
            ("reason", reason, MAX_REASON_CHARS),
            ("ledger", ledger, MAX_PATH_CHARS),
        ):
            if not is_short_text(text, max_chars):
                raise InputError(
                    f"the project's {name!r} is not a text of at most {max_chars:,} characters"
                )
        return cls(
            experiment=experiment,
            origins=origins,
            **flags,
            reason=reason,
            ledger=ledger,
        )
