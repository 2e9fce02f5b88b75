"""Differentially private algorithms for tables, with exact accounting: see `dpcore.run` and `python -m dpcore`."""
