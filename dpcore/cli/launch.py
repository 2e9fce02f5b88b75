"""`privacy-utility-explorer`: run the app on this machine and open it in the browser.

The app's files lie beside the package in a clone, and within it (`_app`) where it was installed
from a wheel. Streamlit reads `.streamlit/config.toml` beside the script that it runs.
"""

import argparse
import http.client
import os
import runpy
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import InputError
from ..core.versions import PROGRAM_NAME, software_versions

PACKAGE_FOLDER = Path(__file__).parents[1]
FIRST_PORT = 8501
PORTS_TO_TRY = 100
START_SECONDS = 60  # in which a slow machine has begun to serve
BROWSER_THREAD = "open-browser"
DEMO_VARIABLE = "DPCORE_DEMO"
DEMO_PAGE = "explore?sample=berkeley"  # a real table, drawn in a second


def find_app_script() -> Path:
    """Return the app's main script; InputError where the package came without it."""
    for folder in (PACKAGE_FOLDER / "_app", PACKAGE_FOLDER.parent):
        script = folder / "app.py"
        if script.exists() and (folder / "pages").is_dir():
            return script
    raise InputError(f"the app's pages are not here; install {PROGRAM_NAME} again")


def is_port_free(port: int) -> bool:
    """Return whether nobody on this machine serves at a port."""
    with socket.socket() as candidate:
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_port(requested: int | None) -> int:
    """Return the requested port, or the first free one; InputError where it is in use."""
    if requested is None:
        ports = range(FIRST_PORT, FIRST_PORT + PORTS_TO_TRY)
        free_port = next((port for port in ports if is_port_free(port)), None)
        if free_port is None:
            raise InputError(f"ports {ports[0]} to {ports[-1]} are in use; name one by --port")
        return free_port
    if not 1 <= requested <= 65535:
        raise InputError(f"--port {requested} is outside 1..65535")
    if not is_port_free(requested):
        raise InputError(f"port {requested} is in use; name another by --port, or none")
    return requested


def streamlit_arguments(port: int) -> list[str]:
    """Return Streamlit's command line that serves the app on this machine.

    Streamlit opens no browser itself where an app brings its own server, as this one does.
    """
    return [
        "streamlit",
        "run",
        str(find_app_script()),
        f"--server.port={port}",
        "--server.headless=true",
    ]


def open_when_served(port: int, page: str) -> None:
    """Open a page in the browser once the server answers; do nothing if it never does."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/_stcore/health")
            if connection.getresponse().status == http.client.OK:
                webbrowser.open(f"http://localhost:{port}/{page}")
                return
        except (OSError, http.client.HTTPException):  # it is still starting
            pass
        finally:
            connection.close()
        time.sleep(0.2)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM_NAME, description="What does privacy cost on my table?"
    )
    parser.add_argument("--version", action="version", version=software_versions()[PROGRAM_NAME])
    parser.add_argument(
        "--demo",
        action="store_true",
        help="open a sample at once, with public samples only: no upload, no release, and less "
        "than 1 GB of memory",
    )
    parser.add_argument(
        "--port", type=int, help=f"default: the first that is free from {FIRST_PORT} on"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the app until it is stopped; return its exit code."""
    options = make_parser().parse_args(arguments)
    try:
        port = choose_port(options.port)
        sys.argv = streamlit_arguments(port)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    page = ""
    if options.demo:
        os.environ[DEMO_VARIABLE] = "1"
        page = DEMO_PAGE
    if not options.no_browser:
        threading.Thread(
            target=open_when_served, args=(port, page), daemon=True, name=BROWSER_THREAD
        ).start()
    # in this process, so that whoever stops it stops the server
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
