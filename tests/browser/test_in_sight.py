"""Nothing covers or cuts off what a person reads and uses: the menu, the text of controls, the ring of the focus."""

from playwright.sync_api import expect

from tests.hands import still
from tests.helpers import parametrize

SIZES = {"wide": (1440, 900), "low": (1280, 720), "short": (1440, 480), "zoomed": (720, 450), "phone": (390, 844)}
COVERED = """() => {
  const menu = document.querySelector('[data-testid=stTopNav]'), box = menu.getBoundingClientRect(), found = [];
  const paints = (e, parts) => parts.some(part => part && part.contains(e));
  const header = document.querySelector('[data-testid=stHeader]');
  const strip = document.querySelector('[data-testid=stSidebarHeader]');
  for (let x = box.left + 2; x < Math.min(box.right, innerWidth) - 2; x += 12)
    for (const y of [4, box.top + box.height / 2, 54])
      if (!paints(document.elementFromPoint(x, y), [menu, header, strip])) found.push([x, y]);
  const under = (x, y) => document.elementsFromPoint(x, y).find(e => {
    const colour = getComputedStyle(e).backgroundColor;
    return e !== menu && !menu.contains(e) && colour !== 'rgba(0, 0, 0, 0)'; });
  for (let x = box.left + 2; x < 300; x += 12)
    if (!paints(under(x, 30), [header, strip])) found.push(['see-through', x]);
  return found;
}"""
MEETING = """() => {
  const texts = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const hides = e => getComputedStyle(e).overflow !== 'visible';
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest('svg, style, script, .js-plotly-plot, [aria-hidden=true]')) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
      for (let e = parent; e; e = e.parentElement) if (hides(e)) {
        const own = e.getBoundingClientRect();
        [left, top] = [Math.max(left, own.left), Math.max(top, own.top)];
        [right, bottom] = [Math.min(right, own.right), Math.min(bottom, own.bottom)];
      }
      if (right - left < 3 || bottom - top < 6 || !parent.checkVisibility({opacityProperty: true})) continue;
      const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
      if (at && (parent.contains(at) || at.contains(parent))) texts.push([left, top, right, bottom, node.data.trim()]);
    }
  }
  const found = [];
  texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
    const across = Math.min(a[2], b[2]) - Math.max(a[0], b[0]), down = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
    if (across > 3 && down > 5) found.push([a[4], b[4], Math.round(down)]); }));
  return found;
}"""
RING = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const name = `${e.tagName} ${e.getAttribute('aria-label') || e.innerText || ''}`.slice(0, 60);
  let ring = e;
  while (ring && !(getComputedStyle(ring).outlineStyle === 'solid' && parseFloat(getComputedStyle(ring).outlineWidth) >= 2))
    ring = ring.parentElement;
  if (!ring) return [name, 'no ring'];
  const style = getComputedStyle(ring), more = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth);
  const box = ring.getBoundingClientRect(), cut = [];
  const sides = [box.left - more, box.top - more, -box.right - more, -box.bottom - more];
  for (let up = ring.parentElement; up && up !== document.body; up = up.parentElement) {
    if (getComputedStyle(up).overflow === 'visible') continue;
    const own = up.getBoundingClientRect();
    [own.left, own.top, -own.right, -own.bottom].forEach((side, i) => {
      if (sides[i] < side - 0.6) cut.push([up.dataset.testid || up.className.slice(0, 30), i, side - sides[i]]); });
  }
  return [name, cut.length ? JSON.stringify(cut) : ''];
}"""


def sized(page, size):
    page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))


def opened(page, server, path):
    page.goto(f"{server}/{path}")
    expect(page.locator("h1")).to_be_visible()
    still(page)


def scroll(page):
    """Scroll whatever scrolls in the sidebar to its end; how far."""
    return page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('[data-testid=stSidebar], [data-testid=stSidebar] *')]
        .map(e => { e.scrollTop = 1e6; return e.scrollTop; }))"""
    )


@parametrize("path", ["explore", "compare?sample=berkeley"])
def test_the_menu_stays_whole_and_opaque_while_the_sidebar_is_scrolled(page, server, path):
    sized(page, "short")
    opened(page, server, path)
    assert page.evaluate(COVERED) == []
    assert scroll(page) > 20
    page.wait_for_timeout(100)
    assert page.evaluate(COVERED) == []


@parametrize("algorithm", ["Private Frank-Wolfe (DPFW)", "Gaussian + maximum entropy"])
def test_no_text_of_a_control_lies_upon_another(page, server, algorithm):
    opened(page, server, f"explore?sample=berkeley&algorithm={algorithm.replace('+', '%2B').replace(' ', '+')}")
    for query in ("", "present=true"):
        if query:
            opened(page, server, f"{page.url.removeprefix(server).lstrip('/')}&{query}")
        for size in SIZES:
            sized(page, size)
            page.wait_for_timeout(150)
            assert page.evaluate(MEETING) == [], (size, query)


@parametrize("path", ["data?sample=berkeley", "release?sample=berkeley", "explore?sample=berkeley"])
def test_the_ring_of_the_focus_is_whole_wherever_it_is(page, server, path):
    opened(page, server, path)
    rings = []
    for _ in range(70):
        page.keyboard.press("Tab")
        ring = page.evaluate(RING)
        if ring is None:
            break
        rings.append(ring)
    assert len(rings) > 10
    assert [ring for ring in rings if ring[1]] == []
