"""A private median, and a private classifier, by the regularised exponential mechanism.

Source: Gopi, Lee, Liu 2022, private convex optimisation via the exponential mechanism.
"""

from dpcore import Budget, RegularizedExponential, Run, read_task, samples

sample = samples.census(5_000)
for task in ("quantile:hours:0.5", "logistic:sex:age,hours"):
    problem, rows = read_task(task, sample.domain, sample.frame)
    run = Run(RegularizedExponential(), problem, rows, Budget(1.0, 1e-9), seed=1).finish()
    print(task, dict(zip(problem.names, run.release.x, strict=True)))
    assert run.convergence[-1].empirical.excess_risk < 0.5
