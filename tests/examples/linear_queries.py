"""Private answers to linear queries, and synthetic rows, by both algorithms of the paper.

Source: Micali, Lezane, Betken 2025: Frank-Wolfe (DPFW) and accelerated mirror descent (DPAM).
"""

from dpcore import DPAM, DPFW, Budget, Marginals, QueryRelease, Run, samples

sample = samples.titanic()
rows = sample.domain.encode(sample.frame)
problem = QueryRelease(Marginals.all(sample.domain, 3), rows.n)
budget = Budget(epsilon=1.0, delta=1e-9)
for algorithm in (DPFW(), DPAM()):
    run = Run(algorithm, problem, rows, budget, seed=1).finish()
    print(type(algorithm).__name__, run.convergence[-1].empirical, run.sample(3), sep="\n")
    assert run.convergence[-1].empirical.max_error < 0.1
