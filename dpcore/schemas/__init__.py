"""Schemas measured privately: their share of the budget, and schemas from noisy counts."""
