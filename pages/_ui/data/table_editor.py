"""Choose a table, uploaded or a sample, and say what is public about it in an editable grid."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from dpcore.data.open_schema import PRIVATE, is_private, private_entry
from dpcore.data.readers import read_json
from dpcore.data.readings import AS_WRITTEN, READINGS
from dpcore.errors import InputError
from dpcore.tags import Tag

from ..shell.frame import heading
from ..shell.state import SAMPLES, public_host, table, use_sample
from ..shell.table import Table, Told
from ..shell.text import clean, plain
from . import on_server
from .reading import Change, arriving, attempt, bring, drop, refuse

READ_AS = {"as written": AS_WRITTEN} | {how: how for how in READINGS if how}
GRID = {
    "column": st.column_config.TextColumn(disabled=True, pinned=True),
    "use": st.column_config.CheckboxColumn(help="Leave a column out: it is then never read."),
    "kind": st.column_config.SelectboxColumn(options=["categorical", "numeric", "integer"], required=True),
    "read as": st.column_config.SelectboxColumn(
        options=list(READ_AS), help="How a value is read first: part of a date, an amount without its signs, spellings"
    ),
    "measure it": st.column_config.CheckboxColumn(
        help="Nobody knows its values or bounds: a share of the budget measures them privately, in place of what is "
        "typed beside. Bins stay as typed; “private” there makes bins of about as many rows each."
    ),
    "values": st.column_config.TextColumn(help="Categories, separated by ; or as a JSON list"),
    "low": st.column_config.NumberColumn(help="Lowest value that can occur: public knowledge, not from the table"),
    "high": st.column_config.NumberColumn(help="Highest value that can occur; the last bin includes it"),
    "bins": st.column_config.TextColumn(
        help="Number of equal bins, or edges separated by ; — empty: one per whole number"
    ),
    "missing": st.column_config.SelectboxColumn(options=["refuse", "category"], required=True),
    "out_of_range": st.column_config.SelectboxColumn("out of range", options=["refuse", "clip"], required=True),
    "from": st.column_config.TextColumn(disabled=True, help="Entered by you, guessed, or filled in from the data"),
}


GONE = "The file is no longer at hand. Choose it again."
EXAMPLE = '[{"order": ["first_year", "last_year"]}, {"impossible": {"age": {"to": 14}, "married": "yes"}}]'
CONSTRAINTS = (
    'What everybody knows: {"order": ["start", "end"]}, numbers that never fall; {"impossible": {"age": {"to": 14}, '
    '"married": "yes"}}, values that never occur together; {"within": ["city", "county"], "which": {"Lyon": "Rhône"}}. '
    "No synthetic row breaks one. A real row that does is counted as it is."
)


def choose_table() -> Table:
    """The table section: where it comes from, and how it was read."""
    with st.container(border=True, key="table"):
        heading("Your table", Tag.TYPED)
        st.session_state["sample"] = None if table().uploaded else table().name
        left, right = st.columns(2)
        words = {name: title for name, (title, _) in SAMPLES.items()}
        hint = "…or take a sample"
        left.selectbox("Sample", list(SAMPLES), None, words.get, key="sample", placeholder=hint, on_change=_take_sample)
        right.file_uploader(
            "Or upload a table",
            ["csv", "tsv", "txt", "xlsx", "parquet"],
            key="upload",
            help=WHERE,
            on_change=_take_upload,
        )
        if public_host():
            st.warning(
                "This server can be reached by others, and whoever runs it can see what you upload. Upload only what "
                "may be shared with them; for private tables run the app on your own machine."
            )
        on_server.offer()
        arriving()
        state, wrong = st.session_state.pop("_upload_problem", ("", ""))
        if wrong:
            (st.warning if state == "stopped" else st.error)(plain(wrong, 400))
        current = table()
        size = f"{current.many}, {len(current.names)} columns. {current.source}"
        st.text(f"{words.get(current.name, clean(current.name))}: {size}")
    return current


WHERE = (
    "An upload stays in this server's memory for this session. It goes within two minutes after you close the tab. "
    "Parts of large uploads may pass through a temporary file that no other program sees. What you type about its "
    "columns is kept in your browser."
)
WHERE_IN_PARTS = (
    "This table stays where it lies on this server. Its first rows and its counts are kept in memory for "
    "this session. They go within two minutes after you close the tab."
)


def _take_sample() -> None:
    if st.session_state["sample"] is not None:
        st.session_state.pop("_lost", None)
        drop()
        use_sample(st.session_state["sample"])


def again(name: str, value: Any) -> None:
    """Read the text file of the table in use once more, with another entry in what is known of its format."""
    mine, uploaded = table(), st.session_state.get("upload")
    format, keys = replace(mine.format, **{name: value}), (on_server.PATH, on_server.CHOSEN)
    named = [key for key in keys if Path(st.session_state.get(key) or "").name == mine.name]
    if getattr(uploaded, "name", None) == mine.name:
        bring(uploaded.name, uploaded, format)
    elif named:
        on_server.take(named[0], format)
    else:
        st.session_state["_upload_problem"] = ("failed", GONE)


def _given(key: str) -> Any:
    """Return the file in an uploader; None, with a message on the page, where the server no longer holds it."""
    file = st.session_state[key]
    if isinstance(file, DeletedFile):
        st.session_state["_upload_problem"] = ("failed", GONE)
        return None
    return file


def _take_upload() -> None:
    """Read the file just uploaded; until then, and if it cannot be read, the table is the one that was there."""
    file = _given("upload")
    if file is not None:
        bring(file.name, file)


def _take_schema(key: str) -> None:
    """A schema from a file: a person's own statement, whatever was guessed."""
    file = _given(key)
    if file is None:
        return
    try:
        schema = read_json(file, file.name)
    except InputError as error:
        refuse(table(), str(error))
    else:
        attempt(lambda mine, told: mine.set_schema(schema, told))


def edit(current: Table) -> None:
    """The schema as a grid, or from a file; nothing that was typed is lost."""
    st.caption(
        "Values and bounds are public knowledge. Fill them in from knowledge, not from the table. "
        "Put semicolons between values."
    )
    edited = st.data_editor(
        _to_grid(current), hide_index=True, column_config=GRID, key=f"schema-{current.version}", num_rows="fixed"
    )
    said = st.text_area(
        "Impossible combinations: constraints, as a JSON list", _listed(current.constraints), height="content",
        key=f"constraints-{current.version}", placeholder=EXAMPLE, help=CONSTRAINTS,
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if st.button("Use this schema", type="primary", icon=":material/check:"):
            try:
                attempt(_stated(current, edited, said))
            except InputError as error:
                refuse(current, str(error))
            st.rerun()
        text = json.dumps(current.schema, indent=2, ensure_ascii=False)
        st.download_button("Download schema", text, "schema.json", "application/json", on_click="ignore")
    upload_schema(current)


def upload_schema(current: Table) -> None:
    """A schema from a file."""
    key = f"schema-file-{current.version}"
    st.file_uploader("Or upload a schema", ["json"], key=key, on_change=_take_schema, args=(key,))


def typed(current: Table) -> Change:
    """What stands in the grid and in the constraints and was not used yet; InputError where it cannot be read."""
    grid = _to_grid(current)
    edits = st.session_state.get(f"schema-{current.version}", {}).get("edited_rows", {})
    for row, cells in edits.items():
        for name, cell in cells.items():
            grid.loc[int(row), name] = cell
    said = st.session_state.get(f"constraints-{current.version}", _listed(current.constraints))
    return _stated(current, grid, said)


def _stated(current: Table, grid: pd.DataFrame, said: str) -> Change:
    """The change to what the grid says of the columns that were changed in it, and to the constraints."""
    constraints = _constraints(said)
    before, after = _to_grid(current), _from_grid(grid, current.schema)["columns"]
    same = (grid.astype("string").fillna("") == before.astype("string").fillna("")).all(axis=1)
    entries = {name: after.get(name) for name in grid["column"][~same]}

    def change(mine: Table, told: Told) -> None:
        if entries:
            mine.change(entries, told=told)
        if constraints != mine.constraints:
            mine.constrain(constraints)

    return change


def _listed(constraints: list[Any]) -> str:
    """One constraint a line."""
    lines = (json.dumps(constraint, ensure_ascii=False) for constraint in constraints)
    return "[" + ",\n ".join(lines) + "]" if constraints else ""


def _constraints(said: str) -> list[Any]:
    try:
        found = json.loads(said or "[]")
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"the constraints are no JSON list: {getattr(error, 'msg', 'too deep')}") from None
    if not isinstance(found, list):
        raise InputError("the constraints are no JSON list; begin with [")
    return found


def _to_grid(current: Table) -> pd.DataFrame:
    """One row a column of the table; columns the schema leaves out are there, unticked."""
    specs = current.schema.get("columns", {}) if isinstance(current.schema, dict) else {}
    first = {guess.name: guess.entry for guess in current.guesses}
    words = {how: text for text, how in READ_AS.items()}
    rows = []
    for name in current.names:
        spec = specs.get(name, first.get(name, {"kind": "categorical"}))
        edges, measured = spec.get("edges"), is_private(spec)
        if measured:  # what it will do with missing and unlisted values
            spec = {"missing": "category", "out_of_range": "clip"} | {k: v for k, v in spec.items() if k != "values"}
        rows.append(
            {
                "column": name, "use": name in specs, "kind": spec["kind"],
                "read as": words[spec.get("read", "")], "measure it": measured, "values": _join(spec.get("values")),
                "low": spec.get("low"), "high": spec.get("high"),
                "bins": "; ".join(map(_exact, edges)) if edges else str(spec.get("bins") or ""),
                "missing": spec.get("missing", "refuse"), "out_of_range": spec.get("out_of_range", "refuse"),
                "from": current.origins.get(name, "not used"),
            }
        )  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame.astype({"low": "Float64", "high": "Float64", "values": "string", "bins": "string"})


def _from_grid(grid: pd.DataFrame, before: dict[str, Any]) -> dict[str, Any]:
    """The schema that the grid says; raises InputError for text that is no list or number."""
    columns = {}
    for row in grid.to_dict("records"):
        if not row["use"]:
            continue
        spec: dict[str, Any] = {"kind": row["kind"], "missing": row["missing"], "out_of_range": row["out_of_range"]}
        if how := READ_AS.get(row["read as"], ""):
            spec["read"] = how
        ordered = before.get("columns", {}).get(row["column"], {}).get("ordered")
        spec |= {} if ordered is None else {"ordered": ordered}
        if row["measure it"]:
            columns[row["column"]] = private_entry(spec | _private_bins(row))
            continue
        if row["kind"] == "categorical":
            spec["values"] = _split(row["column"], row["values"])
        else:
            bins = "" if pd.isna(row["bins"]) else str(row["bins"]).strip()
            low, high = (None if pd.isna(row[key]) else float(row[key]) for key in ("low", "high"))
            if ";" in bins:
                spec["edges"] = [_number(row["column"], e) for e in bins.split(";")]
            else:
                spec |= {"low": low, "high": high} | ({"bins": int(_number(row["column"], bins))} if bins else {})
        columns[row["column"]] = spec
    return {"columns": columns} | ({"peeked": True} if before.get("peeked") else {})


def _private_bins(row: Any) -> dict[str, Any]:
    """How many bins are to be measured, if that was typed."""
    text = "" if pd.isna(row["bins"]) else str(row["bins"]).strip()
    if not text or text.lower() == PRIVATE:
        return {"bins": PRIVATE} if text else {}
    if ";" in text:
        raise InputError(
            f"column {row['column']!r}: edges in bins are bounds, which are to be measured: type how many bins, or "
            f"{PRIVATE!r}"
        )
    return {"bins": int(_number(row["column"], text))}


def _join(values: list | None) -> str:
    if not values:
        return ""
    plain_texts = all(isinstance(v, str) and ";" not in v and v == v.strip() for v in values)
    return (
        "; ".join(values) if plain_texts and not values[0].startswith("[") else json.dumps(values, ensure_ascii=False)
    )


def _split(column: str, text: Any) -> list | None:
    if pd.isna(text) or not str(text).strip():
        return None
    if not str(text).lstrip().startswith("["):
        return [part.strip() for part in str(text).split(";") if part.strip()]
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"column {column!r}: values are not a JSON list: {error.msg}") from None


def _exact(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _number(column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"column {column!r}: {text.strip()!r} in bins is not a number") from None


def whom(person: str | None) -> str:
    """Who is protected when `person` names people, in words. Not a lambda of the page: that would keep its table."""
    return "none: each row is one person" if person is None else clean(person)
