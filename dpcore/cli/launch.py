"""`privacy-utility-explorer`: run the app on this machine and open it in the browser.

The app's files lie beside the package in a clone, and within it (`_app`) where it was installed
from a wheel. Streamlit reads `.streamlit/config.toml` beside the script that it runs.
"""

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import InputError

PACKAGE_FOLDER = Path(__file__).parents[1]
DEFAULT_PORT = 8501


def find_app_script() -> Path:
    """Return the app's main script; InputError where the package came without it."""
    for folder in (PACKAGE_FOLDER / "_app", PACKAGE_FOLDER.parent):
        script = folder / "app.py"
        if script.exists() and (folder / "pages").is_dir():
            return script
    raise InputError("the app's pages are not here; install privacy-utility-explorer again")


def streamlit_arguments(port: int, *, opens_browser: bool) -> list[str]:
    """Return Streamlit's command line that serves the app on this machine."""
    return [
        "streamlit",
        "run",
        str(find_app_script()),
        f"--server.port={port}",
        f"--server.headless={str(not opens_browser).lower()}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the app until it is stopped; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="privacy-utility-explorer", description="What does privacy cost on my table?"
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="default: %(default)s")
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")
    args = parser.parse_args(arguments)
    try:
        sys.argv = streamlit_arguments(args.port, opens_browser=not args.no_browser)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # in this process, so that whoever stops it stops the server
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
