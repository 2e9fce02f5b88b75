"""The first chart of a tab is painted before the others are drawn. A blank page stands for the app:
its messages are made here, and so is the chart.
"""

import pytest

from pages._ui.server import first_chart
from tests.small_problems import parametrize

# A connection whose messages are collected as texts; nobody answers at its address.
CONNECTION = """() => {
  window.taken = [];
  window.socket = new WebSocket("ws://127.0.0.1:9");
  socket.addEventListener("message", ({ data }) => taken.push(new TextDecoder().decode(data)));
  window.bring = (...texts) => texts.forEach((text) => socket.dispatchEvent(
    new MessageEvent("message", { data: new TextEncoder().encode(text).buffer })));
  window.drawChart = () => document.body.insertAdjacentHTML("beforeend",
    '<div class="js-plotly-plot"><svg><g class="trace"></g></svg></div>');
}"""
FIGURE = '{"data":[{"type":"bar"}]}'


@pytest.fixture
def blank(chromium):
    """A blank page with the script and a connection."""
    context = chromium.new_context()
    page = context.new_page()
    page.add_script_tag(content=first_chart.SCRIPT)
    page.evaluate(CONNECTION)
    yield page
    context.close()


def wait_for_messages(page, *texts):
    page.wait_for_function("texts => `${taken}` === `${texts}`", arg=list(texts), timeout=10_000)


def test_messages_behind_the_first_chart_wait_until_it_is_painted(blank):
    assert blank.evaluate("figure => { bring('a', figure, 'b', 'c'); return taken; }", FIGURE) == [
        "a",
        FIGURE,
    ]
    until_painted = "async () => { drawChart(); await null; await null; bring('d'); return taken; }"
    assert blank.evaluate(until_painted) == ["a", FIGURE]
    wait_for_messages(blank, "a", FIGURE, "b", "c", "d")
    assert blank.evaluate(
        "figure => { taken = []; bring(figure, 'e'); return taken; }", FIGURE
    ) == [
        FIGURE,
        "e",
    ]


@parametrize("first", ["text", FIGURE])
def test_nothing_waits_for_long_or_without_a_chart(blank, first):
    """A chart that is out of sight is not drawn at all."""
    blank.evaluate("first => bring(first, 'b')", first)
    wait_for_messages(blank, first, "b")
