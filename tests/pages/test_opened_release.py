"""The Ask page, headless: it opens releases from anywhere, refuses what was changed, and answers as
the `ask` command does.
"""

import io
import json
import shutil
import zipfile
from contextlib import redirect_stdout

import pandas as pd
import pytest

from dpcore import read_json
from dpcore.cli import main
from dpcore.release.evidence import verifier
from dpcore.release.evidence.card import card_page
from dpcore.release.ledger.signing import load_signing_key
from pages._ui.ask import opened_release
from pages._ui.session import release_ledger
from tests.cli.test_release import release_in
from tests.pages.headless import (
    caption_text,
    close_tab,
    download_labels,
    error_text,
    forget_owner,
    new_tab,
    open_page,
    run_until_settled,
    set_fields,
    switch_page,
    visible_text,
)
from tests.small_problems import module_fixture, parametrize, write_json

QUESTION = "sex = m and age > 21"


@pytest.fixture(autouse=True)
def new_tab_without_ledger(monkeypatch):
    forget_owner(monkeypatch)


@module_fixture
def folder(tmp_path_factory):
    """A release of the command line."""
    return release_in(tmp_path_factory.mktemp("releases"))


def packed(folder, **changed):
    """The release as a ZIP file, with other content in files by their names without ending."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.writestr(f"out/{path.name}", changed.get(path.stem) or path.read_bytes())
    return content.getvalue()


def brought(app, content):
    upload = app.file_uploader(key=opened_release.UPLOAD_KEY)
    return run_until_settled(upload.set_value(("r.zip", content, "application/zip")).run())


def asked_by_command(folder, *questions):
    """The interval that the command line gives for a question, or for two compared."""
    said = io.StringIO()
    compare = ["--compare=difference"] if len(questions) > 1 else []
    with redirect_stdout(said):
        assert main(["ask", str(folder), *questions, *compare, "--json"]) == 0
    return json.loads(said.getvalue())[0]


def test_a_packed_release_is_verified_answers_as_the_command_does_and_stays_open(folder):
    app = brought(open_page("ask"), packed(folder))
    assert [s.value for s in app.success] == ["Verified: all 12 checks hold."]
    assert "Release 1 of t" in [h.value for h in app.subheader]
    assert "On the owner's word alone" in caption_text(app)
    assert "All files (ZIP)" in download_labels(app)
    app = set_fields(app, released_question=QUESTION, released_question_with="sex = f")
    first = asked_by_command(folder, QUESTION)
    both = asked_by_command(folder, QUESTION, "sex = f")
    said = visible_text(app)
    assert f"{QUESTION}: **{first['estimate']:.2%}**" in said
    assert f"in this table {first['low']:.2%} to {first['high']:.2%}" in said
    people = f"{first['population_low']:.2%} to {first['population_high']:.2%}"
    assert f"in the population it was drawn from {people}" in said
    ends = f"{100 * both['low']:.2f} points to {100 * both['high']:.2f} points"
    assert f"in this table {ends}" in said
    app = switch_page(switch_page(app, "guarantee"), "ask")
    assert f"{first['estimate']:.2%}" in visible_text(app), "it is open until another one is"
    set_fields(app, released_question="no such column = 3")
    assert "no such column" in error_text(app)


@parametrize(
    "changed, finding",
    [
        ({"synthetic": b"a,b\n1,2\n"}, "files"),
        ({"release": b"{}"}, "files"),
        ({"notes": b"<b>hello</b>"}, "'notes.txt', which is no file of a release"),
    ],
)
def test_a_changed_release_is_named_and_not_opened(folder, changed, finding):
    content = packed(folder, **changed)
    if "notes" in changed:
        archive = io.BytesIO(content)
        with zipfile.ZipFile(archive, "a") as more:
            more.writestr("out/notes.txt", changed["notes"])
        content = archive.getvalue()
    app = brought(open_page("ask"), content)
    assert finding in error_text(app)
    assert not app.success
    assert not app.subheader
    assert "All files (ZIP)" not in download_labels(app)


def test_a_folder_and_an_owner_s_key_are_read_on_one_s_own_machine_alone(folder, monkeypatch):
    app = set_fields(open_page("ask"), release_source=opened_release.FROM_FOLDER)
    set_fields(app, released_folder="/no/such/<b>folder</b>")
    assert "there is no such folder" in error_text(app)
    set_fields(app, released_folder=str(folder))
    assert app.success
    set_fields(app, released_key="ab" * 32)
    assert "which is not the key that was given" in error_text(app)
    set_fields(app, released_key=json.loads((folder / "signature.json").read_text())["key"])
    assert app.success
    monkeypatch.setattr(opened_release, "is_public_host", lambda: True)
    close_tab()
    app = open_page("ask")
    assert not app.radio
    assert app.file_uploader(key=opened_release.UPLOAD_KEY)


def test_a_release_whose_owner_signed_other_rows_is_refused_in_words(folder, tmp_path):
    forged = shutil.copytree(folder, tmp_path / "forged")
    pd.DataFrame({"age": [20, 21], "<b>other</b>": [1, 2]}).to_parquet(forged / "synthetic.parquet")
    (forged / "weights.parquet").unlink()
    facts = read_json(forged / "release.json")
    facts["files"].pop("weights.parquet")
    facts["files"]["synthetic.parquet"] = verifier.digest(forged / "synthetic.parquet")
    write_json(forged / "release.json", facts)
    (forged / "card.html").write_text(card_page(facts, 1))
    load_signing_key(tmp_path / "forger").sign(forged)
    app = brought(open_page("ask"), packed(forged))
    assert app.success, "every file is as it was signed"
    assert "synthetic.parquet" in error_text(app)
    assert not app.get("vega_lite_chart")


def test_a_release_beside_the_ledger_comes_back_from_its_folder(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "ledger-releases" / "one")
    app = new_tab()
    app.session_state[release_ledger.FOLDER_WIDGET_KEY] = str(tmp_path)
    app = switch_page(app, "ask")
    assert app.selectbox(key="released-entry").options == ["t, release 1"]
    assert app.success
    assert "Release 1 of t" in [h.value for h in app.subheader]
