"""Limits of a client's connections: versions that it understands, times for which it waits."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.model.units import SECOND, Millis
from odradek.wire.schema import Request

VERSIONS_MAX: Final[Mapping[int, int]] = MappingProxyType({0: 9, 1: 17, 8: 9, 9: 9})
"""Beyond these Produce, OffsetCommit and OffsetFetch name topics by their ids."""
FETCH_BY_NAME: Final = 12
"""The newest version of Fetch that names topics, for those who do not know their ids."""
ANSWER_MS: Final = Millis(30 * SECOND)
"""How long an answer may take. A machine that lost its power, or is cut off, never says so."""
ALLOWANCE_MS: Final = Millis(5 * SECOND)
"""What is added to the time for which a request asks to be kept."""
KEPT: Final = ("timeout_ms", "max_wait_ms", "rebalance_timeout_ms")
"""Fields of requests that say how long they may be kept."""


def patience(request: Request) -> Millis:
    """For how long an answer is waited for."""
    kept = max((getattr(request, name, 0) for name in KEPT), default=0)
    return Millis(max(ANSWER_MS, kept + ALLOWANCE_MS))
