"""Distributions over the cells of a domain."""
