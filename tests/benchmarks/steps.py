"""One step of ε on Explore: how long until the verdict is there, and until all has settled, replays
too.

python -m tests.benchmarks.steps --steps 12
"""

import statistics
import time

from playwright.sync_api import expect

from tests.benchmarks.measuring import live_page, main

# goals, in seconds, on a quiet machine
VERDICT = 0.6
SETTLED = 1.5
WARM = 2  # steps before those that count
# Watches the page in the browser itself, so that no polling from outside is measured.
WATCH = """words => { window.times = {};
  const begun = performance.now();
  const look = () => {
    const now = (performance.now() - begun) / 1000, verdict = document.querySelector('.st-key-verdict');
    const text = verdict ? verdict.innerText : '';
    const stale = document.querySelector('.st-key-screen [data-stale=true], .st-key-verdict [data-stale=true]');
    if (stale && !window.times.dimmed) window.times.dimmed = now;
    if (text && text.split('Largest')[0] !== words && !window.times.verdict) window.times.verdict = now;
    const there = text.includes('5 repeats');
    const idle = !document.querySelector('[data-testid=stStatusWidget]');
    if (window.times.verdict && there && !stale && idle) window.times.settled = now;
    else { window.times.settled = undefined; requestAnimationFrame(look); } };
  requestAnimationFrame(look); }"""


def step(page, key):
    """One press of an arrow key on the slider of ε."""
    before = page.locator(".st-key-verdict").inner_text().split("Largest")[0]
    page.get_by_role("slider", name="Privacy budget (ε)").focus()
    page.evaluate(WATCH, before)
    page.keyboard.press(key)
    page.wait_for_function("window.times.settled !== undefined", timeout=60_000)
    time.sleep(0.5)
    return page.evaluate("window.times")


def measure(steps, folder):
    """Steps down and up again on the census sample."""
    with live_page(folder, "explore?sample=census") as page:
        expect(page.get_by_text("5 repeats", exact=True)).to_be_visible(timeout=60_000)
        time.sleep(2)
        keys = ["ArrowLeft" if i // 6 % 2 == 0 else "ArrowRight" for i in range(steps + WARM)]
        found = [step(page, key) for key in keys][WARM:]
    columns = {
        name: sorted(round(one[name], 2) for one in found)
        for name in ("dimmed", "verdict", "settled")
    }
    medians = {name: statistics.median(values) for name, values in columns.items()}
    return {"goals": {"verdict": VERDICT, "settled": SETTLED}, "median": medians, "all": columns}


if __name__ == "__main__":
    main(measure, "steps", 12)
