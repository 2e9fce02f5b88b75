"""What a stranger installs: the wheel, in an environment and a folder of its own, draws its pages."""

import os
import site
import subprocess
import sys
import venv

import pytest

from tests.browser_actions import wait_for_heading, wait_for_text
from tests.running_app import free_port, wait_until
from tests.size import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of a new environment with the wheel; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("stranger")
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", wheels, ROOT], check=True, cwd=folder)
    (wheel,) = wheels.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, with_pip=False)
    (packages,) = environment.glob("lib/python*/site-packages")
    subprocess.run(
        [*pip, "install", "--no-deps", "--target", packages, wheel], check=True, cwd=folder
    )
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    return folder, environment


def test_one_command_from_a_wheel_draws_start_data_and_explore(installed, chromium, tmp_path):
    folder, environment = installed
    port = free_port()
    command = [environment / "bin" / "python", "-m", "dpcore.cli.launch", "--no-browser"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            env={k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")},
        )
    try:
        wait_until(lambda: f":{port}" in (tmp_path / "log").read_text())
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        wait_for_text(page, "Teach a class")
        for name in ("Data", "Explore"):
            page.goto(f"http://127.0.0.1:{port}/{name.lower()}")
            wait_for_heading(page, name)
        wait_for_text(page, "As exact as counting")
        assert not list(tmp_path.glob("*.py"))
    finally:
        process.terminate()
        process.wait(20)
