"""What a visitor sees on a phone, in the dark, with a screen reader; and pictures of it when asked
for.

Set SCREENSHOTS=folder to keep a picture of every page at 1440 × 900 and 390 × 844.
"""

import os
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from pages._ui.learning.quantile import PARTS
from tests.browser_actions import set_screen_size, wait_for_text, wait_until_idle, wait_until_still
from tests.small_problems import parametrize

PAGES = [
    "/",
    "/data",
    "/explore",
    "/compare",
    "/release",
    "/ask",
    "/guarantee",
    "/alternatives",
    "/audit",
    "/evolution",
    "/learning",
]
PAGES += ["/lessons", "/glossary"]
# Streamlit's own widgets, out of a page's reach: the data grid's canvas and the upload button's
# hidden input.
FRAMEWORK = {"nested-interactive", "scrollable-region-focusable"}


def settle(page, server, path):
    name, _, query = path.partition("?")
    query += "&sample=berkeley" if name == "/compare" else ""  # whose runs end soon
    page.goto(f"{server}{name}?{query}")
    expect(page.locator("h1")).to_be_visible()
    if name == "/":
        expect(page.locator(".drag-bar span").first).to_be_visible()
    if name == "/compare":
        expect(page.get_by_role("tab", name="Report")).to_be_visible(timeout=90_000)
        wait_until_idle(page, timeout=90_000)
    if name not in ("/", "/data", "/release", "/ask", "/glossary"):
        expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    if name == "/explore":
        expect(page.get_by_role("tab", name="Download")).to_be_visible()
        expect(page.get_by_text("5 repeats", exact=True)).to_be_visible()
    wait_until_still(page)
    page.wait_for_timeout(1000)  # elements of the last run fade out, those of this one fade in
    wait_until_still(page)


def serious(page, *aside):
    """What axe finds wrong outside the header and `aside`; what is still fading in is looked at
    again.
    """
    for _ in range(5):
        found = Axe().run(page, context={"exclude": [["header"], *aside]}).response["violations"]
        found = [
            v for v in found if v["impact"] in ("serious", "critical") and v["id"] not in FRAMEWORK
        ]
        if not found:
            break
        page.wait_for_timeout(1000)
    return [f"{v['id']}: {v['nodes'][0]['html'][:300]}" for v in found]


def keep(page, path, width):
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        set_screen_size(page, width, min(height + 40, 9000))
        page.wait_for_timeout(1000)
        page.screenshot(path=Path(folder) / f"{path.strip('/') or 'start'}-{width}.png")


@parametrize("width", [1440, 390])
@parametrize(
    "path",
    [*PAGES, "/guarantee?releases=10", *(f"/learning?part={part}" for part in list(PARTS)[1::2])],
)
def test_nothing_is_cut_off(page, server, path, width):
    set_screen_size(page, width, 844)
    settle(page, server, path)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = page.locator(
        ".drag:not(.js-plotly-plot *), .js-plotly-plot, img[alt*=guess], canvas.marks, table, "
        ".words, "
        "[data-testid=stDataFrame]"
    ).all()
    areas = [
        area for box in drawn if (area := box.bounding_box())
    ]  # what lies in a closed tab has none
    assert areas or not drawn
    for area in areas:
        assert area["x"] >= 0
        assert area["x"] + area["width"] <= width + 1
    sizes = page.evaluate(SIZES)
    assert sizes["page"].keys() <= SCALE, sizes
    assert min(map(float, sizes["chart"]), default=13) >= 13, sizes
    keep(page, path, width)


# The sizes of all text of two letters or digits, on the page and in charts, and a few words of
# each.
SIZES = """() => {
  const found = {page: {}, chart: {}};
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const box = node.parentElement;
    const style = getComputedStyle(box), kind = box.closest('svg, .drag') ? 'chart' : 'page';
    if (box.closest('script, style, noscript, header') || style.fontFamily.includes('Material')) continue; // icons
    if (box.matches('tspan[style*="70%"]')) continue;  // an exponent
    if (!/[A-Za-z0-9]{2}/.test(node.textContent) || !box.getBoundingClientRect().height) continue;
    found[kind][parseFloat(style.fontSize).toFixed(1)] = node.textContent.trim().slice(0, 40);
  }
  return found;
}"""
SCALE = {"28.0", "24.0", "18.0", "16.0", "14.0"}  # headings, numbers and tiles; body; captions


# Visible words of two letters or more, but for icons and a table's own values along axes;
# the top and bottom of the first picture.
SEEN = """() => {
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  for (let node; (node = words.nextNode());) {
    const of = node.parentElement, range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    const drawn = of.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true});
    const icon = getComputedStyle(of).fontFamily.includes("Material");
    const skipped = "script, style, noscript, [data-testid=stSkipToContent], g[class$=tick]";
    if (!drawn || icon || of.closest(skipped)) continue;
    if (box.width < 2 || box.height < 2) continue;
    if (box.top >= innerHeight || box.bottom <= 0 || box.left >= innerWidth) continue;
    count += (node.textContent.match(/[A-Za-zÀ-ž]{2,}/g) || []).length;
  }
  const main = document.querySelector("[data-testid=stMain]");
  const pictures = [...main.querySelectorAll(".js-plotly-plot, .drag, canvas, table, .words, img[alt]")]
    .map(e => e.getBoundingClientRect()).filter(box => box.height > 60 && box.width > 100);
  pictures.sort((a, b) => a.top - b.top);
  return [count, pictures.length ? [pictures[0].top, pictures[0].bottom] : null];
}"""


@parametrize("path", PAGES)
def test_a_first_screen_has_few_words_and_its_picture_in_sight(page, server, path):
    for width, height, query in ((1440, 900, ""), (1280, 720, "?present=true"), (390, 844, "")):
        set_screen_size(page, width, height)
        settle(page, server, path + query)
        count, picture = page.evaluate(SEEN)
        if width == 1440:
            assert count <= (200 if path in ("/data", "/explore", "/glossary") else 150)
        if path in ("/audit", "/release"):
            expect(page.locator(".st-key-in-sight button").last).to_be_in_viewport(ratio=1)
        # Of the first the one picture is the gauge in its head; the other waits for a release.
        if path in ("/release", "/ask"):
            continue
        if width == 390:
            assert picture[0] < 420
        elif path != "/glossary":  # whose cards go on below
            assert picture[1] <= height
        if path == "/":
            slider = page.get_by_role("slider").bounding_box()
            assert slider["y"] + slider["height"] <= height, "before anybody scrolls"


# Axe looks at no text inside a drawing: what is below 4.5 to 1 there, before a page of one colour.
FAINT = """() => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const light = rgb => rgb.slice(0, 3).map(v => v / 255 <= .04045 ? v / 3294.6 : ((v / 255 + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const paper = light(numbers(getComputedStyle(document.querySelector('.stApp')).backgroundColor));
  return [...document.querySelectorAll('.js-plotly-plot text')].filter(e => e.getBoundingClientRect().width)
    .filter(e => { const ink = light(numbers(getComputedStyle(e).fill));
      return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05) < 4.5; }).map(e => e.textContent);
}"""


@parametrize("scheme", ["light", "dark"])
@parametrize("path", PAGES)
def test_axe_finds_no_serious_violation(page, server, path, scheme):
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    settle(page, server, path)
    assert serious(page) == []
    assert page.evaluate(FAINT) == []


def test_the_keyboard_reaches_the_slider_and_moves_it(page, server):
    settle(page, server, "/")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "range":
            break
    page.keyboard.press("ArrowLeft")
    wait_for_text(page, "ε = 0.07")


def test_presenter_mode_is_large(page, server):
    settle(page, server, "/explore?present=true")
    page.wait_for_function("getComputedStyle(document.documentElement).fontSize === '21px'")
