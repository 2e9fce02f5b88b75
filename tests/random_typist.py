"""A hurried person in a browser: random edits of every control, and whether the last one of each is
in force.
"""

import json
import random
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import TimeoutError, expect

from tests.browser_actions import (
    open_from_menu,
    wait_for_heading,
    wait_for_text,
    wait_until_idle,
    wait_until_still,
)

ROWS = 600
PEOPLE = 60
# pixels of the grid
ROW = 35
HEADER = 35
NAMES = 60, 17  # where the first cell lies in its row
RIGHT = 2  # cells from there to the public values, with the small charts between
EDITOR = "#portal textarea:enabled"  # a cell that cannot be changed opens a disabled one
CITIES = "; ".join(f"town-{i}" for i in range(4))
FILE = "patient_id,city,age,stay\n" + "\n".join(
    f"P{10_000 + i * 7 % PEOPLE},town-{i % 4},{i % 90},{i % 15}" for i in range(ROWS)
)
GRID = {"city": 0, "age": 1, "stay": 2}  # rows of the grid: what names people stands last
# to open a cell, and milliseconds for each
TRIES = 5
PATIENCE = 2000
PAUSES = 0.2, 2.0  # seconds between two edits


@dataclass
class Control:
    """What can be edited on a page: how a value is typed, how it is read, and which values there
    are.
    """

    page: str
    name: str
    values: list = field(default_factory=list)
    named: str = ""  # in the address
    usual: str = ""  # the value that the address leaves out

    def is_in_address(self, page, value):
        """What is in force is what the address says."""
        if self.named and str(value) != self.usual:
            expect(page).to_have_url(re.compile(rf"[?&]{self.named}={re.escape(str(value))}(&|$)"))

    def type(self, page, value):
        box = self.box(page)
        box.fill(str(value))
        box.press("Enter")

    def box(self, page):
        return page.get_by_label(self.name, exact=True)

    def shows(self, page, value):
        expect(self.box(page)).to_have_value(str(value))


class Slider(Control):
    def box(self, page):
        return page.get_by_role("slider", name=re.compile(f"^{re.escape(self.name)}( |$)"))

    def type(self, page, value):
        """Step there by the keyboard, as a hand does: the value is where the slider then stands."""
        self.box(page).press(value)

    def read(self, page):
        return self.box(page).get_attribute("aria-valuetext")

    def shows(self, page, value):
        expect(self.box(page)).to_have_attribute("aria-valuetext", value)


class Cell(Control):
    """The cell of a column's public values in the grid."""

    def box(self, page):
        return page.get_by_test_id("stDataFrame").first

    def type(self, page, value):
        self.opens(page)
        editor = page.locator(EDITOR)
        editor.fill(value)
        editor.press("Enter")

    def opens(self, page):
        """Open the cell to type in it; once more where the page moved under the hand."""
        x, y = NAMES
        for _ in range(TRIES):
            self.box(page).locator(".dvn-scroller").click(
                position={"x": x, "y": HEADER + ROW * GRID[self.name] + y}
            )
            for _ in range(RIGHT):
                page.keyboard.press("ArrowRight")
            page.keyboard.press("Enter")
            with suppress(TimeoutError):
                page.locator(EDITOR).wait_for(timeout=PATIENCE)
                return
            page.keyboard.press("Escape")

    def shows(self, page, value):
        cells = self.box(page).locator("canvas tr").nth(GRID[self.name] + 1).locator("td")
        expect(cells.filter(has_text=re.compile(f"^{re.escape(value)}$"))).to_have_count(1)


class Choice(Control):
    def box(self, page):
        return page.get_by_role("combobox", name=re.compile("^" + re.escape(self.name)))

    def type(self, page, value):
        self.box(page).click()
        page.get_by_role("option", name=value, exact=True).click()

    def shows(self, page, value):
        place = page.get_by_test_id("stSelectbox").filter(has_text=self.name)
        expect(place).to_contain_text(value)


MOST = Control("Data", "Maximum rows per person", [1, 2, 3, 4, 5, 7, 8, 9])
STEPS = ["ArrowLeft", "ArrowRight"]
CELLS = [
    Cell("Data", "age", [f"0 to {high}" for high in range(90, 130)]),
    Cell("Data", "stay", [f"0 to {high}" for high in range(15, 40)]),
]
CONTROLS = [
    MOST,
    MOST,
    *CELLS,
    Slider("Explore", "Privacy budget (ε)", STEPS, "epsilon", "1"),
    Slider("Explore", "Failure probability (δ)", STEPS, "delta", "1e-9"),
    Control("Explore", "Repeat number", list(range(50)), "seed", "0"),
    Control("Explore", "Repeats", [1, 2, 3], "repeats", "5"),
    Slider("Compare", "within", STEPS),
    Slider("Compare", "in", STEPS),
    Control("Release", "Whole budget (ε)", ["2.00", "4.00", "6.00", "8.00"]),
    Control("Release", "Synthetic rows", list(range(100, 130))),
    Control("Release", "Data set", ["people", "patients", "stays"]),
]
FOLDS = {"Explore": "More", "Release": "Settings", "Compare": None, "Data": None}


class Typist:
    """Brings a table, edits at random with a seed, and says of every control what was typed into it
    last.
    """

    def __init__(self, page, server, seed):
        self.page = page
        self.server = server
        self.seed = seed
        self.choose = random.Random(seed)
        self.last = {}
        self.log = []
        self.at = ""

    def begins(self):
        """Bring the table and describe its columns, at an unhurried pace."""
        self.page.goto(f"{self.server}/data")
        wait_for_heading(self.page, "Data")
        self.brings()
        wait_for_text(self.page, "to decide")
        wait_until_still(self.page)
        self.at = "Data"
        self.person()
        for control, value in ((CELLS[0], "0 to 99"), (CELLS[1], "0 to 20")):
            self.edits(control, value)
            wait_until_still(self.page)
        city = Cell("Data", "city", [])
        self.edits(city, CITIES)
        wait_for_heading(self.page, "All columns ready")

    def brings(self):
        wait_until_still(self.page)
        upload = {"name": "stays.csv", "mimeType": "text/csv", "buffer": FILE.encode()}
        self.page.locator("input[type=file]").first.set_input_files(upload)

    def person(self):
        Choice("Data", "Can one person").type(self.page, "Yes, patient_id says who")
        expect(MOST.box(self.page)).to_be_visible()
        wait_until_still(self.page)

    def hurries(self, edits, pauses=PAUSES):
        """Make so many random edits, a short while apart."""
        for _ in range(edits):
            control = self.choose.choice(
                [c for c in CONTROLS if self.choose.random() < 0.5 or c.page == self.at]
            )
            self.goes(control.page)
            self.edits(control, self.choose.choice(control.values))
            self.page.wait_for_timeout(1000 * self.choose.uniform(*pauses))

    def goes(self, name):
        """Go to another page by the menu, without waiting for what is on its way."""
        if name == self.at:
            return
        self.log.append(f"goes to {name}")
        open_from_menu(self.page, name)
        wait_for_heading(self.page, name)
        self.at = name
        self.unfolds()

    def unfolds(self):
        """Open what is folded on a page; a page that is being drawn takes a moment to have it."""
        fold = FOLDS[self.at]
        if fold is not None:
            title = (
                self.page.get_by_test_id("stExpander")
                .locator("summary")
                .filter(has_text=fold)
                .first
            )
            expect(title).to_be_visible()
            if title.locator("xpath=..").get_attribute("open") is None:
                title.click()

    def edits(self, control, value):
        self.log.append(f"{control.page}: {control.name} := {value}")
        expect(control.box(self.page)).to_be_visible()
        control.type(self.page, value)
        self.last[control.name] = (
            control,
            control.read(self.page) if isinstance(control, Slider) else value,
        )

    def checks(self, *pages):
        """Every control shows what was typed last, and so does what is in force."""
        for name in pages:
            self.goes(name)
            wait_until_idle(self.page)
            wait_until_still(self.page)
            for control, value in self.last.values():
                if control.page == name:
                    control.shows(self.page, value)
                    control.is_in_address(self.page, value)
            if name == "Data":
                self.in_force()

    def in_force(self):
        """The header and the schema that can be saved say it, too."""
        if MOST.name in self.last:
            most = self.last[MOST.name][1]
            wait_for_text(self.page, re.compile(f"at most {most}\\b"))
        self.page.get_by_role("tab", name="File and schema").click()
        summary = self.page.get_by_text("Save or load these settings")
        if not self.page.get_by_role("button", name="Save (schema.json)").is_visible():
            summary.click()
        with self.page.expect_download() as heard:
            self.page.get_by_role("button", name="Save (schema.json)").click()
        columns = json.loads(Path(heard.value.path()).read_text(encoding="utf-8"))["columns"]
        for cell in CELLS:
            high = float(self.last[cell.name][1].rpartition(" ")[2])
            assert columns[cell.name]["high"] == high, (cell.name, columns[cell.name], self.words())

    def returns(self):
        """Reload the page, bring the same file, and find all of it again that is kept for that."""
        self.goes("Data")
        wait_until_idle(self.page)
        wait_until_still(self.page)
        self.page.reload()
        wait_for_text(self.page, "Your table is gone")
        self.brings()
        wait_for_text(self.page, "What you typed about these columns is back")
        wait_for_heading(self.page, "All columns ready")
        gone = (
            "Synthetic rows",
            "Whole budget (ε)",
            "Data set",
        )  # of the session only: its table is gone
        self.last = {name: last for name, last in self.last.items() if name not in gone}

    def words(self):
        return f"seed {self.seed}: " + "; ".join(self.log)
