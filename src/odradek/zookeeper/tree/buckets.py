"""Deadlines in buckets: cheap to postpone, cheap to wait for.

Each thing lies in the bucket of the moment at which it *may* be due. Postponing touches nothing
here: the owner notes when it last heard, and is asked only when the bucket comes up; what is not
due yet moves to its new bucket. So a session that pings every second costs one move in each
time-out, not one in each ping.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Buckets(Generic[T]):
    """Things by the moment at which they are to be looked at, rounded up to a width."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._buckets: dict[int, dict[T, None]] = {}

    def put(self, thing: T, due: int) -> None:
        """To be looked at once `due` has come."""
        bucket = -(-due // self._width) * self._width
        self._buckets.setdefault(bucket, {})[thing] = None

    def due(self, now: int) -> Iterator[T]:
        """Takes out everything whose bucket has come up, oldest first; what is put back stays."""
        for bucket in sorted(bucket for bucket in self._buckets if bucket <= now):
            yield from self._buckets.pop(bucket)

    def next(self) -> int | None:
        """When the next bucket comes up."""
        return min(self._buckets, default=None)
