"""Schemas measured privately: their price beside that of an algorithm, and what noisy counts say."""
