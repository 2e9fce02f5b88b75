"""The five lines of library of the README: a sample, its pairs of columns, synthetic rows."""

from dpcore import Budget, GaussianMaxEnt, Marginals, QueryRelease, Run, samples

sample = samples.census(20_000)
rows = sample.domain.encode(sample.frame)
problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
run = Run(GaussianMaxEnt(), problem, rows, Budget(epsilon=1.0, delta=1e-9)).finish()
print(run.convergence[-1].empirical, run.spent, run.sample(5), sep="\n")

assert run.spent.epsilon <= 1
