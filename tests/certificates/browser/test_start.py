"""Start in a real browser: the bars follow the thumb without the server, and say what the server's
code says.
"""

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import expect

from pages._ui.components.parameter_widgets import EPSILON_OPTIONS, format_setting
from pages._ui.start.admissions import OPENING_EPSILON, chart_frames, make_releases
from tests.browser_actions import epsilon_slider, wait_for_text, wait_until_still
from tests.conftest import HOSTILE

CODE = Path(__file__).parents[3] / "pages/_ui/charts"
DRAWN = """() => ({
    at: +document.querySelector('.drag input').value,
    synthetic: [...document.querySelectorAll('.drag-group .drag-synthetic')].map(e => +e.dataset.to),
    real: [...document.querySelectorAll('.drag-group .drag-real')].map(e => +e.dataset.to),
    ranges: [...document.querySelectorAll('.drag-group .drag-range')].map(e => [+e.dataset.from, +e.dataset.to]),
    heights: [...document.querySelectorAll('.drag-group .drag-bar')].map(e => e.getBoundingClientRect().height),
    whole: document.querySelector('.drag-plot').clientHeight,
    numbers: [...document.querySelectorAll('.drag-group .drag-synthetic span')].map(e => e.textContent),
    gaps: [...document.querySelectorAll('.drag-group .drag-range span')].map(e => e.textContent),
    words: document.querySelector('.drag-words').textContent,
})"""


def open_start(page, server, query=""):
    page.goto(f"{server}/{query}")
    expect(epsilon_slider(page)).to_be_visible()
    wait_for_text(page, "Show as table")
    wait_until_still(page)


def place(page, stop):
    """Where the middle of the thumb is at a stop: its track ends half a thumb before the control's
    ends.
    """
    box = epsilon_slider(page).bounding_box()
    thumb = 24
    across = box["x"] + thumb / 2 + (box["width"] - thumb) * stop / (len(EPSILON_OPTIONS) - 1)
    return across, box["y"] + box["height"] / 2


def as_the_server_has_it(drawn, drawing=0):
    made = make_releases()
    values = made.synthetic[drawing]
    stop = drawn["at"]
    top = chart_frames(made, hidden=False).to_json(0)["top"]
    heights = np.stack([made.real, values[stop]], axis=1).ravel() / top * drawn["whole"]
    return (
        drawn["synthetic"] == values[stop].tolist()
        and drawn["real"] == made.real.tolist()
        and drawn["ranges"]
        == np.stack([f(made.synthetic[:, stop], 0) for f in (np.min, np.max)], 1).tolist()
        and np.allclose(drawn["heights"], heights, atol=0.6)
        and drawn["numbers"] == [f"{value:.1%}" for value in values[stop]]
        and drawn["gaps"]
        == [
            f"{round(gap):+,}".replace("-", "−").replace("+0", "0")
            for gap in made.n * (values[stop] - made.real)
        ]
        and drawn["words"]
        == chart_frames(made, hidden=False).sentences[drawing][stop].replace("**", "")
    )


def test_every_frame_of_a_drag_is_the_servers_and_nothing_is_sent_until_the_thumb_is_let_go(
    page, server
):
    sent = []
    page.on("websocket", lambda line: line.on("framesent", lambda data: sent.append(data)))
    open_start(page, server)
    page.on("request", lambda request: sent.append(request.url))
    opened = page.evaluate(DRAWN)
    assert EPSILON_OPTIONS[opened["at"]] == OPENING_EPSILON
    assert as_the_server_has_it(opened)
    page.wait_for_timeout(500)
    sent.clear()
    page.mouse.move(*place(page, opened["at"]))
    page.mouse.down()
    seen = []
    for stop in [
        *range(opened["at"], len(EPSILON_OPTIONS)),
        *reversed(range(len(EPSILON_OPTIONS))),
    ]:
        page.mouse.move(*place(page, stop))
        drawn = page.evaluate(DRAWN)
        assert as_the_server_has_it(drawn), drawn
        seen.append(drawn["at"])
    page.mouse.move(*place(page, 9))
    page.wait_for_timeout(600)
    assert set(seen) == set(range(len(EPSILON_OPTIONS)))
    assert sent == []
    page.mouse.up()
    page.wait_for_url(re.compile(r"epsilon=0\.5\b"))
    link = page.get_by_role("link", name="What does this ε mean?")
    expect(link).to_have_attribute(
        "href", re.compile(r"epsilon=0\.5$")
    )  # what the server was told comes back
    assert sent
    expect(page.locator(".drag-at")).to_have_text("ε = 0.5")
    page.reload()
    expect(page.locator(".drag-at")).to_have_text("ε = 0.5")


def test_without_a_mouse_it_moves_and_says_where_it_is_and_fresh_noise_needs_no_server(
    page, server
):
    open_start(page, server, "?epsilon=0.1")
    page.wait_for_timeout(500)
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    for drawing in (1, 2, 3, 0):
        page.get_by_role("button", name="Repeat with fresh noise").press("Enter")
        assert as_the_server_has_it(page.evaluate(DRAWN), drawing)
    assert sent == []
    expect(epsilon_slider(page)).to_have_attribute(
        "aria-valuetext",
        re.compile(r"^At ε = 0\.1: [^ε]* guesses right at most 50\.4 times in 100 "),
    )
    for key, epsilon in {
        "ArrowRight": 0.15,
        "ArrowLeft": 0.1,
        "ArrowUp": 0.15,
        "End": 10,
        "Home": 0.01,
    }.items():
        epsilon_slider(page).press(key)
        expect(epsilon_slider(page)).to_have_attribute(
            "aria-valuetext", re.compile(rf"^At ε = {format_setting(epsilon)}: [^ε]*$")
        )
        assert as_the_server_has_it(page.evaluate(DRAWN))
    expect(
        page.get_by_role("img", name=re.compile(r"^Who was admitted .* At ε = 0\.01: "))
    ).to_be_visible()
    page.wait_for_url(re.compile(r"epsilon=0\.01"))
    expect(epsilon_slider(page)).to_be_focused()


def test_the_hint_moves_only_where_motion_is_welcome_and_ends_at_the_first_touch(page, server):
    moving = "getComputedStyle(document.querySelector('.drag input')).animationName"
    open_start(page, server)
    assert page.evaluate(moving) == "drag-nudge"
    epsilon_slider(page).press("ArrowRight")
    assert page.evaluate(moving) == "none"
    page.emulate_media(reduced_motion="reduce")
    open_start(page, server)
    assert page.evaluate(moving) == "none"


def test_names_and_words_are_text_whatever_they_hold(page, server):
    open_start(page, server)
    made = {
        "title": HOSTILE[0],
        "name": HOSTILE[1],
        "stops": HOSTILE[:2],
        "ends": HOSTILE[2:4],
        "at": 0,
        "labels": HOSTILE[:2],
        "real": [0.1, 0.2],
        "synthetic": [[[0.1, 0.2]] * 2],
        "low": [[0.1, 0.1]] * 2,
        "high": [[0.3, 0.3]] * 2,
        "sentences": [HOSTILE[:2]],
        "top": 1,
        "ticks": [0, 1],
        "digits": 1,
        "again": HOSTILE[0],
        "legend": {"real": HOSTILE[0], "synthetic": HOSTILE[1], "range": HOSTILE[0]},
    }
    html, code = ((CODE / f"dragged_bars.{kind}").read_text() for kind in ("html", "js"))
    shown = page.evaluate(
        """async ([html, code, data]) => {
            const parent = document.createElement('div');
            parent.innerHTML = html;
            document.body.append(parent);
            const module = await import(URL.createObjectURL(new Blob([code], {type: 'text/javascript'})));
            module.default({data, parentElement: parent, setStateValue: () => {}});
            return [parent.textContent, parent.querySelectorAll('img, a, script, b').length];
        }""",
        [html, code, made],
    )
    assert shown[1] == 0
    assert all(text in shown[0] for text in HOSTILE[:4])
