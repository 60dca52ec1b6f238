"""In which version a request goes out.

A client negotiates: the newest version that both sides know. It stops where a version means
something that the caller does not do. Brokers among themselves do not negotiate: their versions
follow from `inter.broker.protocol.version`, and the caller names them.
"""

from collections.abc import Mapping

from odradek.model.errors import UnsupportedVersion
from odradek.wire.apis import APIS
from odradek.wire.messages.api_versions import ApiVersionsResponse


class NegotiatedVersions:
    """What one process speaks, as its answer to ApiVersions says."""

    def __init__(self, theirs: Mapping[int, range], limits: Mapping[int, int]) -> None:
        self._theirs = dict(theirs)
        self._limits = limits  # by API key: the newest version that the caller understands

    @classmethod
    def of(cls, answer: ApiVersionsResponse, limits: Mapping[int, int]) -> "NegotiatedVersions":
        """As an answer says."""
        rows = answer.api_keys
        theirs = {row.api_key: range(row.min_version, row.max_version + 1) for row in rows}
        return cls(theirs, limits)

    def newest(self, key: int, *, at_most: int | None = None) -> int:
        """The newest version of an API that both understand; UnsupportedVersion: there is none."""
        api, theirs = APIS[key], self._theirs.get(key)
        last = min(api.versions.stop - 1, self._limits.get(key, api.versions.stop))
        if at_most is not None:
            last = min(last, at_most)
        if theirs is None:
            raise UnsupportedVersion(f"the broker does not offer {api.name}")
        if theirs.start > last:
            known = f"versions {theirs.start} to {theirs.stop - 1} of {api.name}"
            raise UnsupportedVersion(f"the broker offers {known}, this client 0 to {last}")
        return min(theirs.stop - 1, last)
