"""What pages show without running it: `python -m tests.make_assets` makes what Lessons, Audit,
Learning and Alternatives draw.

It writes lessons.json, audit.json, learning.json and alternatives.json in assets, in some minutes.
Needed where a lesson, an algorithm that they use, the game or an attack changes; tests make a part
of it again.
"""

import json
from dataclasses import asdict, replace

import numpy as np

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run
from dpcore.core.parameters import build_from_texts
from dpcore.core.types import ignore_progress
from dpcore.evaluation.audit.distinguishing_game import play_distinguishing_game, with_fewest_rounds
from dpcore.evaluation.audit.transcript_test import audit_transcripts
from dpcore.evaluation.run import (
    FINAL_STEP_ONLY,
    compare_with_rows,
    pairs_with_column,
    subgroup_errors,
)
from dpcore.problems.parse_tasks import read_task, task_text
from pages._ui.alternatives import attack_job, attack_settings
from pages._ui.audit import game
from pages._ui.components import parameter_widgets
from pages._ui.learning import quantile, table_learning
from pages._ui.lessons import lesson as lessons
from pages._ui.lessons.dragged_answers import EPSILON_STOPS
from pages._ui.session.current_table import SAMPLES, sample_table

GAMES = 40_000
KEPT = 800  # points of a curve
ATTACK_SECONDS = 600  # for each rule: enough that all is decided
TASK = task_text(
    "logistic", "income", quantile_level=None, features=("age", "sex", "education", "marital")
)


def shares(lesson, seeds=lessons.SEEDS, epsilons=EPSILON_STOPS):
    """What each bar of a lesson is, by seed and ε, to four digits."""
    return [
        [[float(f"{share(lesson, bar, e, s):.4g}") for bar in lesson.bars] for e in epsilons]
        for s in seeds
    ]


def share(lesson, bar, epsilon, seed):
    """A bar's error over all pairs of columns, of one run as Explore makes it; "Child" and the like
    are groups by age.

    "possible" is the share of released rows whose values are a row of the table.
    """
    settings = lesson.settings
    changed = dict(bar.changed)
    name = changed.pop("algorithm", settings["algorithm"])
    own = {
        key.split(".")[1]: value for key, value in settings.items() if key.startswith(f"{name}.")
    }
    table = sample_table(settings["sample"])
    domain = table.domain
    rows = table.encoded_rows(table.domain.names)
    method = build_from_texts(ALGORITHMS[name], own | changed)
    problem = QueryRelease(pairs_with_column(domain), rows.n)
    facts = {"seed": seed, "every": FINAL_STEP_ONLY, "population": table.population}
    run = Run(method, problem, rows, Budget(epsilon, lessons.DELTA), **facts).finish()
    last = run.convergence[-1]
    if bar.measure == "possible":
        whole = compare_with_rows(run.release, rows, Marginals(domain, [domain.names]))
        return whole.synthetic[whole.real > 0].sum()
    if bar.measure == "population":
        return last.population.max_error
    if bar.measure in ("mean", "largest"):
        return last.empirical.mean_error if bar.measure == "mean" else last.empirical.max_error
    groups = subgroup_errors(
        compare_with_rows(run.release, rows, pairs_with_column(domain, "Age")), "Age"
    )
    return groups.error[list(groups.labels).index(bar.measure)]


def thinned(played, *keep):
    """A game without its budget, with its curves at about `KEPT` points and at those to `keep`."""
    at = np.unique([*np.linspace(0, len(played.hits) - 1, KEPT).astype(int), *keep])
    facts = {name: value for name, value in asdict(played).items() if name != "budget"}
    if "accounting" in facts:
        facts["accounting"] = facts["accounting"].name
    return {
        name: v[at].round(6).tolist() if isinstance(v, np.ndarray) else v
        for name, v in facts.items()
    }


def game_kept(found):
    """A thinned game; the point where the guess changes stays."""
    return thinned(found, int(np.sum(found.thresholds >= found.line)) - 1)


def learned(cases):
    """These runs as Learning opens with them: of a prediction of the census' income, each with its
    weights.
    """
    table = sample_table("census")
    problem, seen, held_out = table_learning.train_test_split(
        *read_task(TASK, table.domain, table.limited_frame)
    )
    for case in cases:
        run = Run(
            case.algorithm, problem, seen, case.budget, seed=case.seed, population=held_out
        ).finish()
        yield case.finished_point(run.summarise()).to_json(), run.release.x.tolist()


def shortened(value):
    """Nested lists and tables with all numbers to six digits."""
    if isinstance(value, dict):
        return {name: shortened(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def attacked(name, **changed):
    """What Alternatives opens with on a sample, with what it was made of; `changed` settings."""
    table = sample_table(name)
    settings = replace(attack_settings.default_settings(table.domain), **changed)
    rows = table.encoded_rows(table.domain.names)
    task = attack_job.make_task(table.domain, rows, settings)
    result = attack_job.run_attack(task, settings, ignore_progress)
    asked = [table.schema, table.unit.most_rows, settings.to_json()]
    return {"asked": asked, "result": shortened(result.to_json())}


def write_attacks():
    """Write what Alternatives opens with on every sample."""
    made = {name: attacked(name, seconds=ATTACK_SECONDS) for name in SAMPLES}
    for entry in made.values():  # what sufficient time decides does not depend on it
        entry["asked"][2]["seconds"] = attack_settings.DEFAULT_SECONDS
    attack_job.STORED_ATTACKS_FILE.write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    write_attacks()
    opening = list(
        learned(quantile.plan_cases(table_learning.DEFAULT_METHODS, Budget(1.0, lessons.DELTA), 3))
    )
    table = sample_table("census")
    asked = [table.name, table.schema, table.unit.most_rows, TASK, parameter_widgets.AUTO]
    table_learning.OPENING_RUNS_FILE.write_text(
        json.dumps({"asked": asked, "runs": opening}), encoding="utf-8"
    )
    made = {
        key: lesson.run_definition() | {"shares": shares(lesson)}
        for key, lesson in lessons.LESSONS.items()
    }
    lessons.LESSON_RUNS_FILE.write_text(json.dumps(made), encoding="utf-8")
    asked = (
        with_fewest_rounds(ALGORITHMS["gaussian_maxent"]()),
        Budget(game.OPENING_EPSILON, game.OPENING_DELTA),
    )
    parts = (
        game_kept(play_distinguishing_game(*asked, runs=GAMES)),
        thinned(audit_transcripts(*asked, transcripts=GAMES)),
    )
    game.OPENING_GAME_FILE.write_text(json.dumps(parts), encoding="utf-8")
