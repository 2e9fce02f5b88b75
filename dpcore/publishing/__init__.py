"""Real releases: what is asked, the ledger that is charged for ever, the draw and its files."""
