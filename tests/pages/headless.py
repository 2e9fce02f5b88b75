"""A headless tab: open a page, set and press as a hand does, wait until nothing runs, and read what
a person sees.
"""

import base64
import contextlib
import json
import re
import time

import numpy as np
from streamlit.runtime.caching import clear_session_resource_cache
from streamlit.testing.v1 import AppTest

from dpcore import ALGORITHMS, Budget
from pages._ui.components.program_panel import PANEL_KEY, table_file_name
from pages._ui.server import page_address
from pages._ui.session import owner, release_ledger
from pages._ui.session.current_table import sample_table
from tests.size import ROOT
from tests.small_problems import all_tables, run_to_end

page_address.patch_streamlit()  # as the server does
FIELDS = (
    "select_slider",
    "slider",
    "selectbox",
    "multiselect",
    "number_input",
    "toggle",
    "radio",
    "text_input",
    "text_area",
    "segmented_control",
    "checkbox",
)


def new_tab(**query):
    """A tab on Start's address, which has not been drawn yet."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=90)
    for name, value in query.items():
        app.query_params[name] = value
    return app


def close_tab():
    """End the session that AppTest gives to all tabs alike: the next tab has one of its own."""
    clear_session_resource_cache("test session id")


def forget_owner(monkeypatch):
    """End the session; on the server of the next one the owner named no ledger and no key."""
    monkeypatch.delenv(release_ledger.LEDGER_VARIABLE, raising=False)
    monkeypatch.delenv(owner.KEY_VARIABLE, raising=False)
    close_tab()


def open_page(page, **query):
    """A page in a new tab; of a sample unless the address says more."""
    app = new_tab(**query)
    return run_until_settled(app.run()) if page == "app" else switch_page(app, page)


def switch_page(app, page):
    return run_until_settled(app.switch_page(str(ROOT / f"pages/{page}.py")).run())


def run_until_settled(app):
    """Run again, as the page's own polling does, until no job is on its way."""
    while any(b.label == "Cancel" for b in app.button) or any(
        "Repeats: " in c.value for c in app.caption
    ):
        time.sleep(0.2)  # a page that is drawn all the time takes from its workers
        app.run()
    assert not app.exception, [error.value for error in app.exception]
    return app


def set_fields(app, **values):
    """Set fields by key, in which a dash may be an underscore, or by how a label begins; wait for
    what comes of it.
    """
    fields = [field for kind in FIELDS for field in getattr(app, kind)]
    for name, value in values.items():
        named = name.replace("_", "-"), name
        next(f for f in fields if f.key in named or f.label.startswith(name)).set_value(value)
    return run_until_settled(app.run())


def button(app, label):
    return next(b for b in app.button if b.label == label)


def click(app, label):
    return button(app, label).click().run()


def click_and_wait(app, label):
    return run_until_settled(click(app, label))


def button_labels(app):
    return {b.label for b in app.button}


def session(app):
    return app.session_state["session"]


def table(app):
    return session(app).table


def open_code(app):
    """The page with its code in sight, as a press on its head shows it."""
    app.session_state[PANEL_KEY] = True
    return run_until_settled(app.run())


def run_script(app, folder):
    """What the script on a page leaves, by name; it runs beside the file of the page's table."""
    mine = table(app)
    mine.frame.to_csv(folder / table_file_name(mine), index=False)
    names = {}
    with contextlib.chdir(folder):
        exec(compile(app.code[1].value, "script", "exec"), names)
    return names


def download_labels(app):
    """What can be downloaded, as its buttons call it."""
    return [button.proto.label for button in app.get("download_button")]


def figures(app):
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def figure_traces(app, number=0):
    """The traces of a figure."""
    return figures(app)[number]["data"]


def heading(app, number=0):
    return app.subheader[number].value


def algorithm_title(name):
    """What an algorithm is called on pages."""
    return ALGORITHMS[name].about.title


def schema_entries(app):
    """The schema's entries of the table in use."""
    return table(app).schema["columns"]


def traces_by_name(app, number=0):
    """What a figure draws, by name."""
    return {trace.get("name"): trace for trace in figure_traces(app, number)}


def plotly_numbers(values):
    """What Plotly wrote: a list, or the bytes of an array."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return values


def follower_values(app):
    """What the bars that follow a slider were given."""
    own = (
        c
        for c in app.get("bidi_component")
        if c.key != "copy-link" and not c.key.endswith("-pictures")
    )
    return json.loads(next(own).proto.json)


def dataframe(app, *columns):
    """The first table that has these columns."""
    return next(f.value for f in app.dataframe if {*columns} <= {*f.value})


def unescape_markdown(text):
    """Without what keeps text from being read as markdown."""
    plain_text = text.replace("\\", "").replace("\u2060", "")
    return re.sub(r":small\[(.*?)\]", r"\1", plain_text)


def markdown_text(app):
    return " ".join(m.value for m in app.markdown)


def visible_text(app):
    return unescape_markdown(markdown_text(app))


def caption_text(app):
    return unescape_markdown(" ".join(c.value for c in app.caption))


def error_text(app):
    return unescape_markdown(" ".join(e.value for e in app.error))


SAID = (
    "caption",
    "markdown",
    "error",
    "warning",
    "info",
    "success",
    "text",
    "subheader",
    "button",
    "toggle",
    "checkbox",
)


def all_words(app):
    """What a person reads on a page, and on its buttons, one after the other."""
    return [
        f"{e.type} {e.label if e.type in SAID[-3:] else e.value}"
        for e in app.main
        if e.type in SAID
    ]


def everything(app):
    """All that was sent to the browser, as text."""
    return " ".join(
        str(node.proto) for node in app._tree if getattr(node, "proto", None) is not None
    )


def berkeley(algorithm, epsilon, seed):
    """A finished run on the sample of that name, as pages make it."""
    mine = sample_table("berkeley")
    rows = mine.encoded_rows(mine.domain.names)
    return run_to_end(algorithm, all_tables(mine.domain, rows.n), rows, Budget(epsilon, 1e-9), seed)


def run_comparison(app, algorithms=("gaussian_maxent",), epsilons=(1.0,), seeds=1):
    """Run a comparison on Compare, which is open."""
    set_fields(app, compared=[*algorithms], epsilons=[*epsilons], sweep_seeds=seeds)
    return run_rest(app)


def run_rest(app):
    """Run of the comparison what is not there yet."""
    return (
        click_and_wait(app, "Run the comparison")
        if "Run the comparison" in button_labels(app)
        else app
    )


def typed_schema(app, schema):
    """The page after a person has typed a schema."""
    table(app).set_schema(schema)
    return app.run()


def upload_schema(app, content):
    """Bring a schema's file on Data, which is open."""
    key = next(u.key for u in app.file_uploader if str(u.key).startswith("schema-file"))
    return run_until_settled(
        app.file_uploader(key=key).set_value(("s.json", content, "application/json")).run()
    )


def upload(app, content, name="t.csv"):
    """Bring a table on Data, which is open."""
    return run_until_settled(
        app.file_uploader(key="upload").set_value((name, content, "text/csv")).run()
    )
