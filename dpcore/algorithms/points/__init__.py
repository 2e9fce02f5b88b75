"""Algorithms that release points near private points."""
