"""When the first chart stands in a browser that has never been here, on a warm server.

python -m tests.benchmarks.first_chart --repeats 5

The clock says what a person waits for on this machine as it is. What else is printed does not
depend on what others do meanwhile: bytes over the line, and seconds of the processor that the
page's main thread has used until the verdict, the first chart and the last one were painted.
"""

import json
import os
import shutil
import statistics

from tests.benchmarks.measuring import main
from tests.chromium import FLAGS
from tests.running_app import serve_app

GOAL_SECONDS = 3.0
PAGES = {"explore": "sample=census", "compare": "sample=census"}
MOMENTS = ("verdict", "first chart", "last chart")
STILL_MILLISECONDS = 3000  # without a further chart: the last one stands
# Each moment is marked after the frame in which it was painted.
MARKS_SCRIPT = """
(() => {
  const counts = {};
  const painted = (name) => requestAnimationFrame(() => {
    const next = new MessageChannel();  // comes before any timer, and before what React does next
    next.port1.onmessage = () => performance.mark(name);
    next.port2.postMessage("");
  });
  const note = (name, count) => {
    if (count <= (counts[name] ?? 0)) return;
    counts[name] = count;
    painted(`${name} ${count}`);
  };
  const look = () => {
    note("verdict", document.querySelector(".st-key-verdict strong") ? 1 : 0);
    note("chart", document.querySelectorAll(
      ".js-plotly-plot:has(.cartesianlayer :is(.trace, image)), " +
      "[data-testid=stVegaLiteChart] :is(svg, canvas)").length);
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
})();
"""
READ_MARKS = """() => ({
  now: performance.now(),
  marks: performance.getEntriesByType("mark").map(mark => [mark.name, mark.startTime]),
  files: performance.getEntriesByType("resource").map(
    file => [file.name, file.responseEnd, file.transferSize]),
})"""
TRACED = ("toplevel", "blink.user_timing")


def moments_of(marks):
    """The name of the mark that stands for each moment, of those that were made."""
    charts = [name for name, _ in marks if name.startswith("chart ")]
    verdicts = [name for name, _ in marks if name.startswith("verdict ")]
    return dict(zip(MOMENTS, (verdicts[0], charts[0], charts[-1]), strict=True))


def wait_for_last_chart(page):
    """What the page has marked and loaded, once no further chart has come for a while."""
    page.wait_for_function(
        "performance.getEntriesByType('mark').some(mark => mark.name.startsWith('chart '))",
        timeout=120_000,
    )
    while True:
        page.wait_for_timeout(500)
        found = page.evaluate(READ_MARKS)
        last = max(at for name, at in found["marks"] if name.startswith(("chart", "verdict")))
        if found["now"] - last > STILL_MILLISECONDS:
            return found


def main_thread_seconds(trace, mark_names):
    """Seconds of the processor that the page's main thread used until each mark."""
    events = json.loads(trace)["traceEvents"]
    marks = {e["name"]: e for e in events if e["name"] in mark_names.values()}
    tasks = [e for e in events if e["name"] == "ThreadControllerImpl::RunTask"]
    seconds = {}
    for moment, name in mark_names.items():
        mark = marks[name]
        seconds[moment] = 1e-6 * sum(
            task.get("tdur", 0)
            for task in tasks
            if (task["pid"], task["tid"]) == (mark["pid"], mark["tid"])
            and task["ts"] + task.get("dur", 0) <= mark["ts"]
        )
    return seconds


def open_once(playwright, address):
    """What one fresh browser measures on an address: by moment, clock, processor and bytes."""
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
    try:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(MARKS_SCRIPT)
        browser.start_tracing(page=page, categories=list(TRACED))
        page.goto(address, wait_until="commit")
        found = wait_for_last_chart(page)
        trace = browser.stop_tracing()
    finally:
        browser.close()
    marks = [mark for mark in found["marks"] if mark[0].startswith(("chart ", "verdict "))]
    names = moments_of(marks)
    at = dict(marks)
    processor = main_thread_seconds(trace, names)
    return {
        moment: {
            "clock": at[name] / 1000,
            "main thread": processor[moment],
            "megabytes": sum(size for _, end, size in found["files"] if end <= at[name]) / 1e6,
        }
        for moment, name in names.items()
    }


def measure(repeats, folder):
    """Medians over fresh browsers, page by page."""
    from playwright.sync_api import sync_playwright

    medians = {}
    with serve_app(folder / "log") as server, sync_playwright() as playwright:
        for page, query in PAGES.items():
            address = f"http://localhost:{server.port}/{page}?{query}"
            open_once(playwright, address)  # so that the server is warm
            runs = [open_once(playwright, address) for _ in range(repeats)]
            for moment in MOMENTS:
                values = {
                    unit: statistics.median(run[moment][unit] for run in runs)
                    for unit in runs[0][moment]
                }
                medians[page, moment] = values["clock"]
                print(
                    f"{page}, {moment}: {values['clock']:.1f} s; main thread "
                    f"{values['main thread']:.2f} s of the processor, {values['megabytes']:.1f} MB",
                    flush=True,
                )
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
    first = {page: round(medians[page, "first chart"], 1) for page in PAGES}
    return {"first chart": first, "kept": max(first.values()) <= GOAL_SECONDS}


if __name__ == "__main__":
    main(measure, "repeats", 5)
