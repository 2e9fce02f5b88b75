"""Comparisons of a release with the truth: every number uses real data, and is tagged so."""
