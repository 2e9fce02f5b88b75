"""Memory that one run may take where a server's owner says so, and a process that keeps to it."""

import math
import os
import re

from .errors import InputError
from .numbers import process_memory_bytes

try:
    import resource
except ImportError:  # where a process cannot be limited, forecasts alone refuse what is too large
    resource = None

MEMORY_VARIABLE = "DPCORE_RUN_MEMORY"
MEGABYTE = 2**20
# of a process that imports what its first runs need: numbers and their threads (50 MiB measured)
IMPORT_BYTES = 96 * MEGABYTE


def stated_run_bytes() -> float:
    """Return the bytes that the environment allows one run, or ∞ where it says nothing.

    Raises InputError for what is no positive number of megabytes.
    """
    text = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not text:
        return math.inf
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise InputError(f"{MEMORY_VARIABLE}={text!r} is not a number of megabytes, such as 200")
    return float(text) * MEGABYTE


def limit_process_memory() -> None:
    """Limit this process to what it holds now and one run, if the environment says how much.

    What asks for more gets a MemoryError. Without the system's own counts nothing is limited.
    """
    run_bytes = stated_run_bytes()
    if resource is None or math.isinf(run_bytes):
        return
    own_bytes = process_memory_bytes("VmData")
    if own_bytes is not None:
        max_bytes = own_bytes + IMPORT_BYTES + int(run_bytes)
        _, hard_limit = resource.getrlimit(resource.RLIMIT_DATA)
        if hard_limit == resource.RLIM_INFINITY or max_bytes < hard_limit:
            resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, hard_limit))
