"""The address of a page: the server is told all of it, and hands on what other pages understand."""

from urllib.parse import parse_qs
from urllib.request import urlopen

import pytest

from pages._ui.server.address import completed
from tests.serving import Tab, serving

HERE = "?sample=berkeley&epsilon=0.3&columns-berkeley=Sex&columns-berkeley=Year"


@pytest.mark.parametrize(
    ("asked", "here", "found"),
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
    assert parse_qs(completed(asked, here), True) == parse_qs(found.removeprefix("?"), True)


def test_the_server_hands_on_what_a_browser_says_beside_a_message(tmp_path):
    with serving(tmp_path / "log") as server, Tab(server.port) as tab:
        for path in ("", "explore", "glossary"):
            page = urlopen(f"{server.address}/{path}", timeout=60).read().decode()
            assert 0 < page.index("history.pushState") < page.index("<script type")
        tab.line.send("?epsilon=0.3&sample=titanic")
        told = tab.open("guarantee")  # the first deep link of a new server goes by the entry
        assert "2,201" in told
        assert "Share" in told, "the frame is drawn around it"
        assert "ε = 0.3 and δ = 1e-9" in tab.text
        tab.line.send("")
        tab.line.send("?sample=berkeley")
        assert "4,526" in tab.open("explore", "sample=berkeley")
