"""Small learning tasks that several test files share, and densities by quadrature."""

import numpy as np
import pandas as pd

from dpcore import RiskMinimisation
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.parameters import declared_parameters
from dpcore.problems.parse_tasks import read_task
from tests.small_problems import categorical, domain_of, numeric, other_choices, seeded

LEARNERS = algorithms_for_problem(RiskMinimisation)
DOMAIN = domain_of(
    {
        "x": numeric(-2, 2, 4),
        "y": numeric(0, 10, 5),
        "group": categorical("a", "b", "c"),
        "label": categorical("no", "yes"),
    }
)


def learning_table(n=60, seed=0):
    """n people whose y and label depend on x."""
    rng = seeded(seed)
    x = np.clip(rng.normal(size=n), -2, 2).round(2)
    y = np.clip(5 + 2 * x + rng.normal(size=n), 0, 10).round(2)
    label = np.where(x + rng.normal(size=n) > 0, "yes", "no")
    return pd.DataFrame({"x": x, "y": y, "group": rng.choice(list("abc"), n), "label": label})


TASKS = {
    "median": ("quantile:y:0.5", {}),
    "low quantile, in a box": ("quantile:y:0.1", {"region": "box", "radius": 3}),
    "absolute": ("absolute:y", {}),
    "mean": ("mean:x,y", {}),
    "mean on R^d": ("mean:x,y", {"region": "space", "radius": 6}),
    "hinge": ("hinge:label:x", {}),
    "logistic": ("logistic:label:x,group", {}),
    "logistic on R^d": ("logistic:label:x", {"region": "space"}),
    "logistic, small ball": ("logistic:label:x,y", {"radius": 0.5}),
    "regression": ("absolute:y:x", {}),
    "huber": ("huber:y:x:1.5", {}),
    "quantile regression": ("quantile:y:0.8:x", {}),
}


def risk_problem(name, n=60):
    """A problem of TASKS and its records."""
    text, options = TASKS[name]
    return read_task(text, DOMAIN, learning_table(n), **options)


def variants():
    """Every learner in few steps, and once more for each other choice of each parameter."""
    out = []
    for name, cls in LEARNERS.items():
        base = {p.name: "8" for p in declared_parameters(cls) if p.name == "rounds"}
        base |= {"rate": "0.3"} if name == "dp_sgd" else {}
        out.append((name, base))
        out += [(name, base | other) for other in other_choices(cls)]
    return [
        *out,
        ("regularized_exponential", {"stages": "3"}),
        ("noisy_gd", {"rounds": "8", "clip": "0.3"}),
    ]


def quadrature(potential, width):
    """The density ∝ exp(−potential) at midpoints `width` apart."""
    p = np.exp(potential.min() - potential)
    return p / (p.sum() * width)
