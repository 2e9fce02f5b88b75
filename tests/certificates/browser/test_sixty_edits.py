"""Sixty edits at random: what was typed last is in force, is shown and comes back. Another seed is
another journey.
"""

import pytest

from tests.random_typist import Typist
from tests.running_app import serve_app
from tests.small_problems import parametrize

EDITS = 60


@pytest.fixture(scope="module")
def server(chromium, tmp_path_factory):
    """The address of an app of its own: runs that earlier tests left would keep a person waiting."""
    with serve_app(tmp_path_factory.mktemp("server") / "log") as app:
        yield f"http://localhost:{app.port}"


@parametrize("seed", [2])
def test_of_sixty_edits_the_last_of_each_control_is_in_force_shown_and_back(page, server, seed):
    typist = Typist(page, server, seed)
    try:
        typist.begins()
        for _ in range(3):
            typist.hurries(EDITS // 3)
            typist.checks("Release", "Compare", "Explore", "Data")
        typist.returns()
        typist.checks("Data", "Explore", "Compare")
    except Exception as error:
        pytest.fail(f"{typist.words()}\n{error}")
