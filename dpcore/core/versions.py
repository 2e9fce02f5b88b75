"""Versions of this program and of the libraries that its numbers come from."""

import platform
from importlib import metadata

import numpy as np
import scipy

PROGRAM_NAME = "privacy-utility-explorer"


def software_versions() -> dict[str, str]:
    """Return the versions of this program and of the libraries that compute with it."""
    try:
        program_version = metadata.version(PROGRAM_NAME)
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        program_version = "not installed"
    return {
        PROGRAM_NAME: program_version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
