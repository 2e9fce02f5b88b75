"""The Release page, headless: what it previews, spends once, refuses in words, and keeps; and the
stakeholder view.
"""

import ast
import json
import re
import threading
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore import Budget
from dpcore.core.provenance import Provenance
from dpcore.data.readers import load_table
from dpcore.privacy import exact_samplers
from dpcore.privacy.accounting import Gaussian
from dpcore.release import publish
from dpcore.release.evidence.card import SEVERAL_ROWS_CAVEAT
from dpcore.release.ledger.ledger_store import LedgerStore
from pages._ui.components import EPSILON_OPTIONS
from pages._ui.overview import all_columns
from pages._ui.release import release_request
from pages._ui.released import downloads as release_files
from pages._ui.released import released_views
from pages._ui.session import current_table, owner, release_ledger
from tests.pages import headless
from tests.pages.headless import (
    ROOT,
    algorithm_title,
    all_words,
    button,
    button_labels,
    caption_text,
    click,
    close_tab,
    dataframe,
    download_labels,
    error_text,
    everything,
    figures,
    follower_values,
    forget_owner,
    heading,
    markdown_text,
    new_tab,
    open_code,
    open_page,
    run_comparison,
    run_script,
    run_until_settled,
    session,
    set_fields,
    typed_schema,
    unescape_markdown,
    upload,
    visible_text,
)
from tests.pages.test_pages import badges
from tests.release.ledger.ledger_charges import charge_events
from tests.small_problems import categorical, folder_contents, integer, parametrize, private
from tests.source_map import Source

NOW = "Release: permanent"
PLANTED = "planted-4711"
PEOPLE = ("who,job\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(300))).encode()
SCHEMA = {"columns": {"job": categorical("a", "b")}}


@pytest.fixture(autouse=True)
def no_ledger_of_the_owner(monkeypatch):
    forget_owner(monkeypatch)


def opened(folder, page="release", **query):
    """The page on the Berkeley sample, with the ledger in `folder`."""
    close_tab()
    app = new_tab(**({"sample": "berkeley"} | query))
    app.session_state["first-values"] = False  # nobody looks at an upload
    return go(app, page, folder)


def test_before_a_folder_is_named_the_page_shows_the_plan_and_the_button_says_what_is_missing(
    tmp_path,
):
    app = opened(None)
    assert (
        everything(app).count("New budget · this release 8%") == 2
    )  # what was used before is not known
    assert button(app, f"{NOW} (choose a folder first)").disabled
    assert "Uses 8%, even if it fails." in markdown_text(app)
    assert "4,526 invented rows" in markdown_text(app)
    assert "12 such releases, not 3" in caption_text(app)
    assert "After 12, a guess is right at most 63" in help_text(app)
    set_fields(app, epsilon=0.01)
    assert "After 100, a guess is right at most" in help_text(
        app
    )  # no more, whose exact sum would take minutes
    set_fields(
        set_fields(app, algorithm=algorithm_title("dpfw"), epsilon=1.0, delta=0.0), total_delta=0.0
    )
    assert "ε = 3 bears 3 such releases." in caption_text(app)  # Σε adds up
    for folder in (
        "/no/such/folder",
        "\0",
        "~nobody-at-all/x",
        "a" * 900,
        "![x](http://evil.example)",
    ):
        set_fields(app, ledger_folder=folder)
        assert "There is no folder" in error_text(app)
        assert "](http://evil" not in app.error[0].value
        assert app.button(key="release-now").disabled
    set_fields(app, ledger_folder=str(tmp_path))
    assert not button(app, NOW).disabled


def test_the_error_promised_is_that_of_the_noise_and_the_predicted_ones_use_no_data(tmp_path):
    first, second = (
        go(uploaded(content), "release", tmp_path)
        for content in (PEOPLE, PEOPLE.replace(b"a", b"b"))
    )
    (promised,) = [m for m in first.markdown if m.value.startswith("One chosen answer")]
    assert len([m for m in first.markdown if ":small[predicted" in m.value]) == 2
    assert not any(
        c.value == release_request.CAUTION_TEXT for c in first.caption
    )  # Explore pays as a release does
    assert [m.value for m in second.markdown] == [m.value for m in first.markdown]
    charges = dataframe(first, "mechanism")
    sigma = 1 / np.sqrt(
        2 * float(charges["together (ρ)"][0])
    )  # one row moves two counts of one table by 1
    shown = float(re.search(r"within ([0-9.]+) people", promised.value.replace("\\", ""))[1])
    assert shown == pytest.approx(1.96 * sigma, rel=0.5)


def uploaded(content=PEOPLE, schema=SCHEMA, name="people.csv", **query):
    """The Data page after an upload with a typed schema."""
    return typed_schema(upload(opened(None, "data", **query), content, name), schema)


def go(app, page, folder=None):
    headless.switch_page(app, page)
    return app if folder is None else set_fields(app, ledger_folder=str(folder))


def release(app):
    """Press the one button, and wait for what comes of it."""
    click(app, NOW)
    work = session(app).resources["desk"].job
    if work is not None:
        assert work.wait(60)
    app.run()
    assert not app.exception
    return app


def made(app):
    """The files of what the page has released, by name."""
    return session(app).resources["desk"].job.result


def recorded(folder):
    """The one data set of the ledger."""
    (found,) = LedgerStore(folder / "ledger.sqlite").list_datasets()
    return found


def help_text(app):
    """What stands behind the captions' question marks."""
    return unescape_markdown(" ".join(c.help for c in app.caption if c.help))


def releases(folder):
    return recorded(folder).releases


def test_the_plan_its_cost_and_exact_noise_are_shown_before_anything_is_touched_and_after(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(exact_samplers, "gaussian", lambda counts, scale, rng: counts + 1)
    app = opened(tmp_path)
    assert "Used before 0%" in everything(app)
    assert "All releases then cost ε = 0.7536 of 3 at δ = 1e-6" in caption_text(app)
    assert dataframe(app, "mechanism")["mechanism"].tolist() == ["Gaussian"]
    assert "drawn without rounding" in caption_text(app)
    assert not list(tmp_path.iterdir())
    release(app)
    assert any("exact Gaussian noise on counts" in c.help for c in app.caption if c.help)
    found = recorded(tmp_path)
    assert found.lifetime.accounting.name == "exact Gaussian (GDP)"
    assert [event["kind"] for event in found.releases[0]["events"]] == ["Gaussian"]


def test_the_code_of_a_release_makes_the_one_that_was_planned(tmp_path):
    app = open_code(opened(tmp_path))
    assert "All releases then cost ε = 0.7536 of 3 at δ = 1e-6" in caption_text(app)
    assert not list(tmp_path.iterdir()), "code alone makes nothing"
    facts = run_script(app, tmp_path)["facts"]
    assert facts["dataset"]["spent"]["epsilon"] == pytest.approx(0.7536, abs=1e-4)
    assert facts["dataset"]["name"] == "berkeley"
    assert len(recorded(tmp_path).releases) == 1


def test_a_second_press_of_the_same_button_finds_its_token_used(tmp_path, monkeypatch):
    app = opened(tmp_path)
    asked = []
    desk = session(app).resources["desk"]
    with monkeypatch.context() as caught:
        caught.setattr(desk, "start", lambda *given: asked.append(given))
        click(app.run(), NOW)
    (given,) = asked
    presses = [threading.Thread(target=desk.start, args=given) for _ in range(8)]
    for one in presses:
        one.start()
    for one in presses:
        one.join()
    assert desk.job.wait(60)
    desk.start(*given)
    desk.clear()
    desk.start(*given)
    desk.start("", *given[1:])
    assert desk.job is None
    assert len(releases(tmp_path)) == 1


def assert_released_columns_come_from_the_files(app, files):
    (chart,) = app.get("vega_lite_chart")
    assert "pick" in chart.proto.spec
    assert all_columns.FREE_TEXT in caption_text(app)
    source = released_views._read_release(files).panels
    rows = json.loads(files["release.json"])["protects"]["records"]
    frame = load_table(BytesIO(files["synthetic.csv"]), "synthetic.csv").frame
    view = all_columns._view(source, {0: (1,)})
    name = source.domain.names[0]
    label = source.domain.columns[0].labels[1]
    count = (frame[name].astype(str) == label).mean() * rows
    said = all_columns.finding(source, view)
    pattern = (
        rf"{name} = {label}: {count:,.0f} people \([\d,]+ to [\d,]+\), [\d.]+% in a wrong cell"
    )
    assert re.match(pattern, said), said


def test_a_further_release_is_a_new_plan_on_what_is_left(tmp_path):
    app = opened(tmp_path)
    assert "predicted" in visible_text(app)
    promised = next(m.value for m in app.markdown if m.value.startswith("One chosen answer"))
    release(app)
    told = caption_text(app)
    kept = made(app)
    assert badges(app)[0] is Provenance.RELEASED  # no badge says that no data was used
    offered = {*download_labels(app)}
    assert offered >= {release_files.FILE_LABELS[name] for name in release_files.BUTTON_FILES}
    listed = app.selectbox(key="release-file").options
    assert sorted(listed) == sorted(
        release_files.FILE_LABELS[name] for name in {*kept} - set(release_files.BUTTON_FILES)
    )
    go(go(app, "explore"), "release", tmp_path)
    assert made(app) is kept
    assert "you may publish everything" in markdown_text(app)
    assert NOW not in button_labels(app)
    assert "This release is in the budget record" in told
    assert "predicted" in visible_text(app)
    assert promised in markdown_text(app), "what was promised before is promised after"
    assert "Release 1 of berkeley" in [h.value for h in app.subheader]
    assert SEVERAL_ROWS_CAVEAT in told, "what is said of one person is true of each row"
    assert_released_columns_come_from_the_files(app, kept)
    click(app, "Prepare another release")
    assert "Used before 8% · this release 8% · left 84%" in everything(
        app
    )  # equal releases, equal shares
    release(app)
    assert len(releases(tmp_path)) == 2
    assert app.selectbox(key="release-again").options == [
        "berkeley, release 2",
        "berkeley, release 1",
    ], "newest first"


def test_every_page_shows_what_is_left_of_a_named_budget_and_a_damaged_record_is_said_on_release_alone(
    tmp_path,
):
    app = release(opened(tmp_path))
    assert "Used 8% · left 92%" in everything(app)
    ledger = tmp_path / "ledger.sqlite"
    pages = [page.stem for page in sorted((ROOT / "pages").glob("*.py"))]
    before = folder_contents(tmp_path)
    for page in pages:
        if page != "release":
            shown = everything(go(app, page))
            assert shown.count("Used 8% · left 92%") == 2, f"{page}: the picture and its words"
    assert folder_contents(tmp_path) == before
    ledger.write_bytes(b"no ledger at all")
    for page in pages:
        if page != "release":
            go(app, page)
            assert "Used " not in everything(app), page
            assert not [*app.error, *app.warning], page
    assert "not usable as a ledger" in error_text(go(app, "release"))


def test_a_budget_that_does_not_suffice_is_refused_in_words(tmp_path):
    app = opened(tmp_path)
    set_fields(app, total_epsilon=0.1)
    assert "this needs ε=" in error_text(app)
    fits = float(re.search(r"ε = ([0-9.]+) would fit", error_text(app))[1])
    larger = next(e for e in EPSILON_OPTIONS if e > fits)
    assert "this release needs more than the whole budget" in everything(app)
    click(app, f"Use ε = {fits:g}")
    assert app.select_slider(key="epsilon").value == fits
    assert not app.error
    set_fields(app, epsilon=larger)
    assert "would fit" in error_text(app)
    set_fields(app, total_epsilon=0.01)
    set_fields(app, total_delta=1e-12)
    set_fields(app, epsilon=1.0)
    assert "No ε of the slider would fit" in error_text(app)
    set_fields(app, total_delta=1e-6)
    set_fields(app, total_epsilon=0.1)
    assert "no budget was used" in caption_text(app)
    assert NOW not in button_labels(app)
    assert not list(tmp_path.iterdir())
    set_fields(app, total_epsilon=3.0)
    set_fields(app, delta=0.0)
    assert "delta=0" in error_text(app)


def test_on_a_public_host_releases_are_off_unless_the_owner_names_a_ledger(tmp_path, monkeypatch):
    for_others(monkeypatch)
    for ledger, key in (
        (None, None),
        (None, RIGHT),
        ("ledger.sqlite", None),
        ("ledger.sqlite", "too short"),
    ):
        for name, value in ((release_ledger.LEDGER_VARIABLE, ledger), (owner.KEY_VARIABLE, key)):
            monkeypatch.delenv(name, raising=False)
            if value:
                monkeypatch.setenv(name, str(tmp_path / value) if value == ledger else value)
        app = opened(None)
        assert release_ledger.LEDGER_VARIABLE in app.warning[0].value
        assert NOW not in button_labels(app)
        assert not app.text_input, "neither a folder nor a key is asked for"
    monkeypatch.setenv(owner.KEY_VARIABLE, RIGHT)
    app = release(unlocked(opened(None)))
    assert len(releases(tmp_path)) == 1
    assert str(tmp_path) not in everything(app)


RIGHT = "correct horse battery staple"
NAME = "the-data-set-hospital"


def for_others(monkeypatch, folder=None):
    """A server that others reach; with the owner's ledger in `folder` and a key."""
    for module in (owner, release_ledger):
        monkeypatch.setattr(module, "is_public_host", lambda: True)
    if folder is not None:
        monkeypatch.setenv(release_ledger.LEDGER_VARIABLE, str(folder / "ledger.sqlite"))
        monkeypatch.setenv(owner.KEY_VARIABLE, RIGHT)


def unlocked(app, key=RIGHT):
    return set_fields(app, ledger_key=key)


WRONG = ["", RIGHT[:-1], RIGHT + "x", RIGHT.upper(), "ключ" * 9]
GUESSES = [PEOPLE.replace(b"0,a", b"0,b", 1), PEOPLE]


def test_a_stranger_learns_nothing_of_the_ledger_from_a_guessed_table(tmp_path, monkeypatch):
    """Compared as a whole, so that no message is forgotten: the right guess changes not a word."""
    frame = load_table(BytesIO(PEOPLE), "people.csv").frame
    store = LedgerStore(tmp_path / "ledger.sqlite", create=True)
    events = ((Gaussian(0.1), 1),)
    charge_events(
        store, frame, events, dataset=NAME, total=Budget(3, 1e-6), algorithm="planted_algorithm"
    )
    for_others(monkeypatch, tmp_path)
    told = {}
    for content in GUESSES:
        app = uploaded(content)
        for page in ("guarantee", "release"):
            go(app, page)
            told[content, page] = all_words(app)
            for word in (
                NAME,
                "planted_algorithm",
                "cannot also be",
                "has changed",
                "This release",
                NOW,
            ):
                assert word not in everything(app)
    for page in ("guarantee", "release"):
        assert told[GUESSES[0], page] == told[GUESSES[1], page] != []
    for key in WRONG:
        unlocked(app, key)
        assert "Data set" not in [t.label for t in app.text_input]
        assert NAME not in everything(app)
    assert "use that name" in error_text(unlocked(app)), "whoever holds the key is told"


def test_the_holder_of_the_key_sees_and_releases_and_another_tab_does_not(tmp_path, monkeypatch):
    for_others(monkeypatch, tmp_path)
    app = release(unlocked(opened(None)))
    click(app, "Prepare another release")
    assert "Used before 8%" in everything(app)
    assert [c for c in app.checkbox if "new version" in c.label]
    assert "ledger-key" not in str(dict(app.query_params))
    assert RIGHT not in everything(app)
    close_tab()
    assert "Used before 8%" not in everything(opened(None))


def test_on_one_s_own_machine_nothing_is_asked_unless_a_key_is_set(tmp_path, monkeypatch):
    monkeypatch.setenv(release_ledger.LEDGER_VARIABLE, str(tmp_path / "ledger.sqlite"))
    assert NOW in button_labels(opened(None))
    monkeypatch.setenv(owner.KEY_VARIABLE, RIGHT)  # behind a proxy on this machine, say
    app = opened(None)
    assert NOW not in button_labels(app)
    assert NOW in button_labels(unlocked(app))


@parametrize(
    "address, hosts, others",
    [
        ("127.0.0.1", "localhost 127.0.0.1", False),
        ("0.0.0.0", "localhost", True),
        (None, "localhost", True),
        ("127.0.0.1", "localhost explorer.example.org", True),  # a proxy stands before it
        ("127.0.0.1", "", True),
        ("localhost", "*", True),
    ],
)
def test_who_may_reach_the_server_is_read_off_its_settings(monkeypatch, address, hosts, others):
    settings = {
        "server.address": address,
        "server.allowedHosts": hosts.split(),
        "server.corsAllowedOrigins": [],
    }
    monkeypatch.setattr(current_table.st, "get_option", settings.__getitem__)
    assert current_table.is_public_host() is others


def test_a_session_that_looked_must_say_why(tmp_path):
    app = go(uploaded(), "release", tmp_path)
    assert not app.text_area
    assert not button(app, NOW).disabled
    go(go(app, "explore"), "release", tmp_path)
    assert app.button(key="release-now").disabled
    text = "![x](http://evil.example/x.png) <script>alert(1)</script>"
    set_fields(app, reason=f"  {text}\n")
    release(app)
    assert releases(tmp_path)[0]["reason"] == text
    card = made(app)["card.html"].decode()
    assert "&lt;script&gt;" in card
    assert "<script" not in card
    assert "http://evil.example" not in markdown_text(app)
    shown = [unescape_markdown(m.value).rstrip("]").split("  \n") for m in app.markdown]
    tiles = [
        "<div>{}<b>{}</b>{}</div>".format(*lines).replace("**", "")
        for lines in shown
        if len(lines) == 3
    ]
    assert "guesses right at most" in tiles[-1]
    assert "\n".join(tiles) in re.sub("</?bdi>", "", card), (
        "the page and the card have the same tiles"
    )


def test_a_look_is_remembered_when_the_same_table_is_brought_again(tmp_path):
    app = go(uploaded(), "explore")
    go(app, "data")
    click(app, "Forget my table")
    upload(app, PEOPLE, "other.csv")
    go(typed_schema(app, SCHEMA), "release", tmp_path)
    assert app.text_area


def test_where_bounds_were_filled_in_from_the_data_every_page_says_so_and_a_release_needs_a_reason(
    tmp_path,
):
    app = go(uploaded(schema=SCHEMA | {"peeked": True}), "release", tmp_path)
    assert "this release 8%" in everything(app)  # the preview comes before the reason
    assert app.button(key="release-now").disabled
    for page in ("release", "data", "explore", "compare", "guarantee", "learning"):
        assert badges(go(app, page)) == [Provenance.REAL_DATA], page
    assert badges(go(app, "audit")) == [Provenance.PUBLIC], "which plays on tables of its own"


def test_what_fails_after_the_charge_stays_charged_and_says_so_in_words(tmp_path, monkeypatch):
    def fail(*_args, **_options):
        raise KeyError(PLANTED)

    monkeypatch.setattr(publish, "write_release_files", fail)
    app = release(opened(tmp_path))
    assert "unexpected KeyError" in error_text(app)
    assert PLANTED not in everything(app)
    assert [entry["state"] for entry in releases(tmp_path)] == ["failed"]
    assert "failed" in dataframe(app, "state")["state"].tolist()


# Hostile inputs


def garbage(path):
    path.write_bytes(b"not a ledger at all" * 100)


def emptied(path):
    """As it is after something was charged in it."""
    path.touch()
    path.with_name(f"{path.name}-checked").touch()


def test_a_broken_ledger_is_a_message(tmp_path):
    app = opened(tmp_path)
    for break_it in (garbage, Path.mkdir, emptied):
        folder = tmp_path / break_it.__name__
        folder.mkdir()
        break_it(folder / "ledger.sqlite")
        set_fields(app, ledger_folder=str(folder))
        assert error_text(app), break_it
        assert NOW not in button_labels(app)


def test_on_a_server_for_others_nobody_is_told_where_the_ledger_lies(tmp_path, monkeypatch):
    for_others(monkeypatch, tmp_path)
    garbage(tmp_path / "ledger.sqlite")
    app = opened(None)
    assert not app.error, "and to strangers that it is broken neither"
    unlocked(app)
    assert "…/ledger.sqlite" in error_text(app)
    assert str(tmp_path) not in everything(app)


def test_what_was_released_stays_on_the_page_when_the_table_or_the_ledger_goes(tmp_path):
    app = release(opened(tmp_path))
    assert "a suspicion of 10" in markdown_text(typed_schema(app, {"columns": {}}))
    (tmp_path / "ledger.sqlite").write_text("gone")
    assert "a suspicion of 10" in markdown_text(app.run())
    assert error_text(app)


def test_a_folder_that_cannot_be_written_is_a_message_and_nothing_is_spent(tmp_path, monkeypatch):
    app = opened(tmp_path)
    (tmp_path / "ledger-releases").write_text("in the way")
    release(app)
    assert "cannot be made" in error_text(app)
    assert "no budget is used" in error_text(app)
    assert not (tmp_path / "ledger.sqlite").exists()


def test_hostile_names_are_shown_and_not_interpreted(tmp_path, hostile):
    frame, schema = hostile
    name = "![x](http://evil.example/x.png) <script>$\\alpha$</script> :red[x]"
    app = go(
        uploaded(frame.to_csv(index=False).encode(), schema, f"{name}.csv"), "release", tmp_path
    )
    release(set_fields(app, **{"Data set": name}))
    assert not app.error
    assert recorded(tmp_path).name == name
    told = markdown_text(app) + heading(app)
    assert "](http://evil" not in told
    assert not re.search(r"(?<!\\)[<$]\w", told), "nothing stands unescaped"


def test_another_table_under_a_known_name_is_refused_until_it_is_called_a_new_version(tmp_path):
    release(go(uploaded(), "release", tmp_path))
    app = go(uploaded(PEOPLE + b"300,a\n"), "release", tmp_path)
    assert "has changed" in error_text(app)
    set_fields(app, **{"This is a new version": True})
    assert not app.error
    release(app)
    assert [r["version"] for r in releases(tmp_path)] == [1, 2]


def test_a_name_typed_for_one_upload_is_not_taken_for_another():
    tables = [SimpleNamespace(name=name, uploaded=True) for name in ("a.csv", "b.csv")]
    assert len(set(map(release_ledger.data_set_widget_key, tables))) == 2


ALSO = {"columns": {"job": categorical("a", "b", "c"), "who": integer(0, 299, bins=3)}}
OPEN = {"columns": {"who": private("integer", bins=3)}}


@parametrize("schema", [ALSO, OPEN])
def test_the_same_upload_with_another_schema_is_the_same_data_set(tmp_path, schema):
    release(go(uploaded(), "release", tmp_path))
    before = recorded(tmp_path)
    app = run_until_settled(go(uploaded(schema=schema), "release", tmp_path))
    assert error_text(app) == ""
    release(app)
    after = recorded(tmp_path)
    assert [r["version"] for r in after.releases] == [1, 1]
    assert 0 < after.remaining < before.remaining


# The stakeholder view


def secret(**query):
    """An upload that holds a planted value outside its schema."""
    rows = "".join(f"{PLANTED}-{i},{'ab'[i % 2]}\n" for i in range(300))
    return uploaded(f"who,job\n{rows}".encode(), **query)


def test_the_stakeholder_view_shows_no_real_value_on_any_page(tmp_path):
    assert PLANTED not in everything(secret()), "records are sent only when somebody opens them"
    app = secret(view="stakeholder")
    assert "Stakeholder view" in app.info[0].value
    assert PLANTED not in everything(app)
    go(app, "explore")
    assert not figures(app)
    assert not app.get("vega_lite_chart")
    assert {c for f in app.dataframe for c in f.value} <= {
        "setting",
        "value",
        "why",
        "what",
        "mechanism",
        "times",
        "each",
        "together (ρ)",
        "ε",
        "δ",
        "protects",
        "model",
        "year",
        "variant",
        "name",
        "curator",  # of public deployments
    }
    assert "predicted" in visible_text(app), "which needs no data"
    assert "synthetic" not in markdown_text(app)
    go(app, "compare")
    assert not figures(run_comparison(app))
    assert not app.dataframe
    app.query_params.clear()
    set_fields(app, stakeholder_view=False)
    go(app, "release", tmp_path)
    assert not app.text_area  # nobody has looked
    release(app)
    set_fields(app, stakeholder_view=True)
    assert "Release 1 of people" in heading(app)
    assert PLANTED not in everything(app)


def test_start_shows_the_synthetic_bars_alone_to_stakeholders():
    app = open_page("app", view="stakeholder")
    bars = follower_values(app)
    assert bars["real"] is None
    assert bars["legend"]["real"] == ""
    assert len(bars["synthetic"][0][bars["at"]]) == 4
    assert "off by" not in json.dumps(bars)
    assert not figures(app)
    assert not any("real" in frame.value for frame in app.dataframe)
    assert "off by" not in markdown_text(app)
    assert "uses real data –" not in everything(app)


def test_the_view_stays_from_page_to_page():
    app = opened(None, "glossary", view="stakeholder")
    app.query_params.clear()
    assert not figures(go(app, "explore"))


def test_a_schema_read_off_the_records_is_hidden_from_stakeholders():
    schema = {"columns": {"job": categorical("a", "b", PLANTED)}, "peeked": True}
    assert PLANTED not in everything(uploaded(schema=schema, view="stakeholder"))
    assert PLANTED in everything(uploaded(schema=schema))


def peeks(source):
    """The (file, function, its decorators) of all functions of the pages that draw a heading of a
    private peek.
    """
    return [
        (path, function.name, {ast.unparse(d) for d in function.decorator_list})
        for path in source.pages
        if path.startswith("pages/_ui/")
        for function in ast.walk(source.tree(path))
        if isinstance(function, ast.FunctionDef) and _peeks(function)
    ]


def shown_to_all(source):
    return [
        (path, name) for path, name, by in peeks(source) if "hide_in_stakeholder_view" not in by
    ]


def test_every_section_of_a_private_peek_can_be_hidden():
    source = Source.real()
    assert len(peeks(source)) > 10
    assert shown_to_all(source) == []
    breach = {
        "pages/_ui/planted.py": "def planted():\n    draw_heading('Real', Provenance.REAL_DATA)"
    }
    assert shown_to_all(source.with_breach(breach)) == [("pages/_ui/planted.py", "planted")]


def _peeks(function):
    """Whether the function itself, and not one that stands in it, draws a heading of a private
    peek.
    """
    within = {
        n
        for f in ast.walk(function)
        if isinstance(f, ast.FunctionDef) and f is not function
        for n in ast.walk(f)
    }
    own = (n for n in ast.walk(function) if n not in within)
    calls = (n for n in own if isinstance(n, ast.Call) and ast.unparse(n.func) == "draw_heading")
    return any("Provenance.REAL_DATA" in map(ast.unparse, call.args[1:]) for call in calls)
