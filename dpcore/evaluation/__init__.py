"""Where a release meets the truth: every number from here is a private peek, and tagged so."""
