"""The closed set of what may be asked of rows, each sensitivity derived beside it."""
