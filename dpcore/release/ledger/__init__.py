"""The lasting account of all releases about a data set: the ledger's file, drafts and signing keys."""
