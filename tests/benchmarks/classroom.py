"""A class at one server: tabs without a browser on the census sample, each of which moves the
slider of ε every few seconds; how long until each move has its verdict.

python -m tests.benchmarks.classroom --tabs 30
"""

import math
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.benchmarks.measuring import main
from tests.running_app import Tab, cpu_seconds, serve_app

VERDICT_SECONDS = 3.0  # goal of 95 moves in 100, on two quiet cores
MAX_MEGABYTES = 1536  # of the server and its workers together
MOVE_EVERY = 5.0  # seconds
DURATION = 120.0
LOST_SECONDS = 60.0  # seconds after which a move without a verdict is lost
VERDICT_TEXT = "People in a wrong cell"  # of the first tile
SLIDER_LABEL = "Privacy budget"


class Pupil:
    """A tab on Explore that moves the slider, and polls as a browser does."""

    def __init__(self, tab, number):
        self.tab = tab
        self.random = random.Random(number)
        self.slider = next(filter(None, map(slider_of, tab.parts)))
        self.position = self.slider.default[0]
        self.polls = {}  # seconds between two looks at long work and time of the next, by fragment
        self.has_moved = False

    def send(self, fragment=""):
        """Ask for the page, or for a fragment of it, with the slider where it stands."""
        option = self.slider.options[int(self.position)]
        message = BackMsg()
        message.rerun_script.query_string = f"sample=census&epsilon={option}"
        message.rerun_script.page_script_hash = self.tab.hashes["explore"]
        message.rerun_script.fragment_id = fragment
        message.rerun_script.is_auto_rerun = bool(fragment)
        state = message.rerun_script.widget_states.widgets.add()
        state.id = self.slider.id
        state.string_array_value.data.append(option)
        self.tab.line.send(message.SerializeToString())

    def move(self):
        """Seconds until the verdict of a move is sent; infinite where it is lost."""
        places = [i for i in range(len(self.slider.options)) if i != int(self.position)]
        self.position = self.random.choice(places)
        self.has_moved = False
        self.polls = {}
        begun = time.monotonic()
        self.send()
        return self.listen(begun + LOST_SECONDS) - begun

    def listen(self, until):
        """Read and poll until a time, or until the verdict of the last move is there; when it was."""
        while True:
            now = time.monotonic()
            if now >= until:
                return math.inf
            self.poll(now)
            due = min([time for _, time in self.polls.values()], default=until)
            try:
                data = self.tab.line.recv(timeout=max(min(due, until) - now, 0.001))
            except TimeoutError:
                continue
            if self.hear(ForwardMsg.FromString(data)):
                return time.monotonic()

    def poll(self, now):
        for fragment, (interval, due) in self.polls.items():
            if due <= now:
                self.polls[fragment] = interval, now + interval
                self.send(fragment)

    def hear(self, message):
        """Take in a message; whether it is the verdict of the last move."""
        kind = message.WhichOneof("type")
        if kind == "auto_rerun":
            interval = message.auto_rerun.interval
            self.polls[message.auto_rerun.fragment_id] = interval, time.monotonic() + interval
        elif kind == "delta":
            slider = slider_of(message.delta)
            if slider is not None:  # the whole page is drawn anew: what polls says so again
                self.has_moved = True
                self.polls = {}
            return self.has_moved and VERDICT_TEXT in message.delta.new_element.markdown.body
        return False


def slider_of(delta):
    """The slider of the budget, where a part of a page is that."""
    is_slider = delta.new_element.WhichOneof("type") == "slider"
    slider = delta.new_element.slider
    return slider if is_slider and slider.label.startswith(SLIDER_LABEL) else None


def move_for_a_while(pupil):
    """Seconds of every move of one tab, which begins at a time of its own."""
    begun = time.monotonic()
    next_move = begun + pupil.random.uniform(0, MOVE_EVERY)
    found = []
    while next_move < begun + DURATION:
        pupil.has_moved = False
        pupil.listen(next_move)
        found.append(pupil.move())
        next_move = max(next_move + MOVE_EVERY, time.monotonic())
    return found


def family_of(process):
    """A process and all that it has started."""
    children = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    family = [process]
    for member in family:
        family += children.get(member, [])
    return family


def proportional_megabytes(processes):
    """What processes hold together; what several share is counted once."""
    total = 0
    for process in processes:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next(int(row.split()[1]) for row in text.splitlines() if row.startswith("Pss:"))
    return total // 1024


def measure(number, folder):
    """All tabs move at times of their own, on one server."""
    with serve_app(folder / "log") as server, ExitStack() as stack:
        tabs = [stack.enter_context(Tab(server.port)) for _ in range(number)]
        for page in ("", "explore"):
            for tab in tabs:
                tab.ask(page, "sample=census")
            for tab in tabs:
                tab.wait()
        pupils = [Pupil(tab, number) for number, tab in enumerate(tabs)]
        processor = cpu_seconds(server.process.pid)
        with ThreadPoolExecutor(number) as pool:
            found = list(pool.map(move_for_a_while, pupils))
        processor = cpu_seconds(server.process.pid) - processor
        memory = proportional_megabytes(family_of(server.process.pid))
    seconds = sorted(one for moves in found for one in moves)
    slow = seconds[math.ceil(0.95 * len(seconds)) - 1]
    lost = seconds.count(math.inf)
    return {
        "tabs": number,
        "moves": len(seconds),
        "lost": lost,
        "median": round(seconds[len(seconds) // 2], 2),
        "p95": round(slow, 2),
        "processor seconds of a move": round(processor / len(seconds), 3),
        "megabytes": memory,
        "load": [round(load, 1) for load in os.getloadavg()],
        "kept": slow <= VERDICT_SECONDS and not lost and memory <= MAX_MEGABYTES,
    }


if __name__ == "__main__":
    main(measure, "tabs", 30)
