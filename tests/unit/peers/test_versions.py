"""In which version a request goes out to a process that said what it speaks."""

import pytest

from odradek.model.errors import UnsupportedVersion
from odradek.peers.versions import NegotiatedVersions
from odradek.wire.messages.api_versions import ApiVersion, ApiVersionsResponse


def versions(**theirs: range) -> NegotiatedVersions:
    """Of Produce (0) and Fetch (1)."""
    keys = {"produce": 0, "fetch": 1}
    rows = [ApiVersion(keys[name], it.start, it.stop - 1) for name, it in theirs.items()]
    return NegotiatedVersions.of(ApiVersionsResponse(api_keys=rows), {1: 12})


def test_the_newest_that_both_know_is_spoken() -> None:
    """The other side, our tables, the caller's understanding, this one request."""
    assert versions(fetch=range(4, 9)).newest(1) == 8
    assert versions(fetch=range(4, 18)).newest(1) == 12
    assert versions(fetch=range(4, 18)).newest(1, at_most=7) == 7
    assert versions(produce=range(3, 1_000)).newest(0) == 13


def test_what_is_not_spoken_is_refused_with_both_ranges() -> None:
    """A person reads it, and knows which side is too old."""
    with pytest.raises(UnsupportedVersion, match="does not offer Produce"):
        versions(fetch=range(4)).newest(0)
    with pytest.raises(UnsupportedVersion, match="versions 13 to 17 of Fetch, this client 0 to 12"):
        versions(fetch=range(13, 18)).newest(1)
