"""Differentially private algorithms for tables, with exact accounting: see `dpcore.evaluation.run` and `python -m dpcore`."""
