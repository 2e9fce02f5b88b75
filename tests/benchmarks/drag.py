"""Start's slider in Chromium: milliseconds from a move of the thumb to the paint that shows it.

python -m tests.benchmarks.drag --moves 300
"""

from pathlib import Path

import numpy as np

from tests.benchmarks.frame import live, main

GOAL = 50.0  # milliseconds, for 95 of 100 moves
# A moved thumb's event knows when the pointer moved; a message sent in a frame's callback arrives after its paint.
LISTEN = """() => {
    window.took = [];
    document.addEventListener('input', (event) => requestAnimationFrame(() => {
        const painted = new MessageChannel();
        painted.port1.onmessage = () => window.took.push(performance.now() - event.timeStamp);
        painted.port2.postMessage(0);
    }), true);
}"""


def measure(moves: int, folder: Path) -> dict[str, object]:
    """Drag to and fro."""
    with live(folder) as (server, browser):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.address.replace("127.0.0.1", "localhost"))
        slider = page.get_by_role("slider", name="Privacy budget (ε)")
        slider.wait_for()
        page.wait_for_timeout(3000)
        box = slider.bounding_box()
        y = box["y"] + box["height"] / 2
        page.evaluate(LISTEN)
        page.mouse.move(box["x"] + 12, y)
        page.mouse.down()
        for i in range(moves):
            page.mouse.move(box["x"] + 12 + (box["width"] - 24) * abs((i / 40) % 2 - 1), y)
        page.wait_for_timeout(300)
        took = np.array(page.evaluate("window.took"))
        page.mouse.up()
    median, p95 = (round(float(np.quantile(took, q)), 1) for q in (0.5, 0.95))
    return {"frames": len(took), "median": median, "p95": p95, "goal": GOAL, "reached": p95 <= GOAL}


if __name__ == "__main__":
    main(measure, "moves", 300)
