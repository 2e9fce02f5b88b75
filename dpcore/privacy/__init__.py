"""The audited part: everything that touches rows, or decides what a touch costs. Read it in this order.

conversions → budget → ledger → statistics → draws → mechanisms → curator.
"""
