"""What a stranger installs: the wheel, in an environment and a folder of its own, draws its pages."""

import os
import site
import socket
import subprocess
import sys
import tomllib
import venv
from contextlib import contextmanager

import pytest

from tests.browser_actions import wait_for_heading, wait_for_text
from tests.running_app import free_port, wait_until
from tests.size import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The command in a new environment with the wheel; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("stranger")
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", wheels, ROOT], check=True, cwd=folder)
    (wheel,) = wheels.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, with_pip=False)
    into = ["--python", environment / "bin" / "python", "install", "--no-deps", wheel]
    subprocess.run([*pip, *into], check=True, cwd=folder)
    (packages,) = environment.glob("lib/python*/site-packages")
    assert list(packages.glob("privacy_utility_explorer-*/licenses/LICENSE"))
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    return environment / "bin" / "privacy-utility-explorer"


@contextmanager
def running(command, folder, *options):
    """The installed command in a folder where nothing else is; what it opens in the browser."""
    browser = folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {folder}/opened\n')
    browser.chmod(0o755)
    names = ("PYTHONPATH", "VIRTUAL_ENV", "DPCORE_DEMO")
    environment = {k: v for k, v in os.environ.items() if k not in names}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [command, *options],
            cwd=folder,
            stdout=log,
            stderr=log,
            env=environment | {"BROWSER": str(browser)},
        )
    try:
        yield folder / "opened"
    finally:
        process.terminate()
        process.wait(60)


def test_one_command_from_a_wheel_opens_start_and_draws_data_and_explore(
    installed, chromium, tmp_path
):
    port = free_port()
    with running(installed, tmp_path, "--port", str(port)) as opened:
        wait_until(lambda: opened.exists() and opened.read_text())
        assert opened.read_text() == f"http://localhost:{port}/\n"
        page = chromium.new_page()
        page.goto(opened.read_text().strip())
        wait_for_text(page, "Teach a class")
        for name in ("Data", "Explore"):
            page.goto(f"http://127.0.0.1:{port}/{name.lower()}")
            wait_for_heading(page, name)
        wait_for_text(page, "As exact as counting")
        page.close()
        assert {path.name for path in tmp_path.iterdir()} == {"browser", "log", "opened"}


def test_its_demo_opens_a_sample_that_is_drawn_at_once(installed, chromium, tmp_path):
    with running(installed, tmp_path, "--demo") as opened:
        wait_until(lambda: opened.exists() and opened.read_text())
        page = chromium.new_page()
        page.goto(opened.read_text().strip())
        wait_for_heading(page, "Explore")
        wait_for_text(page, "4,526")
        page.close()


def test_it_says_its_version_and_refuses_a_port_that_is_in_use(installed, tmp_path):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    said = subprocess.check_output([installed, "--version"], cwd=tmp_path, text=True)
    assert said == f"{version}\n"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [installed, "--port", str(taken.getsockname()[1])]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "is in use" in done.stderr
