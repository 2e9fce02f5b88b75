"""What a visitor sees behind a proxy that changes names, and inside a frame of a course page."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.browser_actions import wait_for_heading, wait_for_text
from tests.running_app import serve_app, wait_until
from tests.small_problems import parametrize


def pump(source, target, change):
    """Hand on what comes from one socket to another, changed, until either ends."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(change(data))
    stop_sockets(source, target)


def stop_sockets(*sockets):
    """End what waits for these sockets."""
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(server_port, change):
    """The port of a proxy on the loopback that changes what a browser sends."""
    with ExitStack() as stack, ThreadPoolExecutor(200) as threads:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        sockets = [listener]

        def serve():
            with suppress(OSError):
                while True:
                    client = stack.enter_context(listener.accept()[0])
                    server = socket.create_connection(("127.0.0.1", server_port))
                    sockets.extend([client, stack.enter_context(server)])
                    threads.submit(pump, client, server, change)
                    threads.submit(pump, server, client, bytes)

        threads.submit(serve)
        yield listener.getsockname()[1]
        stop_sockets(*sockets)


@contextmanager
def course_page(address):
    """The port of a page of another site that shows the app in a frame."""

    class Course(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            frame = f'<iframe src="{address}" width="1200" height="800"></iframe>'
            self.wfile.write(f"<h1>Course</h1>{frame}".encode())

        def log_message(self, *_):
            pass

    course = ThreadingHTTPServer(("127.0.0.1", 0), Course)
    threading.Thread(target=course.serve_forever, daemon=True).start()
    try:
        yield course.server_port
    finally:
        course.shutdown()
        course.server_close()


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    """The app, which pages of localhost may show in a frame."""
    log = tmp_path_factory.mktemp("hosted") / "log"
    with serve_app(log, DPCORE_FRAME_ANCESTORS="http://localhost:*") as app:
        yield app


@pytest.fixture
def tab(chromium):
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def asked_as(host):
    """As a proxy does that asks the app by another name."""

    def change(data):
        before, found, after = data.partition(b"\r\nHost: ")
        return before + found + host + after[after.find(b"\r\n") :] if found else data

    return change


def without_upgrade(data):
    """As a proxy does that hands on no WebSocket."""
    return data.replace(b"Upgrade: websocket", b"Upgrade: nothing")


@parametrize(
    "change, words",
    [
        (asked_as(b"localhost"), "A proxy between them changes the name"),
        (asked_as(b"explorer.example.org"), "does not answer to the name “explorer.example.org”"),
        (without_upgrade, "WebSockets through"),
    ],
)
def test_a_page_that_stays_empty_behind_a_proxy_says_why(hosted, tab, change, words):
    with proxy(hosted.port, change) as port:
        tab.goto(f"http://127.0.0.1:{port}/explore")
        wait_for_text(tab, words)
        tab.goto(f"{hosted.address}/explore")
        wait_for_heading(tab, "Explore")
        expect(tab.get_by_text(words)).to_have_count(0)


def test_a_named_course_page_shows_the_app_in_a_frame_with_samples_only(hosted, tab):
    with course_page(f"{hosted.address}/data") as course:
        tab.goto(f"http://localhost:{course}")
        frame = tab.frame_locator("iframe")
        expect(frame.get_by_role("heading", name="Data", exact=True)).to_be_visible()
        expect(frame.get_by_text("public samples only")).to_be_visible()
        expect(frame.get_by_test_id("stFileUploader")).to_have_count(0)
        expect(frame.get_by_role("link", name="Open in a window of its own")).to_be_visible()
        tab.goto(f"{hosted.address}/data")
        expect(tab.get_by_test_id("stFileUploader").first).to_be_visible()


def test_a_page_that_nobody_named_shows_no_frame(hosted, tab):
    refusals = []
    tab.on("console", lambda message: refusals.append(message.text))
    with course_page(f"{hosted.address}/data") as course:
        tab.goto(f"http://127.0.0.1:{course}")
        wait_until(lambda: tab.wait_for_timeout(100) or "frame-ancestors" in "".join(refusals))
        assert tab.frame_locator("iframe").get_by_role("heading").count() == 0
