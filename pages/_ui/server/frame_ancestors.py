"""Whose pages may show the app in a frame: its own, and those that the server's owner names."""

import functools
import logging
import os
import re

from ..session import printable_text

ANCESTORS_VARIABLE = "DPCORE_FRAME_ANCESTORS"
EXAMPLE_ORIGIN = "https://course.example.org"
# a host alone, in which "*." stands for its subdomains; nothing that ends the directive
ORIGIN = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:(\d{1,5}|\*))?")

_logger = logging.getLogger(__name__)


def frame_headers() -> dict[str, str]:
    """Return the headers that tell a browser whose pages may show this one in a frame."""
    return _headers_for(os.environ.get(ANCESTORS_VARIABLE, ""))


@functools.lru_cache(maxsize=1)
def _headers_for(ancestors_text: str) -> dict[str, str]:
    """Return the headers for the owner's text; what is no origin in it is left out and logged."""
    origins = []
    for word in ancestors_text.split():
        if ORIGIN.fullmatch(word):
            origins.append(word)
        else:
            _logger.warning(
                "%s: “%s” is left out. It must be an address without a path, such as %s",
                ANCESTORS_VARIABLE,
                printable_text(word, 100),
                EXAMPLE_ORIGIN,
            )
    policy = " ".join(["frame-ancestors 'self'", *origins])
    if origins:  # the older header cannot name them, and a browser that obeyed it would refuse
        return {"Content-Security-Policy": policy}
    return {"X-Frame-Options": "SAMEORIGIN", "Content-Security-Policy": policy}
