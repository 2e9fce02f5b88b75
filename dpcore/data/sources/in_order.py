"""The base of sources that one process reads chunk by chunk."""

from collections.abc import Sequence

from ...types import Axes, Watch, unwatched
from ..domain import Domain
from ..fingerprint import fingerprint_of
from .base import Chunked, Tally
from .counting import count


class ReadInOrder:
    """A source that one process counts, chunk by chunk in order, and whose fingerprint covers all its rows."""

    splits: bool = False

    def count(self: Chunked, domain: Domain, tables: Sequence[Axes], watch: Watch = unwatched) -> Tally:
        """The number n and the tables; see `count`."""
        return count(self, domain, tables, watch)

    def fingerprint(self: Chunked, key: bytes, watch: Watch = unwatched) -> str:
        """The fingerprint of all rows and columns."""
        return fingerprint_of(self, key, watch)
