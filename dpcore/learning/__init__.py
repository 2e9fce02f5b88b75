"""Convex losses of single records, and the risks that sum them."""
