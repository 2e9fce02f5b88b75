"""The peak memory of a piece of work, where the operating system reports it."""

from pathlib import Path

STATUS_FILE = Path("/proc/self/status")
PEAK_RESET_FILE = Path("/proc/self/clear_refs")


class PeakMemory:
    """The peak of this process's memory since this object was made, above its memory then.

    Linux keeps a high-water mark that can be set back; elsewhere `bytes_above_start` is None.
    Memory that the process had taken before and kept is not seen again, so that small works may
    show 0.
    """

    def __init__(self) -> None:
        try:
            PEAK_RESET_FILE.write_text("5")
            self._start_kilobytes = _status_kilobytes("VmRSS")
        except OSError:
            self._start_kilobytes = None

    @property
    def bytes_above_start(self) -> int | None:
        """The bytes above the start; None where the operating system does not report them."""
        if self._start_kilobytes is None:
            return None
        peak = _status_kilobytes("VmHWM")
        if peak is None:
            return None
        return 1024 * max(0, peak - self._start_kilobytes)


def _status_kilobytes(name: str) -> int | None:
    """Return the kilobytes after `name` in the process's status; None where `name` is missing."""
    for line in STATUS_FILE.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return None
