"""Proposals for the schema of a new table, from its rows: not protected."""
