"""Public facts about a table: its columns, their values, and impossible combinations.

How one cell's text is read by the schema is here too.
"""
