"""Tests of pages wait for threads beside the script, and headless tabs have little patience."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "pages" in item.path.parts:
            item.add_marker(pytest.mark.flaky(reruns=1))  # a busy machine may outlast it; a rerun is reported
