"""One hypothesis profile: the same examples on every run, no clock."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("fixed")
