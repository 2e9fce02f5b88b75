"""The audited part: everything that reads rows of the private table, or prices such a read.

Reading order: conversions → budget → budget_meter → statistics → query_draws → mechanisms →
curator.
"""
