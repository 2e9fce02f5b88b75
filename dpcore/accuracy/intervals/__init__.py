"""Intervals for the answers of a release, from public numbers alone."""
