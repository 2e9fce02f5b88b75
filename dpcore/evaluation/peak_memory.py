"""The peak memory of a piece of work, where the operating system reports it."""

from pathlib import Path

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Peak:
    """The peak of this process's memory since this object was made, above its memory then.

    Linux keeps a high-water mark that can be set back; elsewhere `bytes` is None. Memory that the process had taken
    before and kept is not seen again, so that small works may show 0.
    """

    def __init__(self) -> None:
        try:
            RESET.write_text("5")
            self._before = _kilobytes("VmRSS")
        except OSError:
            self._before = None

    @property
    def bytes(self) -> int | None:
        """The bytes above the start; None where the operating system does not report them."""
        if self._before is None or (peak := _kilobytes("VmHWM")) is None:
            return None
        return 1024 * max(0, peak - self._before)


def _kilobytes(name: str) -> int | None:
    """The number of kilobytes after `name` in the process's status; None where it is not there."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return None
