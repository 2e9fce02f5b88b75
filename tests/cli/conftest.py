"""The folder in which commands are typed."""

import pytest


@pytest.fixture(autouse=True)
def typed_here(here):
    """Every command is typed among the files of `tests.cli.command_files`."""
