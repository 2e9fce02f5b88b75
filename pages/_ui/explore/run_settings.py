"""What is chosen on Explore, in the sidebar: the sliders first, then algorithm and questions, then the rest."""

import streamlit as st

from dpcore import ALGORITHMS, Budget, BudgetError, InputError, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import delta_words
from dpcore.accuracy.work_forecast import SAID, affordable, words
from dpcore.algorithms import Algorithm
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.schema_measurement.measurement_plan import SchemaShare
from dpcore.core.parameters import build
from dpcore.core.types import by_name
from dpcore.schema.inference.default_columns import first_columns

from ..components import deployments, parameter_widgets, question_choice
from ..session import COMFORTABLE_CELLS, Table, session

ALPHA = "α"
AGAINST = ("step", "ε used")  # what a curve can be drawn against


@by_name
class Chosen:
    """Everything that a run is made of; `texts` are the questions as the command line writes them.

    `schema` is the part of the budget that is not the algorithm's, where the table's schema is measured. One run is
    foreseen to take `seconds`.
    """

    problem: QueryRelease
    texts: list[str]
    algorithm: Algorithm
    budget: Budget
    seeds: tuple[int, ...]
    again: bool
    schema: SchemaShare | None = None
    seconds: float | None = None


def choose(table: Table) -> Chosen:
    """The widgets. Raises InputError for a choice that cannot be run; those that were drawn stay."""
    with st.sidebar:
        sliders = st.container(key="sliders", gap=None)
        with sliders:
            epsilon = parameter_widgets.epsilon_slider()
            _ends("epsilon", "stronger promise", "more accurate")
            _ends("finer", "<b>Finer settings</b>, for experts", "")
            delta_place, alpha_place, alpha_note = (st.container(gap=None) for _ in range(3))
        promise_container = st.container()
        name = parameter_widgets.algorithm()
        more_expander = st.expander("More", icon=":material/tune:")
        has_fewer_columns = len(first_columns(table.domain, COMFORTABLE_CELLS)) < len(table.domain.names)
        with st.expander("Columns, questions", expanded=has_fewer_columns, icon=":material/table_chart:"):
            workload, texts = question_choice.choose(table)
        problem = QueryRelease(workload, table.n, table.unit.most_rows)
        budget = Budget(epsilon, parameter_widgets.delta_slider(delta_place, zero=_pure(name, problem, epsilon)))
        with delta_place:
            _ends("delta", delta_words(budget.delta), "")
        promise_container.page_link(
            "pages/guarantee.py", label="What does this ε mean?", icon=":material/verified_user:"
        )
        with more_expander:
            deployments.known(epsilon)
            seeds = parameter_widgets.worlds()
            settings = parameter_widgets.settings(
                name, problem, budget, {ALPHA: (alpha_place, alpha_note)}, more_expander
            )
            again = st.button("Run again", icon=":material/replay:")
        if "alpha" in settings:
            with alpha_place:
                _ends("alpha", "keeps details", "smooths more")
    algorithm = build(ALGORITHMS[name], settings)
    key = (table.version, algorithm, budget, problem.group, problem.domain.names, tuple(texts))
    seconds, size = session().memo("forecast", key, lambda: affordable(algorithm, problem, budget))
    if seconds >= SAID:
        st.caption(f"Forecast: {words(seconds, size)}, from public numbers.")
    schema = None if table.trial is None else table.trial.share(budget)
    return Chosen(
        problem=problem, texts=texts, algorithm=algorithm, budget=budget, seeds=seeds, again=again, schema=schema,
        seconds=seconds,
    )  # fmt: skip


def _ends(of: str, left: str, right: str) -> None:
    """Two captions below a slider, at its ends."""
    with st.container(key=f"ends-{of}"):
        st.html(f"<p><span>{left}</span><span>{right}</span></p>")


def _pure(name: str, problem: QueryRelease, epsilon: float) -> bool:
    """Whether this algorithm promises at δ = 0 only."""
    return not _plans(name, problem, Budget(epsilon, 1e-9)) and _plans(name, problem, Budget(epsilon, 0.0))


def _plans(name: str, problem: QueryRelease, budget: Budget) -> bool:
    try:
        make_plan(ALGORITHMS[name](), problem, budget)
    except (BudgetError, InputError):
        return False
    return True
