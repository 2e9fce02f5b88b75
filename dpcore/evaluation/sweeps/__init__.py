"""Many runs: sweeps over algorithms and budgets, in worker processes or on a cluster."""
