"""Forecasts of a run's time and memory from public numbers.

Runs too large for the machine are refused.
"""

from ..algorithms.algorithm import Algorithm, forecast_seconds_and_bytes
from ..core.errors import InputError
from ..core.numbers import machine_memory_bytes
from ..core.run_memory import stated_run_bytes
from ..privacy.accounting import Budget
from ..problems import QueryRelease

MIN_SECONDS_TO_MENTION = 5.0  # seconds from which a forecast is said without being asked for
MAX_MEMORY_SHARE = 0.8  # share of the machine's memory that one run may take


def forecast_affordable_run(
    algorithm: Algorithm, problem: QueryRelease, budget: Budget
) -> tuple[float, float]:
    """Return the rough seconds and bytes of a run; raise InputError for too many bytes.

    Raises what `make_plan` raises too.
    """
    seconds, byte_count = forecast_seconds_and_bytes(algorithm, problem, budget)
    max_bytes = min(MAX_MEMORY_SHARE * machine_memory_bytes(), stated_run_bytes())
    if max_bytes < byte_count:
        raise InputError(
            f"this run would take about {format_bytes(byte_count)} of memory, and a run may take "
            f"{format_bytes(max_bytes)} "
            "of this "
            "machine's; choose fewer columns, coarser bins or smaller tables"
        )
    return seconds, byte_count


def describe_forecast(seconds: float, byte_count: float) -> str:
    """Return a sentence with the expected time and memory of a run."""
    return (
        f"{format_seconds(seconds)} and {format_bytes(byte_count)} of memory beside the "
        "program's own"
    )


def format_seconds(seconds: float) -> str:
    """Return a rough time in words."""
    if seconds < 1:
        return "under 1 s"
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"


def format_bytes(byte_count: float) -> str:
    """Return a memory size in words: in MiB, or from 1 GiB on in GiB."""
    if byte_count < 2**20:
        return "under 1 MiB"
    return (
        f"{byte_count / 2**20:,.0f} MiB" if byte_count < 2**30 else f"{byte_count / 2**30:,.3g} GiB"
    )
