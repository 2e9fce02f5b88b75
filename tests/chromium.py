"""A real server and a real Chromium. Without a browser these tests fail in CI and are skipped
elsewhere.
"""

import os
import shutil

import pytest

from tests.running_app import serve_app

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium():
    """Playwright's browser object on an installed Chromium or Chrome."""
    from playwright.sync_api import expect, sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        message = "no Chromium or Chrome on PATH (Debian: apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(chromium, tmp_path_factory):
    """The address of the app, freshly started."""
    with serve_app(tmp_path_factory.mktemp("server") / "log") as app:
        yield f"http://localhost:{app.port}"


@pytest.fixture
def page(chromium, server):
    """A fresh tab at 1440 × 900; it fails the test if the page asked anybody but the server for
    anything.
    """
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    tab = context.new_page()
    tab.set_default_timeout(30_000)
    foreign = []
    dialogs = []
    ours = (server, server.replace("http", "ws"), "data:", "blob:")
    tab.on("request", lambda r: None if r.url.startswith(ours) else foreign.append(r.url))
    tab.on("dialog", lambda d: (dialogs.append(d.message), d.dismiss()))
    yield tab
    context.close()
    assert foreign == []
    assert dialogs == []
