"""Synthetic points near private ones in a disc, by voting and by counting on a grid.

Source: Gonzalez, Fanti, Ramdas 2025: Private Evolution and the signed measure mechanism (PSMM).
"""

import numpy as np
import pandas as pd

from dpcore import PSMM, Ball, Budget, PointRelease, PrivateEvolution, Run, read_point_rows

disc = Ball(np.zeros(2), 1.0)
places = np.random.default_rng(0).uniform(0, 0.7, (500, 2))
rows = read_point_rows(disc, ["x", "y"], pd.DataFrame(places, columns=["x", "y"]))
problem = PointRelease(disc, rows.n, ("x", "y"))
for algorithm in (PrivateEvolution(rounds=4), PSMM()):
    run = Run(algorithm, problem, rows, Budget(epsilon=2.0, delta=1e-6), seed=1).finish()
    print(type(algorithm).__name__, run.convergence[-1].empirical, run.sample(3), sep="\n")
    assert run.convergence[-1].empirical.w1 < 0.5
