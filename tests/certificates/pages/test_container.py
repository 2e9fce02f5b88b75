"""The container: built and driven where a container tool is there; else the steps of its file are
run in an empty folder, by an environment that has nothing else.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import venv
from contextlib import contextmanager, suppress
from pathlib import PurePath

import requests

from tests.running_app import OURS, Tab, documented_environment, free_port
from tests.size import ROOT

START_SECONDS = 120
TEXT = (ROOT / ".deploy/Dockerfile").read_text()
# one instruction a line
STEPS = [line for line in TEXT.replace("\\\n", " ").splitlines() if line and line[0] != "#"]


def step(name):
    """The argument of the last step of this kind; CMD and HEALTHCHECK as a list of words."""
    return next(line.partition(" ")[2] for line in reversed(STEPS) if line.startswith(f"{name} "))


def environment(port):
    stated = documented_environment() | {"STREAMLIT_SERVER_PORT": str(port)}
    stated["STREAMLIT_SERVER_ALLOWED_HOSTS"] += " 127.0.0.1"
    return stated


def container_tool():
    """The container tool whose service answers here; None without one."""
    for name in filter(shutil.which, ("docker", "podman")):
        with suppress(subprocess.SubprocessError):
            subprocess.run([name, "info"], check=True, capture_output=True, timeout=30)
            return name
    return None


@contextmanager
def built_container(tool, port):
    """A container of the image that the file builds."""
    tag = "privacy-utility-explorer-test"
    build = [tool, "build", "-q", "-f", str(ROOT / ".deploy/Dockerfile"), "-t", tag, str(ROOT)]
    subprocess.run(build, check=True, timeout=1800)
    given = [word for pair in environment(port).items() for word in ("-e", "=".join(pair))]
    run = [tool, "run", "-d", "-p", f"127.0.0.1:{port}:{port}", *given, tag]
    name = subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield
    finally:
        subprocess.run([tool, "rm", "-f", name], check=True, capture_output=True)


def copied_files():
    """The files that COPY takes: those of the clone that `.dockerignore` does not leave out."""
    ignored = (ROOT / ".dockerignore").read_text().split()
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        if not any(PurePath(name).is_relative_to(pattern) for pattern in ignored):
            yield name


@contextmanager
def steps_as_script(folder, port):
    """The steps of the file in an empty folder: copy, install, settings, start."""
    assert step("COPY").split()[-2:] == [".", "."]
    app = folder / "app"
    for name in copied_files():
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, app / name)
    assert not (app / "tests").exists()
    venv.create(folder / "python", with_pip=True)
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith((*OURS, "PYTHON", "VIRTUAL_ENV"))
    }
    clean |= {"PATH": f"{folder / 'python/bin'}{os.pathsep}{clean['PATH']}", "HOME": str(folder)}
    install = shlex.split(step("RUN"))
    assert install[:2] == ["pip", "install"]
    subprocess.run(install, check=True, cwd=app, env=clean, timeout=900)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            json.loads(step("CMD")),
            cwd=app,
            env=clean | environment(port),
            stdout=log,
            stderr=log,
        )
    try:
        yield
        health = re.search(r"CMD (.*)", step("HEALTHCHECK"))[1].replace("8501", str(port))
        subprocess.run(shlex.split(health), check=True, env=clean, timeout=30)
        assert "Traceback" not in (folder / "log").read_text()
    finally:
        process.terminate()
        process.wait(60)


def test_the_container_s_steps_give_an_app_that_draws_its_pages(tmp_path):
    port = free_port()
    tool = container_tool()
    started = built_container(tool, port) if tool else steps_as_script(tmp_path, port)
    print(f"by {tool or 'its steps as a script'}", file=sys.stderr)
    with started:
        deadline = time.monotonic() + START_SECONDS
        health = f"http://127.0.0.1:{port}/_stcore/health"
        while True:
            with suppress(requests.ConnectionError):
                if requests.get(health, timeout=5).ok:
                    break
            assert time.monotonic() < deadline
            time.sleep(0.5)
        asked = {"Host": "explorer.example.org", "Accept": "text/html"}
        assert requests.get(f"http://127.0.0.1:{port}/", headers=asked, timeout=30).ok
        with Tab(port) as tab:
            assert "can be reached by others" in tab.open("data")
            assert "2,201" in tab.open("explore", "sample=titanic")
            assert "Teach a class" in tab.open("")
