"""THE AUDIT: everything that touches rows or decides what a touch costs. Readable in an hour, in this order.

conversions → budget → ledger → statistics → draws → mechanisms → curator.
"""
