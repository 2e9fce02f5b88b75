"""Algorithms that minimise an empirical risk."""
