"""The closed set of what may be asked of records, each sensitivity derived beside it."""
