"""The experiment that a tab has shown last, and of which table."""

from dataclasses import dataclass

from dpcore.evaluation.experiment import Experiment

from ..session.session import session
from ..session.table import Table

EXPERIMENT_NAME = "experiment"  # of the slot among a tab's resources


@dataclass(eq=False)
class ExperimentSlot:
    """The experiment that a tab has shown last, if any, and the identity of its table."""

    experiment: Experiment | None = None
    table_identity: str = ""

    def close(self) -> None:
        """Forget it."""
        self.experiment = None
        self.table_identity = ""


def experiment_slot() -> ExperimentSlot:
    """Return the slot of the tab's last experiment; another one in the stakeholder view."""
    return session().get_or_create(EXPERIMENT_NAME, ExperimentSlot)


def store_experiment(experiment: Experiment, table: Table) -> None:
    """Keep the experiment that a page shows of a table."""
    slot = experiment_slot()
    slot.experiment = experiment
    slot.table_identity = table.identity
