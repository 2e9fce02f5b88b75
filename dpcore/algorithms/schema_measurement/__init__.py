"""Measuring what is unknown about a table's columns, with part of the budget."""
