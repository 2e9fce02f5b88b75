"""The browser, the server and the tabs of `tests/browser`, for its longer certificates."""

from tests.browser.conftest import chromium, page, pytest_collection_modifyitems, server

__all__ = ["chromium", "page", "pytest_collection_modifyitems", "server"]
