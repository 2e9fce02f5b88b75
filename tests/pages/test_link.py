"""What a link says: values of former versions are led on, and what nothing takes is named."""

from pages._ui.session.inert_text import escape_markdown
from tests.pages.headless import caption_text, click_and_wait, open_page, switch_page
from tests.small_problems import parametrize


def said(app):
    return [w.value.replace("\\", "") for w in app.warning if "In this link" in w.value]


@parametrize(
    "page, name, known",
    [
        ("start", "epsilon", "0.01, 0.02"),
        ("data", "view", "stakeholder"),
        ("explore", "lesson", "population"),
        ("compare", "compared", "AIM"),
        ("release", "noise", "floating point"),
        ("guarantee", "expert", "Suspicions"),
        ("guarantee", "releases", "1 … "),
        ("audit", "audit-bug", "true, false"),
        ("learning", "part", "Median"),
        ("evolution", "part", "Watch"),
        ("glossary", "sample", "census"),
        ("lessons", "present", "true, false"),
    ],
)
def test_a_value_that_nobody_knows_is_said_on_every_page_and_which_there_are(page, name, known):
    (words,) = said(open_page(page, **{name: "none-such"}))
    assert f"{name} = none-such" in words
    assert known in words


@parametrize(
    "page, old, now",
    [
        ("explore", "against=ε spent", "against=ε used"),
        (
            "compare",
            "measure=mean over questions&ask-share=99% of runs",
            "measure=rows in a wrong cell&ask-share=99% of releases",
        ),
        ("compare", "measure=typical error", "measure=rows in a wrong cell"),
        ("guarantee", "expert=Accountants&pe-epsilon=0.3", "expert=Cost&epsilon=0.3"),
        (
            "evolution",
            "pe-sample=Quarter disc (the paper's)&pe-delta=1e-06",
            "pe-sample=A quarter of a disc&delta=1e-6",
        ),
        ("evolution", "part=For experts: two lessons", "part=For experts"),
        ("evolution", "part=The paper's figures", "part=For experts"),
        ("evolution", "part=On a table", "part=My table"),
        ("learning", "part=Two coefficients&learn-delta=1e-06", "part=Line&delta=1e-6"),
        (
            "learning",
            "part=The whole table&loss=classifier, hinge&learners=regularized_exponential, "
            "stages by rule",
            "part=Prediction&loss=yes or no (hinge)&learners=Regularised exponential mechanism, "
            "steps by rule",
        ),
    ],
)
def test_a_link_of_a_former_version_is_led_on_without_a_word(page, old, now):
    before, after = (dict(pair.split("=") for pair in link.split("&")) for link in (old, now))
    app = open_page(page, sample="berkeley", **before)
    assert not said(app)
    said_now = {name: app.query_params[name] for name in after}
    assert {
        name: value if isinstance(value, str) else value[0] for name, value in said_now.items()
    } == after


def test_the_budget_that_a_link_names_wins_over_one_of_a_former_page():
    for settings in (
        {"epsilon": "0.3", "pe-epsilon": "10"},
        {"pe-epsilon": "10", "epsilon": "0.3"},
    ):
        assert "this release 1%" in caption_text(
            open_page("release", sample="berkeley", **settings)
        )


def test_a_column_of_a_former_table_is_no_fault_of_a_link():
    app = open_page("start", sample="census")
    app.query_params["learn-column"] = "no column"
    assert not said(switch_page(app, "learning"))


HOSTILE = ["<b>x</b> ![](http://evil.example)", "[a](http://evil.example) $x$ :red[y]", "z" * 3000]


@parametrize("name", ["nosuch", *HOSTILE])
def test_the_name_of_a_page_that_there_is_not_is_shown_as_text_until_it_is_read(name):
    app = open_page("app", **{"no-page": name})
    (said,) = [warning.value for warning in app.warning]
    shown = escape_markdown(name, 80)
    assert said == f"There is no page named “{shown}”. This is Start; the menu leads to every page."
    assert len(said) < 300
    assert "no-page" not in app.query_params, "no link that is copied says it"
    click_and_wait(app, "Understood")
    assert not app.warning
