"""Score synthetic rows for each purpose, beside real rows; from real data, for exploring."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import field, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import rel_entr
from scipy.stats import chi2_contingency

from ..accuracy.intervals.independence_test import SIGNIFICANCE_LEVEL, run_independence_test
from ..accuracy.intervals.unbiased_tables import axes_and_values, unbiased_tables
from ..core.errors import InputError
from ..core.types import Array, ProgressCallback, Rng, frozen, ignore_progress
from ..problems import QueryRelease
from ..queries import Marginals
from ..queries.questions import Question
from ..schema.domain import Domain, Rows
from .error_diagnosis import rows_with_counts, split_held_out
from .release_errors import TaskScore
from .run import Run
from .run_summary import RunSummary

MIN_NUMERIC_VALUES = 20  # whole numbers from which a target is one to come near to, and not to hit
HELD_OUT_SHARE = 0.25  # share of the rows that models are tested on
MIN_HELD_OUT_ROWS = 50  # how many these are at the least
MAX_STRONGEST_LINKS = 10  # how many links are looked for
TEST_REPEATS = 199  # simulated tables of an independence test
INDEPENDENT_RUN_SEED_OFFSET = 2**32  # from a run's seed to that of its table of independent columns
TEST_NAMES = ("χ² on synthetic rows", "our test")
MIN_LEAF_ROWS = 20  # rows in a leaf, of which equal ones are trained on together
MODEL_NAMES = ("logistic regression", "gradient boosting")


@frozen
class Purposes:
    """The purposes of a table: a `target` to predict, a `question`, and links between columns.

    The target is also predicted by `group`. `train` is all that any release sees; `test` was held
    out of it, by a public seed and nothing of the rows.
    """

    domain: Domain
    train: Rows
    test: Rows
    target: str | None = None
    group: str | None = None
    question: Question | None = None
    # models of the real rows, once
    _models_of_real_rows: dict[str, Callable[[Rows], float | None]] = field(default_factory=dict)

    @classmethod
    def for_table(
        cls,
        domain: Domain,
        rows: Rows,
        *,
        target: str | None = None,
        group: str | None = None,
        question: Question | None = None,
    ) -> "Purposes":
        """Return the purposes of a table, with a quarter of its rows held out.

        Raises InputError where they do not fit the table.
        """
        if group is not None and target is None:
            raise InputError(
                "a group is compared by how well a target is predicted; name the target too"
            )
        if rows.votes_per_unit > 1:
            raise InputError("rows are held out one by one; count rows, not people")
        held_out_count = int(HELD_OUT_SHARE * rows.n)
        if held_out_count < MIN_HELD_OUT_ROWS:
            raise InputError(
                f"{held_out_count} rows can be held out and {MIN_HELD_OUT_ROWS} are needed: the "
                f"table needs {4 * MIN_HELD_OUT_ROWS} rows"
            )
        train, test = split_held_out(rows, held_out_count, np.random.default_rng(0))
        purposes = cls(domain, train, test, target, group, question)
        for role, name in (("target", target), ("group", group)):
            if name is not None:
                purposes._require_two_values(role, name)
        if len(purposes._column_pairs) == 0:
            raise InputError(
                "links need two columns with two values each, and this table has fewer"
            )
        if target is not None:
            _import_sklearn()
        return purposes

    def _require_two_values(self, role: str, name: str) -> None:
        """Raise InputError for a column that has one value, or whose others are too rare to test.

        They are too rare where the held-out rows, or the others, have one value only.
        """
        parts = [self._occurring_codes(part, name) for part in (self.train, self.test)]
        if min(map(len, parts)) >= 2:
            return
        if len(set().union(*(codes.tolist() for codes in parts))) < 2:
            raise InputError(
                f"the {role} {name!r} has one value only in this table; choose another column"
            )
        raise InputError(
            f"the {role} {name!r} has a value that is too rare: the held-out quarter of the rows, "
            "or the rest, has no row with it; choose another column, or group its values"
        )

    def score_tasks(
        self, run: Run, progress: ProgressCallback = ignore_progress
    ) -> list[TaskScore]:
        """Return the scores of all purposes by the last release of a finished run on `train`.

        `progress` is called regularly.
        """
        release = run.release
        exactness = run.convergence[-1].query_errors.as_exact_as_sample
        if release is None:
            raise InputError("the algorithm released nothing")
        rng = np.random.default_rng([run.seed, 1])
        sample_size = None if exactness is None else max(1, round(exactness * self.train.n))
        synthetic = self.domain.encode(run.sample())
        sample_rows = (
            None if sample_size is None else split_held_out(self.train, sample_size, rng)[1]
        )
        scores = []
        score_functions = (self._score_models, self._score_links, self._score_question)
        for i, score_purpose in enumerate(score_functions):
            progress(i, len(score_functions))
            with _single_thread_context():
                scores += score_purpose(release, synthetic, sample_rows)
        return scores + self._score_false_alarms(run, rng, progress)

    def summarise(self, run: Run, progress: ProgressCallback = ignore_progress) -> RunSummary:
        """Return the run's summary with the score of each purpose.

        `progress` is called regularly.
        """
        summary = run.summarise()
        scores = self.score_tasks(run, progress)
        return replace(summary, scores=tuple(scores))

    def _occurring_codes(self, rows: Rows, name: str) -> Array:
        """Return the numbers of the different values of a column that occur in the rows."""
        return np.unique(rows.values[:, self.domain.axes([name])[0]])

    def _score_models(
        self, _release: Any, synthetic: Rows, sample_rows: Rows | None
    ) -> list[TaskScore]:
        """Return scores of models trained on each table and tested on the held-out rows.

        For all rows and for each group.
        """
        if self.target is None:
            return []
        test_parts: dict[str, Rows] = {"": self.test}
        if self.group is not None:
            axis = self.domain.axes([self.group])[0]
            for code, value in enumerate(self.domain.columns[axis].labels):
                label = f" ({self.group} = {value})"
                is_in_group = self.test.values[:, axis] == code
                weights = np.where(is_in_group, self.test.weights, 0)
                test_parts[label] = rows_with_counts(self.test.values, weights)
        scores_of_models = []
        for model in MODEL_NAMES:
            if model not in self._models_of_real_rows:
                self._models_of_real_rows[model] = self._fit_model(model, self.train)
            scorers = {
                "value": self._fit_model(model, synthetic),
                "real": self._models_of_real_rows[model],
                "sample": None if sample_rows is None else self._fit_model(model, sample_rows),
            }
            for label, part in test_parts.items():
                part_scores = {
                    name: None if scorer is None else scorer(part)
                    for name, scorer in scorers.items()
                }
                unit, blind_score = self._unit_and_blind_score(part)
                scores_of_models.append(
                    TaskScore(
                        f"train a model: {model}{label}",
                        unit=unit,
                        nothing=blind_score,
                        **part_scores,
                    )
                )
        return scores_of_models

    @property
    def _target_is_numeric(self) -> bool:
        """Whether the target is a number to approximate.

        One in bins, or one of many whole numbers.
        """
        column = self.domain.column(self.target or "")
        return column.size > 2 and (
            bool(column.edges)
            or (column.kind != "categorical" and column.size > MIN_NUMERIC_VALUES)
        )

    def _unit_and_blind_score(self, rows: Rows) -> tuple[str, float | None]:
        """Return a score's unit, and the score of a guess from the target's value shares alone.

        For a group of nobody there is no score, and the unit says why.
        """
        if not rows.n:
            return "no number: nobody of this group is among the rows held out", None
        if self._target_is_numeric:
            return "R²", 0.0
        if len(self._occurring_codes(self.train, self.target or "")) == 2:
            return "AUC", 0.5
        counts = np.bincount(rows.values[:, self.domain.axes([self.target or ""])[0]], rows.weights)
        return "accuracy", float(counts.max() / counts.sum())

    def _fit_model(self, model: str, table: Rows) -> Callable[[Rows], float | None]:
        """Return a model trained on one table, as a function that scores other tables.

        The function returns None where a score is not defined.
        """
        metrics = _import_sklearn().metrics
        axis = self.domain.axes([self.target or ""])[0]
        is_numeric = self._target_is_numeric
        classes = self._occurring_codes(self.train, self.target or "")
        X = self._feature_matrix(table, model)
        y = table.values[:, axis]
        learner = None
        if len(np.unique(y)) > 1:
            learner = _untrained_model(model, is_numeric, MIN_LEAF_ROWS * len(y) / table.n).fit(
                X, y, sample_weight=table.weights
            )

        def score(rows: Rows) -> float | None:
            targets = rows.values[:, axis]
            weights = rows.weights
            if len(np.unique(targets)) < 2:
                return None
            metric = metrics.r2_score if is_numeric else metrics.accuracy_score
            predictions = np.full(len(targets), y[0])
            features = self._feature_matrix(rows, model)
            if not is_numeric and len(classes) == 2:
                metric = metrics.roc_auc_score
                targets = targets == classes[1]
                if learner is not None:
                    predictions = learner.predict_proba(features)[
                        :, list(learner.classes_).index(classes[1])
                    ]
            elif learner is not None:
                predictions = learner.predict(features)
            return float(metric(targets, predictions, sample_weight=weights))

        return score

    def _feature_matrix(self, rows: Rows, model: str) -> Array:
        """Return the columns except the target as a matrix of features.

        An indicator of each value for a regression, the values' numbers for trees.
        """
        feature_axes = [a for a, name in enumerate(self.domain.names) if name != self.target]
        if model != MODEL_NAMES[0]:
            return rows.values[:, feature_axes].astype(float)
        return np.concatenate(
            [np.eye(self.domain.shape[a])[rows.values[:, a], 1:] for a in feature_axes], axis=1
        )

    @property
    def _column_pairs(self) -> list[tuple[str, str]]:
        """The pairs of columns with at least two values each."""
        return list(
            combinations(
                [
                    name
                    for name in self.domain.names
                    if len(self._occurring_codes(self.train, name)) > 1
                ],
                2,
            )
        )

    def _score_links(
        self, _release: Any, synthetic: Rows, sample_rows: Rows | None
    ) -> list[TaskScore]:
        """Return the share of the real rows' strongest links that other tables keep.

        Equally many strongest links of each table are compared.
        """
        pairs = Marginals(self.domain, self._column_pairs)
        k = max(1, min(MAX_STRONGEST_LINKS, len(self._column_pairs) // 3))

        def strongest_links(table: Rows) -> set[int]:
            shares = pairs.answers_of_rows(table)
            strength = [
                _mutual_information(shares[t].reshape(s))
                for t, s in zip(pairs.tables, pairs.shapes, strict=True)
            ]
            return set(np.argsort(strength)[::-1][:k].tolist())

        real_links = strongest_links(self.train)
        value = len(real_links & strongest_links(synthetic)) / k
        sample_value = None
        if sample_rows is not None:
            sample_value = len(real_links & strongest_links(sample_rows)) / k
        blind_score = k / len(self._column_pairs)
        return [
            TaskScore(
                "find what is linked",
                value,
                f"share of the {k} strongest links",
                1.0,
                sample_value,
                blind_score,
            )
        ]

    def _score_question(
        self, release: Any, _synthetic: Rows, sample_rows: Rows | None
    ) -> list[TaskScore]:
        """Return the score of the user's question: its share in each table.

        Beside it stands the share that the schema alone suggests.
        """
        if self.question is None:
            return []
        workload = self.question.workload
        real_share = float(workload.answers_of_rows(self.train)[0])
        sample_share = None
        if sample_rows is not None:
            sample_share = float(workload.answers_of_rows(sample_rows)[0])
        blind_share = float(axes_and_values(workload)[1].mean())
        released_share = float(release.answers(workload)[0])
        return [
            TaskScore(
                f"answer: {self.question.text}",
                released_share,
                "share of rows",
                real_share,
                sample_share,
                blind_share,
            )
        ]

    def _independent_rows(self, run: Run, rng: Rng) -> Rows:
        """Draw as many rows as the run has, of independent columns with its release's shares."""
        release: Any = run.release
        one_way = Marginals.all(self.domain, 1)
        shares = np.maximum(release.answers(one_way), 0)
        columns = [
            rng.choice(t.stop - t.start, run.problem.n, p=shares[t] / shares[t].sum())
            for t in one_way.tables
        ]
        return self.domain.group_rows(np.column_stack(columns))

    def _score_false_alarms(
        self, run: Run, rng: Rng, progress: ProgressCallback
    ) -> list[TaskScore]:
        """Return the rate at which tests find links in a released table of independent columns.

        The same plan releases it. Its columns have the shares of the release. χ² takes synthetic
        rows for as many real ones; our own test knows the noise.
        """
        problem: QueryRelease = run.problem
        rows = self._independent_rows(run, rng)
        independent_run = Run(
            run.algorithm, problem, rows, run.budget, seed=run.seed + INDEPENDENT_RUN_SEED_OFFSET
        )
        for point in independent_run:
            progress(point.t, independent_run.plan["rounds"])
        release: Any = independent_run.release
        unbiased_answers = unbiased_tables(release, independent_run.measured, self.domain)
        synthetic = self.domain.encode(independent_run.sample())
        chi_square_p_values = []
        noise_aware_p_values = []
        for i, names in enumerate(self._column_pairs):
            progress(i, len(self._column_pairs))
            axes = self.domain.axes(names)
            shape = self.domain.shape_of(axes)
            counts = synthetic.count(axes, shape)
            chi_square_p_values.append(_chi_square_p_value(counts.reshape(shape)))
            test = run_independence_test(
                unbiased_answers, names, problem.effective_n, repeats=TEST_REPEATS, seed=run.seed
            )
            if test.p_value is not None:
                noise_aware_p_values.append(test.p_value)
        return [
            TaskScore(
                f"test a hypothesis: {name}",
                _share_below_level(values),
                "false alarms",
                SIGNIFICANCE_LEVEL,
                SIGNIFICANCE_LEVEL,
                SIGNIFICANCE_LEVEL,
            )
            for name, values in zip(
                TEST_NAMES, (chi_square_p_values, noise_aware_p_values), strict=True
            )
        ]


def false_alarm_sentence(chi_square_rate: float | None, noise_aware_rate: float | None) -> str:
    """Return a sentence on how often each of two tests finds a link that is not there.

    An unknown rate is left out.
    """
    if chi_square_rate is None:
        return "No pair of columns could be tested."
    sentence = (
        "Tests on these synthetic rows would find a link that is not there in "
        f"{100 * chi_square_rate:.0f} of 100 cases"
    )
    return f"{sentence}; " + (
        "our test has nothing to go by."
        if noise_aware_rate is None
        else f"with our test in {100 * noise_aware_rate:.0f}."
    )


def _mutual_information(table: Array) -> float:
    """Return the mutual information of a table of shares, in nats."""
    return float(rel_entr(table, np.outer(table.sum(axis=1), table.sum(axis=0))).sum())


def _chi_square_p_value(counts: Array) -> float:
    """Return the p-value of Pearson's χ² test on a table of counts; 1 for a single line.

    The table is taken without its empty lines.
    """
    nonempty_counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    result: Any = (
        chi2_contingency(nonempty_counts, correction=False)
        if min(nonempty_counts.shape) > 1
        else None
    )
    return 1.0 if result is None else float(result.pvalue)


def _share_below_level(p_values: list[float]) -> float | None:
    """Return the share of p-values below the level; None without any p-value."""
    return float(np.mean([p < SIGNIFICANCE_LEVEL for p in p_values])) if p_values else None


def _import_sklearn() -> Any:
    """Return the package scikit-learn; raise InputError where it is not installed."""
    try:
        import sklearn.ensemble
        import sklearn.linear_model
        import sklearn.metrics
    except ImportError:
        message = (
            "training models needs scikit-learn: pip install scikit-learn, or choose no target"
        )
        raise InputError(message) from None
    return sklearn


def _single_thread_context() -> Any:
    """Return a context in which models use one thread.

    One thread is faster on tables of few distinct rows.
    """
    try:
        from threadpoolctl import threadpool_limits  # comes with scikit-learn
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)


def _untrained_model(model: str, is_numeric: bool, min_leaf_rows: float) -> Any:
    """Return an untrained scikit-learn model.

    Its trees have at least `min_leaf_rows` distinct rows in a leaf.
    """
    library = _import_sklearn()
    if model == MODEL_NAMES[0]:
        return (
            library.linear_model.Ridge()
            if is_numeric
            else library.linear_model.LogisticRegression(max_iter=300)
        )
    class_name = "HistGradientBoostingRegressor" if is_numeric else "HistGradientBoostingClassifier"
    return getattr(library.ensemble, class_name)(
        max_iter=60,
        early_stopping=False,
        random_state=0,
        min_samples_leaf=max(1, round(min_leaf_rows)),
    )
