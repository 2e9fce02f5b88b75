"""Many runs: sweeps over algorithms and budgets, in a pool or on a cluster, and the distinguishing game."""
