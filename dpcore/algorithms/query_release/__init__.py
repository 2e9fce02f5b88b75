"""Algorithms that answer linear queries about a table and give synthetic rows."""
