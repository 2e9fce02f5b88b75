"""Explore on one screen: what is in sight, where the sliders are, and that everything answers them."""

import re

from playwright.sync_api import expect

from tests.browser_actions import (
    click,
    epsilon_slider,
    set_screen_size,
    wait_for_text,
    wait_until_still,
)
from tests.small_problems import approx, parametrize

WIDE = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
CELLS = ("convergence", "queries", "marginal", "pair")
NAMES = ("Privacy budget (ε)", "Failure probability (δ)", "Smoothness (α)")


def pressed(page):
    """ε one step lower, and the page says what comes of it."""
    epsilon_slider(page).press("ArrowLeft")
    wait_for_text(page, "guesses right at most 53 times in 100")


def opened(page, server, query=""):
    """The page when everything is drawn, replays of the noise too."""
    page.goto(f"{server}/explore{query}")
    wait_for_text(page, "5 repeats")
    for cell in CELLS:
        expect(page.locator(f".st-key-cell-{cell} .js-plotly-plot .main-svg").first).to_be_visible()
    settled(page)


def settled(page):
    wait_until_still(page)
    page.wait_for_timeout(300)


def inside(box, size):
    """Whether a box lies inside the viewport."""
    return (
        box["x"] >= 0
        and box["y"] >= 0
        and box["x"] + box["width"] <= size["width"] + 1
        and box["y"] + box["height"] <= size["height"] + 1
    )


def sliders(page):
    """The boxes of the three sliders, labels and all."""
    found = page.locator(".st-key-sliders [data-testid=stSlider]")
    expect(found).to_have_count(3)
    for number, name in enumerate(NAMES):
        expect(found.nth(number).get_by_role("slider", name=name)).to_be_visible()
    return [found.nth(number).bounding_box() for number in range(3)]


CUT = """all => all.filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .map(e => [e.value || e.innerText, e.scrollWidth, e.clientWidth])"""


def to_the_end(page):
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 1e6)")
    page.wait_for_timeout(300)


@parametrize("query", ["", "?present=true"], ids=["page", "presenter"])
def test_verdict_four_charts_and_three_sliders_are_in_sight_at_once(page, server, query):
    page.set_viewport_size(WIDE)
    opened(page, server, query)
    parts = [
        page.locator(".st-key-verdict"),
        *(page.locator(f".st-key-cell-{cell}") for cell in CELLS),
    ]
    boxes = [part.bounding_box() for part in parts]
    assert all(inside(box, WIDE) for box in [*boxes, *sliders(page)]), boxes
    for cell in CELLS:
        chart = page.locator(f".st-key-cell-{cell} .js-plotly-plot").first.bounding_box()
        assert chart["height"] >= 200
        assert chart["width"] >= 250
    for number, box in enumerate(boxes):
        for other in boxes[number + 1 :]:
            apart = (
                box["x"] + box["width"] <= other["x"]
                or other["x"] + other["width"] <= box["x"]
                or box["y"] + box["height"] <= other["y"] + 1
                or other["y"] + other["height"] <= box["y"] + 1
            )
            assert apart, (box, other)
    chosen = page.locator(
        "[data-testid=stSelectbox] input, [data-testid=stSidebar] [data-testid=stPageLink] span"
    )
    assert chosen.count() >= (3 if query else 5), "in Presenter those of the sidebar are folded"
    assert chosen.evaluate_all(CUT) == []
    to_the_end(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") > 50
    assert all(inside(box, WIDE) for box in sliders(page))


@parametrize(
    "size, query, charts",
    [((1280, 720), "?present=true", 2), ((720, 450), "", 0)],
    ids=["presenter", "zoomed"],
)
def test_where_the_screen_is_low_the_sliders_are_one_line_and_no_chart_meets_another(
    page, server, size, query, charts
):
    size = dict(zip(("width", "height"), size, strict=True))
    page.set_viewport_size(size)
    opened(page, server, query)
    bar = page.locator("[data-testid=stSidebar]").bounding_box()
    boxes = sliders(page)
    assert bar["height"] < 0.16 * size["height"]
    assert all(inside(box, size) and box["y"] >= bar["y"] - 1 for box in boxes)
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] <= boxes[2]["x"] - boxes[1]["width"]
    cells = [page.locator(f".st-key-cell-{cell}").bounding_box() for cell in CELLS]
    whole = [
        cell for cell in cells if inside(cell, size) and cell["y"] + cell["height"] <= bar["y"]
    ]
    assert len(whole) >= charts
    heads = page.locator("[class*=st-key-head-]")
    assert (
        heads.evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth + 8).length") == 0
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.get_by_role("button", name="Expand sidebar").is_visible(), (
        "the other settings can be reached"
    )
    pressed(page)


def test_the_sliders_stay_while_the_sidebar_is_scrolled(page, server):
    set_screen_size(page, 1440, 500)
    opened(page, server)
    page.locator("summary", has_text="More").click()
    page.evaluate("document.querySelector('[data-testid=stSidebarUserContent]').scrollTo(0, 1e6)")
    page.wait_for_timeout(300)
    assert (
        page.evaluate("document.querySelector('[data-testid=stSidebarUserContent]').scrollTop") > 50
    )
    assert all(inside(box, {"width": 1440, "height": 500}) for box in sliders(page))


@parametrize("query", ["", "?present=true"], ids=["page", "presenter"])
def test_on_a_phone_the_sliders_are_a_bar_at_the_bottom_that_covers_nothing(page, server, query):
    page.set_viewport_size(PHONE)
    opened(page, server, query)
    bar = page.locator("[data-testid=stSidebar]").bounding_box()
    assert (bar["x"], bar["width"]) == (0, PHONE["width"])
    assert bar["y"] + bar["height"] == approx(PHONE["height"], abs=1)
    assert bar["height"] < PHONE["height"] / 10
    for name in NAMES:
        expect(page.get_by_role("slider", name=name)).to_be_visible(visible=name == NAMES[0])
    to_the_end(page)
    assert inside(page.get_by_test_id("stSlider").first.bounding_box(), PHONE)
    last = page.locator(".st-key-sections").bounding_box()
    assert last["y"] + last["height"] <= bar["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    before = page.locator(".st-key-verdict").inner_text()
    pressed(page)
    assert page.locator(".st-key-verdict").inner_text() != before
    click(page, "button", "Expand sidebar")
    expect(page.get_by_role("combobox", name="Algorithm")).to_be_visible()
    sliders(page)


def test_a_closed_sidebar_leaves_the_sliders(page, server):
    page.set_viewport_size(WIDE)
    opened(page, server)
    page.locator("[data-testid=stSidebar]").hover()
    page.locator("[data-testid=stSidebarCollapseButton] button").click()
    page.wait_for_timeout(600)
    boxes = sliders(page)
    assert all(inside(box, WIDE) for box in boxes)
    assert min(box["y"] for box in boxes) > WIDE["height"] / 2


def test_what_no_longer_belongs_to_the_settings_is_dimmed_at_once(page, server):
    opened(page, server)
    dimmed = page.evaluate_handle(
        """() => new Promise(done => { const look = () => {
            const old = document.querySelector('.st-key-screen [data-stale=true]');
            if (old) done(getComputedStyle(old).opacity); else requestAnimationFrame(look); }; look(); })
        .then(v => window.dimmed = v) && 0"""
    )
    assert dimmed is not None
    epsilon_slider(page).press("ArrowLeft")
    page.wait_for_function("window.dimmed !== undefined")
    assert page.evaluate("window.dimmed") == "0.35"
    wait_for_text(page, "guesses right at most 53 times in 100")
    settled(page)


def test_a_brush_over_the_questions_marks_them_and_shows_their_columns(page, server):
    opened(page, server)
    cell = page.locator(".st-key-cell-queries")
    wait_for_text(cell, "9 of 10 answers are within")
    area = cell.locator(".js-plotly-plot").first.locator(".nsewdrag").bounding_box()
    middle = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + 3, middle)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] / 2, middle + 20, steps=8)
    page.mouse.up()
    wait_for_text(cell, re.compile(r"\d+ marked questions"))


def test_questions_are_marked_by_the_keyboard_and_a_column_and_a_pair_chosen_in_place(page, server):
    opened(page, server)
    cell = page.locator(".st-key-cell-queries")
    cell.get_by_role("button", name="info").press("Enter")
    page.get_by_role("combobox", name="Mark questions about").focus()
    page.keyboard.type("about sex")
    page.keyboard.press("Enter")
    wait_for_text(cell, re.compile(r"\d+ marked questions"))
    page.keyboard.press("Escape")
    told = {"income": "too (many|few)", "sex × income": "“(Fem|M)ale, (low|high)”"}
    for cell, name, option in (
        ("marginal", "Column", "income"),
        ("pair", "Two columns", "sex × income"),
    ):
        part = page.locator(f".st-key-cell-{cell}")
        click(part, "combobox", name)
        click(page, "option", option, exact=True)
        wait_for_text(part, re.compile(told[option]))


def test_the_jump_between_stages_is_marked_and_explained(page, server):
    opened(page, server)
    cell = page.locator(".st-key-cell-convergence")
    expect(cell.locator(".annotation-text", has_text="closer fit begins")).to_be_visible()
    click(cell, "button", "info")
    wait_for_text(page, re.compile("closer fit begins.{1,2} At step .* Errors may jump"))


def test_the_link_is_copied_with_one_press_and_says_what_is_in_it(page, server):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened(page, server, "?sample=census&epsilon=0.5")
    click(page, "button", "Share")
    click(page, "button", "Copy link")
    wait_for_text(page, "Copied: settings only, no data is in the link.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.url
    assert "epsilon=0.5" in copied
