"""A real server and tabs without a browser: the handshake, what a page sends, uploads. On the
loopback only.
"""

import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import requests
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.size import ROOT

START = 90  # seconds a server may take to answer
OURS = ("STREAMLIT_", "DPCORE_")  # settings of the machine the tests run on stay out


def wait_until(what):
    """Wait until something comes true."""
    until = time.monotonic() + 90
    while not what():
        assert time.monotonic() < until
        time.sleep(0.5)


def cpu_seconds(process):
    """Seconds of a core that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@dataclass(frozen=True)
class Server:
    port: int
    process: subprocess.Popen
    log: Path

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def get(self, path, timeout=60):
        """The status of an answer."""
        return requests.get(self.address + path, timeout=timeout).status_code

    def said(self):
        return self.log.read_text(errors="replace")

    def megabytes(self):
        """What the server itself holds, without its workers."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) // 1024


@contextmanager
def serve_app(log, *options, command=("streamlit", "run", "app.py"), **environment):
    """The app, started as documented, with these settings; stopped at the end."""
    port = free_port()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(OURS)} | environment
    ports = ("--server.port", str(port))
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command, *ports, *options],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=out,
        )
    server = Server(port, process, log)
    try:
        for _ in range(5 * START):
            with suppress(OSError):
                if server.get("/_stcore/health", 1) == 200:
                    break
            assert process.poll() is None, server.said()
            time.sleep(0.2)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def documented_environment():
    """The environment of the image as its file says: its ENV lines, and the run line's -e with the
    example's name.
    """
    text = (ROOT / ".deploy/Dockerfile").read_text()
    env = re.search(r"^ENV ((?:.*\\\n)*.*)$", text, re.MULTILINE)[1].replace("\\\n", " ")
    run = re.search(r"^# Run:\s*(.*)$", text, re.MULTILINE)[1]
    words = shlex.split(run)
    given = [words[i + 1] for i, word in enumerate(words) if word == "-e"]
    return dict(pair.split("=", 1) for pair in [*shlex.split(env), *given])


def handshake_status(port, *, host=None, origin=None):
    """The status of the answer to a WebSocket's opening: 101 when it is let in."""
    headers = {
        "Host": host or f"127.0.0.1:{port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "streamlit",
    } | ({"Origin": origin} if origin else {})
    address = f"http://127.0.0.1:{port}/_stcore/stream"
    with requests.get(address, headers=headers, timeout=60, stream=True) as answer:
        return answer.status_code


class Tab:
    """One connection as a browser's tab makes it; `parts` are what the last run sent, `text` is all
    of it.
    """

    def __init__(self, port, *, in_frame=False):
        self.port = port
        self.session = ""
        self.parts = []
        self.hashes = {}
        address = f"ws://127.0.0.1:{port}/_stcore/stream" + "?in-frame=yes" * in_frame
        self._opened = connect(address, subprotocols=["streamlit"], max_size=None, open_timeout=60)

    def __enter__(self):
        self.line = self._opened.__enter__()
        return self

    def __exit__(self, *told):
        self._opened.__exit__(*told)

    def ask(self, page="", query=""):
        """Ask for a page ("" is Start), and do not wait."""
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_name = page
        message.rerun_script.page_script_hash = self.hashes.get(page, "")
        self.line.send(message.SerializeToString())

    @property
    def text(self):
        return "\n".join(map(str, self.parts))

    def wait(self, seconds=300):
        """Read to the end of a run."""
        until = time.monotonic() + seconds
        parts = []
        while True:
            message = ForwardMsg.FromString(
                self.line.recv(timeout=max(until - time.monotonic(), 0.01))
            )
            kind = message.WhichOneof("type")
            if kind == "new_session":
                parts = []
                self.session = message.new_session.initialize.session_id or self.session
                pages = message.new_session.app_pages or message.navigation.app_pages
                self.hashes |= {p.url_pathname: p.page_script_hash for p in pages}
            elif kind == "navigation":
                self.hashes |= {
                    p.url_pathname: p.page_script_hash for p in message.navigation.app_pages
                }
            elif kind == "delta":
                parts.append(message.delta)
            elif (
                kind == "script_finished"
                and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            ):
                self.parts = parts
                return

    def open(self, page="", query=""):
        self.ask(page, query)
        self.wait()
        return self.text

    def put(self, content, file="f"):
        """Upload bytes into this session, as an uploader would; the status of the answer."""
        place = f"http://127.0.0.1:{self.port}/_stcore"
        cookies = requests.get(f"{place}/health", timeout=60).cookies
        token = {"X-Xsrftoken": cookies["_streamlit_xsrf"].strip('"')}
        sent = {
            "files": {"t.csv": ("t.csv", content, "text/csv")},
            "headers": token,
            "cookies": cookies,
            "timeout": 120,
        }
        try:
            return requests.put(f"{place}/upload_file/{self.session}/{file}", **sent).status_code
        except requests.ConnectionError:  # refused before all of it was sent
            return 413


class Listener:
    """A proxy on the loopback that hears who is asked for, and answers nobody."""

    def __enter__(self):
        self.heard = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._lines = []
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._socket.close()
        for line in self._lines:
            line.close()

    def _listen(self):
        with suppress(OSError):
            while True:
                line = self._socket.accept()[0]
                self._lines.append(line)
                line.settimeout(2)
                self.heard.append(line.recv(200).decode("latin-1").split("\r\n")[0])

    def environment(self):
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        return dict.fromkeys(names, self.address) | {"no_proxy": "", "NO_PROXY": ""}
