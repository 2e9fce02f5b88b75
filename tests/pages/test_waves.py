"""Windows of waves are offered where a table has waves, and a project carries them."""

from dpcore import domain_from_json, read_queries
from dpcore.evaluation.experiment import QueryTask
from pages._ui.components.question_choice import (
    WINDOWS_KIND,
    has_other_queries,
    kinds_of_queries,
    kinds_on_offer,
)
from pages._ui.session import sample_table
from tests.pages.headless import (
    error_text,
    open_page,
    set_fields,
    switch_page,
    table,
    typed_schema,
    unescape_markdown,
    upload,
)
from tests.pages.test_project import another_tab, open_project, save
from tests.small_problems import integer, parametrize

NAMES = ["pay_08", "pay_09", "pay_10", "sex", "<i>1", "<i>2", "<i>3", "<i>4"]
SCHEMA = {"columns": {name: integer(0, 1) for name in NAMES}}
WINDOWS = ("windows:pay_08..pay_10:3", "windows:<i>1..<i>4:3")
CSV = ",".join(NAMES) + "\n" + "\n".join(",".join(f"{i:08b}") for i in range(256))


def task_of(*queries, columns=()):
    return QueryTask(table="a.csv", schema=SCHEMA, queries=queries, columns=columns)


def test_windows_are_offered_where_there_are_waves():
    assert WINDOWS_KIND in kinds_on_offer(domain_from_json(SCHEMA))
    for sample in ("census", "berkeley", "titanic", "coins"):
        assert WINDOWS_KIND not in kinds_on_offer(sample_table(sample).domain)


@parametrize(
    "queries, kinds, others",
    [
        (WINDOWS, [WINDOWS_KIND], False),
        (("marginals:2", *WINDOWS, "marginals:1"), ["every pair", WINDOWS_KIND, "every single column"], False),
        (WINDOWS[:1], [], True),
        (("windows:pay_08..pay_10:2", "marginals:1"), ["every single column"], True),
    ],
)  # fmt: skip
def test_a_page_takes_the_windows_of_a_project_as_one_kind(queries, kinds, others):
    assert kinds_of_queries(task_of(*queries)) == kinds
    assert has_other_queries(task_of(*queries)) == others


def test_the_columns_that_are_used_have_windows_of_their_own():
    task = task_of("windows:<i>2..<i>4:3", columns=("sex", "<i>2", "<i>3", "<i>4"))
    assert kinds_of_queries(task) == [WINDOWS_KIND]


def test_windows_are_chosen_saved_and_opened_again():
    app = typed_schema(upload(open_page("data"), CSV.encode()), SCHEMA)
    app = switch_page(app, "explore")
    choice = app.multiselect(key="questions")
    assert WINDOWS_KIND in choice.options
    assert "here pay\\_08 to pay\\_10." in choice.help
    set_fields(app, questions=[WINDOWS_KIND], Columns=NAMES)
    project, document = save(app)
    assert project.experiment.task.queries == WINDOWS
    assert read_queries(WINDOWS, project.experiment.task.planning_domain)[0].m == 3 * 8
    set_fields(app, Columns=["sex", "pay_08", "pay_10"])
    assert "the chosen columns hold no 3 waves in a row" in unescape_markdown(error_text(app))
    other = open_project(another_tab("data"), document)
    upload(other, CSV.encode(), "again.csv").run()
    assert other.session_state["questions"] == [WINDOWS_KIND]
    assert table(other).schema == SCHEMA
