"""Forecasts of a run's time and memory from public numbers; runs too large for the machine are refused."""

from ..algorithms.algorithm import Algorithm, forecast
from ..core.errors import InputError
from ..core.numbers import machine_memory
from ..privacy.accounting import Budget
from ..problems import QueryRelease

SAID = 5.0  # seconds from which a forecast is said without being asked for
ROOM = 0.8  # share of the machine's memory that one run may take


def affordable(algorithm: Algorithm, problem: QueryRelease, budget: Budget) -> tuple[float, float]:
    """The rough seconds and bytes of a run; raises what `make_plan` raises, and InputError for too many bytes."""
    seconds, byte_count = forecast(algorithm, problem, budget)
    if (max_bytes := ROOM * machine_memory()) < byte_count:
        raise InputError(
            f"this run would take about {in_bytes(byte_count)} of memory, and a run may take {in_bytes(max_bytes)} "
            "of this "
            "machine's; choose fewer columns, coarser bins or smaller tables"
        )
    return seconds, byte_count


def words(seconds: float, size: float) -> str:
    """A sentence with the expected time and memory of a run."""
    return f"{in_seconds(seconds)} and {in_bytes(size)} of memory beside the program's own"


def in_seconds(seconds: float) -> str:
    """A rough time in words."""
    if seconds < 1:
        return "under 1 s"
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"


def in_bytes(size: float) -> str:
    """A memory size in words: in MiB, or from 1 GiB on in GiB."""
    if size < 2**20:
        return "under 1 MiB"
    return f"{size / 2**20:,.0f} MiB" if size < 2**30 else f"{size / 2**30:,.3g} GiB"
