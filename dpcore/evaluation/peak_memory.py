"""The peak memory of a piece of work, where the operating system reports it."""

from pathlib import Path

from ..core.numbers import process_memory_bytes

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
            self._start_bytes = process_memory_bytes("VmRSS")
        except OSError:
            self._start_bytes = None

    @property
    def bytes_above_start(self) -> int | None:
        """The bytes above the start; None where the operating system does not report them."""
        if self._start_bytes is None:
            return None
        peak_bytes = process_memory_bytes("VmHWM")
        if peak_bytes is None:
            return None
        return max(0, peak_bytes - self._start_bytes)
