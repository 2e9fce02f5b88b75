"""The lasting account of all releases about a data set.

The ledger's file, drafts and signing keys.
"""
