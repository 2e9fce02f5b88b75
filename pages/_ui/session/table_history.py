"""Tables as they were before each change on Data, so that every change can be taken back."""

from dataclasses import dataclass, field

from .table import Table

MAX_STEPS = 100  # changes that can be taken back
MAX_READINGS = 3  # different readings of one file whose rows stay in memory for that


@dataclass(eq=False)
class TableHistory:
    """A table's earlier states, the last one at the end, and those that were taken back.

    They share the rows with the table in use, unless the file was read again in between.
    """

    past: list[Table] = field(default_factory=list)
    undone: list[Table] = field(default_factory=list)

    def store_change(self, before: Table) -> None:
        """Store the state before a change; what was taken back until then is gone."""
        self.past.append(before.without_encoded_rows())
        self.undone = []
        self._forget_oldest()

    def undo(self, current: Table) -> Table:
        """Return the table before the last change, or the current one if there was none."""
        if not self.past:
            return current
        self.undone.append(current.without_encoded_rows())
        return self.past.pop()

    def redo(self, current: Table) -> Table:
        """Return the table after the change that was taken back last, or the current one."""
        if not self.undone:
            return current
        self.past.append(current.without_encoded_rows())
        return self.undone.pop()

    def clear(self) -> None:
        """Forget all states."""
        self.past = []
        self.undone = []

    def _forget_oldest(self) -> None:
        """Forget the oldest states beyond the limits of steps and of readings."""
        states: list[Table] = []
        readings: set[int] = set()
        for state in reversed(self.past[-MAX_STEPS:]):
            readings.add(id(state.frame))
            if len(readings) > MAX_READINGS:
                break
            states.append(state)
        self.past = states[::-1]
