"""What each module of `handlers` says of its API: its versions, and the functions that serve it."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from odradek.broker.access.need import Need
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import Steps
from odradek.model.errors import ErrorCode
from odradek.wire.schema import Response

Later = Callable[[], Awaitable[Response]]
"""What is to be called and awaited for an answer, in a task of its own."""

Handler = Callable[
    [Services, PendingRequest, Any], Awaitable[Response] | Later | Steps[Later | None] | None
]
"""A coroutine function returns the answer; another answers the request itself, now or later, or
returns what is to be awaited for the answer. One that finds a great deal to do returns a generator,
which pauses now and then and ends in the same way."""

Refusal = Callable[[Any, int, ErrorCode, str], Response | None]
"""The response to a request at a version that says nothing but the code, with its sentence; None
where the client reads no answer, and learns of it by the end of its connection."""


Quick = Callable[[Services, PendingRequest, bytearray, int], bool]
"""Answers a request whose body begins at this position of its frame, or declines: then the request
is decoded and handled as any other."""


class Api(NamedTuple):
    """What a broker serves of one API, and how: each module of `handlers` has one."""

    key: int
    versions: range  # that are served
    handle: Handler
    refuse: Refusal
    needs: tuple[Need, ...]  # what must be allowed, where there is an authorizer
    quick: Quick | None = None  # for the shape that comes by the thousand
    quick_from: int = 0  # which version it reads first
    offered_from: int | None = None  # where older versions are named, for the sake of old clients

    @property
    def offered(self) -> range:
        """The versions that are named to clients."""
        start = self.versions.start if self.offered_from is None else self.offered_from
        return range(start, self.versions.stop)
