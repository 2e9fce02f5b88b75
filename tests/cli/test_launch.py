"""`privacy-utility-explorer`: its port, its browser, its demo; the version that all files name."""

import os
import re
import socket
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer

import yaml

from dpcore.cli import launch
from pages._ui.session import owner
from pages._ui.session.current_table import SAMPLES
from pages._ui.start.admissions import SAMPLE
from tests.size import ROOT
from tests.small_problems import expect_error, parametrize

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/_stcore/health" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


def run_launcher(monkeypatch, *arguments):
    """What Streamlit is started with, and what the browser is to open once it answers."""
    opened = []
    monkeypatch.setattr(launch, "open_when_served", lambda port, page: opened.append((port, page)))
    monkeypatch.setattr(launch.runpy, "run_module", lambda *_, **__: None)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv(launch.DEMO_VARIABLE, "")
    assert launch.main(arguments) == 0
    for thread in threading.enumerate():
        if thread.name == launch.BROWSER_THREAD:
            thread.join(5)
    return sys.argv, opened


def test_the_browser_is_opened_once_the_server_answers(monkeypatch):
    opened = []
    monkeypatch.setattr(launch.webbrowser, "open", opened.append)
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        launch.open_when_served(server.server_port, "explore?x=1")
        server.shutdown()
    assert opened == [f"http://localhost:{server.server_port}/explore?x=1"]
    monkeypatch.setattr(launch, "START_SECONDS", 0.3)
    launch.open_when_served(server.server_port, "")
    assert len(opened) == 1, "nobody answers there any more"


def test_a_port_is_the_first_that_is_free_or_the_one_that_was_named(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(launch, "FIRST_PORT", port)
        assert launch.choose_port(None) > port
        with expect_error(f"port {port} is in use"):
            launch.choose_port(port)
    assert launch.choose_port(port) == port
    with expect_error("outside 1..65535"):
        launch.choose_port(0)


def test_the_plain_command_opens_start_and_is_no_demo(monkeypatch):
    command, opened = run_launcher(monkeypatch)
    assert command[:2] == ["streamlit", "run"]
    assert opened == [(int(command[3].removeprefix("--server.port=")), "")]
    assert not owner.is_demo()
    _, opened = run_launcher(monkeypatch, "--no-browser")
    assert opened == []


def test_the_demo_opens_a_sample_and_has_samples_only(monkeypatch):
    _, ((_, page),) = run_launcher(monkeypatch, "--demo")
    assert page == f"explore?sample={SAMPLE}"
    assert SAMPLE in SAMPLES
    assert owner.is_demo()
    assert owner.has_samples_only()


@parametrize("arguments", [["--port", "0"], ["--port", "99999"]])
def test_a_port_that_is_none_is_refused_in_one_line(capsys, arguments):
    assert launch.main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_one_version_stands_everywhere():
    citation = yaml.safe_load((ROOT / ".github/CITATION.cff").read_text())
    changes = (ROOT / ".github/CHANGELOG.md").read_text()
    newest = re.search(r"^## (\S+)", changes, re.MULTILINE)
    assert PROJECT["version"] == citation["version"] == newest[1]
    assert PROJECT["license"] == citation["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys(), "the format asks so"


def test_the_demo_s_requirements_are_the_project_s():
    lines = (ROOT / ".deploy/demo/requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == PROJECT["dependencies"]


def test_extras_are_left_for_clusters_databases_and_statistical_formats_only():
    extras = PROJECT["optional-dependencies"]
    assert extras.keys() == {"cluster", "sql", "stats", "test"}
    assert all(set(extras[name]) <= set(extras["test"]) for name in ("cluster", "sql", "stats"))


def test_the_library_is_imported_without_streamlit():
    code = "import dpcore, sys; print(any(m.split('.')[0] == 'streamlit' for m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "False"
