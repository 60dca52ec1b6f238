"""The tokens that this broker shows to other brokers: where they are asked for, and how."""

from functools import partial

import structlog

from odradek.broker.doors import Doors
from odradek.peers.token_source import TokenSource
from odradek.security.token_endpoint import TokenEndpoint, token_of

log = structlog.get_logger()


def token_source(doors: Doors, endpoint: TokenEndpoint) -> TokenSource:
    """Of this endpoint; where none can be had it is only told."""
    asked = partial(token_of, endpoint, doors.read_file, doors.post_https)
    return TokenSource(doors.clock, lambda: doors.in_thread(asked), _not_fetched)


def _not_fetched(reason: str) -> None:
    log.warning("tokens.not_fetched", reason=reason)
