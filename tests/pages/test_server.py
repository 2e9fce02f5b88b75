"""The server as it is started for real: who may talk to it, what it holds, hands on, tells and asks
of others.
"""

import asyncio
import math
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from unittest.mock import Mock
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
import requests
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_media_file_storage import _calculate_file_id

from pages._ui.server import connection_check, frame_ancestors
from pages._ui.server.page_address import complete_query
from pages._ui.session import current_table, uploads
from tests.running_app import (
    Listener,
    Tab,
    documented_environment,
    handshake_status,
    serve_app,
    wait_until,
)
from tests.small_problems import module_fixture, parametrize

EVIL = "http://evil.example"
LOCAL = {
    "server.address": "127.0.0.1",
    "server.allowedHosts": ["localhost", "127.0.0.1"],
    "server.corsAllowedOrigins": [],
}
MB = 2**20
LET_IN = 101
REFUSED = 403


@contextmanager
def several(server, number):
    with ExitStack() as stack:
        yield [stack.enter_context(Tab(server.port)) for _ in range(number)]


@module_fixture
def listener():
    with Listener() as found:
        yield found


@module_fixture
def server(tmp_path_factory, listener):
    """On one's own machine, with everything it asks of others going to the listener."""
    log = tmp_path_factory.mktemp("server") / "log"
    options = ("--server.maxUploadSize", "2")
    with serve_app(log, *options, **listener.environment()) as found:
        yield found


@module_fixture
def public(tmp_path_factory, listener):
    """As the documentation says for others."""
    environment = documented_environment() | listener.environment()
    environment["STREAMLIT_SERVER_ALLOWED_HOSTS"] += " 127.0.0.1"
    environment["STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS"] = "https://friend.example"
    log = tmp_path_factory.mktemp("public") / "log"
    with serve_app(log, **environment) as found:
        yield found


HERE = "?sample=berkeley&epsilon=0.3&columns-berkeley=Sex&columns-berkeley=Year"


@parametrize(
    "asked, here, found",
    [
        ("", HERE, HERE),
        ("epsilon=1", HERE, HERE.replace("0.3", "1")),
        ("or-epsilon=1&or-delta=0", HERE, HERE + "&delta=0"),
        ("or-epsilon=1", "", "epsilon=1"),
        ("lesson=noise&part=a", "?part=a", "lesson=noise&part=a"),
        ("a=", "", "a="),
        ("&".join(f"a{i}=1" for i in range(2000)), HERE, HERE),
    ],
)
def test_what_is_asked_for_is_completed_by_the_address(asked, here, found):
    assert parse_qs(complete_query(asked, here), True) == parse_qs(found.removeprefix("?"), True)


def test_the_server_hands_on_what_a_browser_says_beside_a_message(server):
    with Tab(server.port) as tab:
        for path in ("", "explore", "glossary"):
            page = requests.get(f"{server.address}/{path}", timeout=60).text
            assert 0 < page.index("history.pushState") < page.index("<script type")
        tab.line.send("?epsilon=0.3&sample=titanic")
        told = tab.open("guarantee")  # the first deep link of a new server goes by the entry
        assert "2,201" in told
        assert "Share" in told, "the frame is drawn around it"
        assert "ε = 0.3 and δ = 1e-9" in tab.text
        tab.line.send("")
        tab.line.send("?sample=berkeley")
        assert "4,526" in tab.open("explore", "sample=berkeley")


def test_pages_from_elsewhere_are_refused_at_once_and_nobody_is_asked(server, listener):
    here = f"http://127.0.0.1:{server.port}"
    with ThreadPoolExecutor(10) as many:
        waiting = [many.submit(handshake_status, server.port, origin=EVIL) for _ in range(10)]
        assert server.get("/_stcore/health", timeout=5) == 200
        assert {w.result() for w in waiting} == {REFUSED}
    others = [
        "null",
        "http://[",
        here + "0",
        f"http://127.0.0.1.evil.example:{server.port}",
        "http://127.0.0.1",
    ]
    assert [handshake_status(server.port, origin=origin) for origin in others] == [REFUSED] * len(
        others
    )
    let_in = [None, here]
    assert [handshake_status(server.port, origin=origin) for origin in let_in] == [LET_IN] * len(
        let_in
    )
    assert handshake_status(server.port, host="evil.example", origin=EVIL) == REFUSED
    assert listener.heard == []


def test_the_documented_deployment_serves_its_own_host_and_nobody_else_s_pages(public, listener):
    host = documented_environment()["STREAMLIT_SERVER_ALLOWED_HOSTS"]
    other = "other.example.org"
    asked = [
        (host, f"https://{host}", LET_IN),
        (f"{host}:8501", f"http://{host}:8501", LET_IN),
        (host, None, LET_IN),
        (host, "https://friend.example", LET_IN),
        (other, f"https://{other}", REFUSED),
        (host, EVIL, REFUSED),
        (host, f"https://{other}", REFUSED),
        (other, f"https://{host}", REFUSED),
    ]
    assert [(h, o, handshake_status(public.port, host=h, origin=o)) for h, o, _ in asked] == asked
    assert public.get("/_stcore/health", timeout=4) == 200
    assert listener.heard == []


ALERT = "<script>alert(1)</script>"


@parametrize(
    "host, name, words",
    [
        (
            "explorer.example.org:8443",
            "“explorer.example.org”",
            "add explorer.example.org to the environment variable",
        ),
        (ALERT, "“<script>alert(1)<”", "add it to the environment variable"),
        ("two\u202ewords", "words”", "add it to the environment variable"),
    ],
)
def test_a_page_asked_for_by_another_name_says_what_to_set_and_so_does_the_log(
    server, host, name, words
):
    headers = {"Host": host.encode(), "Accept": "text/html"}
    for path in ("/", "/explore?epsilon=1", "/nosuch"):
        answer = requests.get(server.address + path, headers=headers, timeout=60)
        assert answer.status_code == REFUSED
        assert words in answer.text
        assert "STREAMLIT_SERVER_ALLOWED_HOSTS" in answer.text
        assert "<script" not in answer.text
    assert words in server.said()
    assert server.said().count(name) == 1, "once, however often it is asked for"
    assert "It answers to: localhost 127.0.0.1." in server.said()
    assert "\u202e" not in server.said()


def test_what_a_stranger_makes_the_log_say_is_bounded(monkeypatch):
    logged = []
    monkeypatch.setattr(connection_check, "_logged_texts", set())
    monkeypatch.setattr(connection_check._logger, "warning", lambda *_: logged.append(1))
    for i in range(3 * connection_check.MAX_LOGGED_REFUSALS):
        connection_check.log_once(f"{i // 2}")
    assert len(logged) == connection_check.MAX_LOGGED_REFUSALS


def test_a_page_that_stays_empty_can_ask_why(server):
    asked = {"origin": "https://elsewhere.example"}
    reason = requests.get(f"{server.address}/connection-reason", params=asked, timeout=60).text
    assert "The browser opened https://elsewhere.example" in reason
    assert "Host $http_host" in reason
    asked = {"origin": server.address}
    reason = requests.get(f"{server.address}/connection-reason", params=asked, timeout=60).text
    assert "WebSocket" in reason


@parametrize(
    "changed, is_public",
    [
        ({}, False),
        ({"server.corsAllowedOrigins": ["http://localhost:3000"]}, False),
        ({"server.corsAllowedOrigins": ["https://friend.example"]}, True),
        ({"server.corsAllowedOrigins": ["*"]}, True),
        ({"server.address": None}, True),
        ({"server.allowedHosts": []}, True),
        ({"server.allowedHosts": ["localhost", "explorer.example.org"]}, True),
    ],
)
def test_whoever_else_can_reach_or_drive_a_server_makes_it_one_for_others(
    monkeypatch, changed, is_public
):
    monkeypatch.setattr(current_table.st, "get_option", (LOCAL | changed).get)
    assert current_table.is_public_host() == is_public


@parametrize(
    "text, policy",
    [
        ("", "frame-ancestors 'self'"),
        (
            "https://moodle.example.org https://*.example.edu:8443",
            "frame-ancestors 'self' https://moodle.example.org https://*.example.edu:8443",
        ),
        ("* 'none' https: data: https://x.org/a https://x.org; https://", "frame-ancestors 'self'"),
    ],
)
def test_only_whole_addresses_that_the_owner_names_may_frame_it(monkeypatch, text, policy):
    monkeypatch.setenv(frame_ancestors.ANCESTORS_VARIABLE, text)
    headers = frame_ancestors.frame_headers()
    assert headers["Content-Security-Policy"] == policy
    assert ("X-Frame-Options" in headers) == (policy == "frame-ancestors 'self'")


def test_inside_a_frame_nothing_is_uploaded_named_or_released(server):
    with Tab(server.port, in_frame=True) as framed, Tab(server.port) as tab:
        assert "public samples only" in framed.open("data")
        assert "upload" not in {
            part.split("-")[-1] for part in re.findall(r'id: "([^"]*)"', framed.text)
        }
        assert "server-path" not in framed.text
        assert framed.put(b"a,b\n1,2\n") == REFUSED
        assert "public samples only" in framed.open("release")
        assert "ledger-folder" not in framed.text
        for page, key in (("data", "server-path"), ("release", "ledger-folder")):
            assert key in tab.open(page)
        assert "public samples only" not in tab.text


@parametrize("path", ["/", "/explore", "/_stcore/host-config"])
def test_no_other_page_may_show_these_in_a_frame_or_send_them_messages(server, path):
    answer = requests.get(server.address + path, timeout=60)
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    if path.startswith("/_stcore"):
        assert answer.json()["allowedOrigins"] == []


@parametrize("path", ["/_stcore/metrics", "/_stcore/metrics?families=x", "/_stcore/agent/interact"])
def test_what_would_tell_of_other_tabs_is_not_there(server, path):
    assert server.get(path) == 404


def test_uploads_are_bounded_and_go_with_their_page(server):
    with Tab(server.port) as tab, Tab(server.port) as other:
        tab.open("data")
        assert [tab.put(bytes(MB), file=str(i)) for i in range(3)] == [204] * 3
        assert tab.put(bytes(MB), file="more") == 413
        assert tab.put(bytes(3 * MB), file="large") == 413
        tab.open("data")
        assert tab.put(bytes(MB), file="more") == 413, "drawing a page again makes no room"
        other.open("data")
        assert other.put(bytes(MB)) == 204
        tab.open("glossary")
        assert tab.put(bytes(MB)) == 204


def test_all_tabs_together_are_bounded_too(server):
    with several(server, 7) as tabs:
        for tab in tabs:
            tab.open("glossary")
        answers = [tab.put(bytes(MB), file=str(i)) for tab in tabs for i in range(3)]
        assert 8 <= answers.count(204) <= 16
        assert answers[-1] == 413


def test_what_a_tab_held_is_given_back_when_it_is_gone(tmp_path):
    options = ("--server.maxUploadSize", "64", "--server.disconnectedSessionTTL", "15")
    with serve_app(tmp_path / "log", *options) as server:
        with Tab(server.port) as tab:
            tab.open("data")
            before = server.megabytes()
            assert [tab.put(bytes(60 * MB), file=str(i)) for i in range(3)] == [204, 204, 413]
            assert server.megabytes() > before + 100
        wait_until(lambda: server.megabytes() < before + 40)


def test_who_does_not_come_back_is_closed_once_and_memory_given_back(monkeypatch):
    server, given = Mock(), Mock()
    server.is_active_session.return_value = False
    monkeypatch.setattr(uploads.runtime, "get_instance", lambda: server)
    monkeypatch.setattr(uploads, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(uploads, "_last_active", {"gone": -math.inf})
    monkeypatch.setattr(uploads, "_uploaded_bytes", dict)
    monkeypatch.setattr(uploads, "release_memory", given)

    async def for_a_second():
        await asyncio.wait_for(uploads.close_abandoned_sessions(), 1)

    with (
        ThreadPoolExecutor() as threads,
        pytest.raises(TimeoutError),
    ):  # a browser's loop may run in this one
        threads.submit(lambda: asyncio.run(for_a_second())).result()
    server.close_session.assert_called_once_with("gone")
    given.assert_called_once_with()


def test_a_download_cannot_be_asked_for_by_its_content(server):
    """Its address is not a hash of what is in it: else a stranger could try out what a guessed
    table would give.
    """
    with Tab(server.port) as tab, Tab(server.port) as twin:
        places = [
            re.findall(r"/media/(\w+)\.json", one.open("data", "sample=berkeley"))
            for one in (tab, twin)
        ]
        assert len(places[0]) == len(places[1]) == 1
        assert places[0] != places[1], "nor shared by tabs that hold the same"
        content = requests.get(f"{server.address}/media/{places[0][0]}.json", timeout=60).content
        guessed = _calculate_file_id(content, "application/json", "schema.json")
        assert server.get(f"/media/{guessed}.json") == 404


def test_no_tab_can_empty_the_caches_of_all(server):
    with Tab(server.port) as tab:
        tab.open("explore")
        tab.line.send(BackMsg(clear_cache=True).SerializeToString())
        tab.line.send(b"\xff\xfe not a message")
        with Tab(server.port) as other:
            assert "What does privacy cost" in other.open("explore")
    assert "the server is stopping" not in server.said()


def test_pages_asked_for_at_once_all_come_whole(server):
    """The last of several quick clicks is what a tab gets."""
    with several(server, 4) as tabs:
        for tab in tabs:
            tab.open("lessons")
        for page in ("guarantee", "explore", "data", "glossary"):
            for tab in tabs:
                tab.ask(page)
        for tab in tabs:
            while "Labels" not in tab.text:
                tab.wait()
            assert len(tab.text) > 5_000


def test_a_page_names_the_library_of_charts_before_there_is_a_chart(server):
    page = requests.get(f"{server.address}/explore", timeout=60).text
    links = re.findall(
        r'<link rel="modulepreload"[^>]* href="\./(static/js/PlotlyChart[^"]*)">', page
    )
    assert len(links) == 1
    assert page.index(links[0]) > page.index("static/js/index."), "after what is needed first"
    assert server.get(f"/{links[0]}") == 200


def test_scripts_and_styles_come_compressed_to_whoever_takes_them_so(server):
    page = requests.get(server.address, timeout=60).text
    paths = re.findall(r'"\./(static/(?:js|css)/(?:index|PlotlyChart)\.[^"]*)"', page)
    assert len(paths) >= 3
    for path in paths:
        address = f"{server.address}/{path}"
        plain = requests.get(address, headers={"Accept-Encoding": "identity"}, timeout=60)
        packed = requests.get(address, headers={"Accept-Encoding": "br, gzip"}, timeout=60)
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.content == plain.content
        packed_bytes = int(packed.headers["Content-Length"])
        assert packed_bytes < len(plain.content) / 2
        for name in ("Vary", "Cache-Control", "Content-Security-Policy"):
            assert packed.headers[name] == plain.headers[name]
        kind = "css" if path.endswith(".css") else "javascript"
        assert packed.headers["Content-Type"].startswith(f"text/{kind}")
        part = requests.get(address, headers={"Range": "bytes=0-9"}, timeout=60)
        assert part.content == plain.content[:10]


def forge(tab, text, button, path):
    """What a browser would send that names a table on the server and presses the button beside it."""
    message = BackMsg()
    message.rerun_script.page_script_hash = tab.hashes["data"]
    message.rerun_script.widget_states.widgets.add(id=text, string_value=path)
    message.rerun_script.widget_states.widgets.add(id=button, trigger_value=True)
    tab.line.send(message.SerializeToString())
    tab.wait()
    return tab.text


def test_on_a_server_for_others_no_path_that_a_forged_browser_sends_is_read(
    server, public, tmp_path
):
    planted = tmp_path / "secret.csv"
    planted.write_text("name,word\n" + "root,hunter2\n" * 30)
    with Tab(server.port) as tab:
        tab.open("data")
        text, button = (
            re.search(rf'id: "([^"]*-{key})"', tab.text)[1]
            for key in ("server-path", "read-server")
        )
        forge(tab, text, button, str(planted))
        wait_until(lambda: "secret.csv" in tab.open("data"))  # on one's own machine it is read
    paths = ["", "a\0", "~/.bashrc", "/etc/passwd", f"{tmp_path}/./secret.csv", str(planted)]
    with Tab(public.port) as tab:
        tab.open("data")
        shown = [forge(tab, text, button, path) for path in paths]
        time.sleep(1)  # far longer than either file takes to be read
        shown.append(tab.open("data"))
        assert not [
            word for word in ("secret.csv", "hunter2", "root:") for page in shown if word in page
        ]
        assert "census" in tab.text
        assert "Traceback" not in public.said()


@parametrize(
    "path, name",
    [
        ("/nosuch", "nosuch"),
        ("/nosuch/deeper/page?epsilon=3", "nosuch/deeper/page"),
        ("/%3Cscript%3Ealert(1)%3C/script%3E", "<script>alert(1)</script>"),
        ("//evil.example/x", "evil.example/x"),
        ("/" + "z" * 5000, "z" * 80),
    ],
)
def test_an_address_without_a_page_leads_to_start_which_names_it(server, path, name):
    headers = {"Accept": "text/html,*/*", "Sec-Fetch-Dest": "document"}
    answer = requests.get(server.address + path, headers=headers, timeout=60, allow_redirects=False)
    there = urlsplit(answer.headers["location"])
    assert (answer.status_code, there.scheme, there.netloc, there.path) == (303, "", "", "/")
    asked = dict(parse_qsl(there.query))
    assert asked.pop("no-page") == name
    assert asked == ({"epsilon": "3"} if "epsilon" in path else {})
    with Tab(server.port) as tab:
        assert "There is no page named" in tab.open("", there.query)


OWN_PATHS = [
    "/",
    "/explore",
    "/data",
    "/glossary",
    "/static/x.js",
    "/media/x",
    "/_stcore/health",
    "/component/x",
]


@parametrize("path", OWN_PATHS)
def test_pages_and_streamlit_s_own_files_are_not_led_elsewhere(server, path):
    headers = {"Accept": "text/html", "Sec-Fetch-Dest": "document"}
    assert (
        requests.get(
            server.address + path, headers=headers, timeout=60, allow_redirects=False
        ).status_code
        != 303
    )


@parametrize("headers", [{"Accept": "*/*"}, {"Accept": "text/html", "Sec-Fetch-Dest": "iframe"}])
def test_only_a_page_that_is_opened_is_led_on(server, headers):
    answer = requests.get(
        server.address + "/nosuch", headers=headers, timeout=60, allow_redirects=False
    )
    assert answer.status_code != 303
