"""Where the newest record of each key lies, in bounded memory: what compaction asks of the log.

An entry of a dictionary costs far more than its key, so the bound counts what entries really
take. A long key stands in by a digest of sixteen bytes: two keys that share one are less likely
than a machine that errs. When the map is full, compaction goes as far as the map does, and on
from there the next time.
"""

from hashlib import blake2b
from typing import Final

from odradek.model.units import Bytes

KEY_BYTES_MAX: Final = 32  # a longer key is kept as its digest
DIGEST_BYTES: Final = 16
ENTRY_BYTES: Final = 200  # of a dictionary entry, its bytes object and its integer, at worst


class KeyMap:
    """The last offset of each key, as far as it was told."""

    __slots__ = ("_bytes_max", "_offsets", "bytes")

    def __init__(self, bytes_max: Bytes) -> None:
        self._bytes_max = bytes_max
        self._offsets: dict[bytes, int] = {}
        self.bytes = 0

    def __len__(self) -> int:
        """How many keys it knows."""
        return len(self._offsets)

    def has_room(self, count: int) -> bool:
        """Whether so many keys may be put, were they all new."""
        return self.bytes + count * (ENTRY_BYTES + KEY_BYTES_MAX) <= self._bytes_max

    def put(self, key: bytes, offset: int) -> None:
        """This key was written again, at a higher offset. The caller asked for room before."""
        if len(key) > KEY_BYTES_MAX:
            key = blake2b(key, digest_size=DIGEST_BYTES).digest()
        if key not in self._offsets:
            self.bytes += ENTRY_BYTES + len(key)
        self._offsets[key] = offset

    def is_newest(self, key: bytes, offset: int) -> bool:
        """Whether no later record of this key is known."""
        if len(key) > KEY_BYTES_MAX:
            key = blake2b(key, digest_size=DIGEST_BYTES).digest()
        return offset >= self._offsets.get(key, -1)
