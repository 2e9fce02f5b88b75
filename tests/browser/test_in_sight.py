"""Nothing covers or cuts off what a person reads and uses: the menu, the text of controls, the ring
of the focus.
"""

from playwright.sync_api import expect

from tests.browser_actions import wait_until_still

SIZES = {
    "wide": (1440, 900),
    "low": (1280, 720),
    "short": (1440, 480),
    "zoomed": (720, 450),
    "phone": (390, 844),
}
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
      if (at && (parent.contains(at) || at.contains(parent))) texts.push([left, top, right, bottom, node]);
    }
  }
  const found = [];
  texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
    const across = Math.min(a[2], b[2]) - Math.max(a[0], b[0]), down = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
    if (a[4] !== b[4] && across > 3 && down > 5) found.push([a[4].data, b[4].data, Math.round(down)]); }));
  return found;
}"""
RING = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const name = `${e.tagName} ${e.getAttribute('aria-label') || e.innerText || ''}`.slice(0, 60);
  const cuts = ring => {
    const style = getComputedStyle(ring), more = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth);
    const box = ring.getBoundingClientRect(), found = [];
    const sides = [box.left - more, box.top - more, -box.right - more, -box.bottom - more];
    for (let up = ring.parentElement; up && up !== document.body; up = up.parentElement) {
      if (getComputedStyle(up).overflow === 'visible') continue;
      const own = up.getBoundingClientRect();
      [own.left, own.top, -own.right, -own.bottom].forEach((side, i) => {
        if (sides[i] < side - 0.6) found.push([up.dataset.testid || up.className.slice(0, 30), i]); });
    }
    return found; };
  const rings = [];
  for (let ring = e; ring && ring !== document.body; ring = ring.parentElement) {
    const style = getComputedStyle(ring);
    if (style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2) rings.push(cuts(ring));
  }
  if (!rings.length) return [name, 'no ring'];
  return [name, rings.some(cut => !cut.length) ? '' : JSON.stringify(rings)];
}"""


# The browser puts the app's own style in place after the page's words.
IS_STYLED = (
    "() => [...document.querySelectorAll('style')].some(e => "
    "e.textContent.includes('.st-key-gauge'))"
)


def sized(page, size):
    page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))


def opened(page, server, path):
    page.goto(f"{server}/{path}")
    expect(page.locator("h1")).to_be_visible()
    wait_until_still(page)
    page.wait_for_function(IS_STYLED)


def scroll(page):
    """Scroll whatever scrolls in the sidebar to its end; how far."""
    return page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('[data-testid=stSidebar], [data-testid=stSidebar] *')]
        .map(e => { e.scrollTop = 1e6; return e.scrollTop; }))"""
    )


def check_menu(page, server, path):
    """The menu is whole and opaque before and after the sidebar was scrolled."""
    sized(page, "short")
    opened(page, server, path)
    assert page.evaluate(COVERED) == []
    assert scroll(page) > 20
    page.wait_for_timeout(100)
    assert page.evaluate(COVERED) == []


def check_rings(page, server, path):
    """Whatever the Tab key reaches has a ring that nothing cuts off."""
    page.emulate_media(reduced_motion="reduce")  # a ring that grows is not there at once
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


def check_texts(page):
    """No text of the page lies upon another at any size."""
    for size in SIZES:
        sized(page, size)
        page.wait_for_timeout(200)
        assert page.evaluate(MEETING) == [], size


def test_menu_texts_and_rings_are_whole(page, server):
    check_rings(page, server, "data?sample=berkeley")
    check_menu(page, server, "explore?sample=berkeley&algorithm=Private+Frank-Wolfe+(DPFW)")
    check_texts(page)
