"""Convex losses and the risks they sum to."""
