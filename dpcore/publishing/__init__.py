"""Real releases: the request, the ledger that is charged for good, the draw and its files."""
