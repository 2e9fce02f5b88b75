"""How Hypothesis makes many cases for a fuzzer: as many as asked, by a seed, each tried once and none made smaller."""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, seed, settings


def generated(count: int, start: int) -> Callable[[Callable], Callable]:
    """Put above `@given`: the test runs on `count` examples of the seed `start`."""
    chosen = settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    return lambda test: seed(start)(chosen(test))
