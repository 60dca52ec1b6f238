"""The Random door on a seed: each purpose draws from a stream of its own.

So a fault that is switched off does not shift what the workload draws, and a failing run stays
close to itself while it is made smaller.
"""

import random


class SeededRandom:
    """The same draws for the same seed and purpose, in every process and on every Python."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._seed = seed
        self._purpose = purpose
        self._bits = random.Random(f"{seed}/{purpose}").getrandbits

    def stream(self, purpose: str) -> "SeededRandom":
        """Another stream of the same seed, whatever was drawn from this one."""
        return SeededRandom(self._seed, f"{self._purpose}/{purpose}")

    def below(self, bound: int) -> int:
        """An integer from 0 up to, not including, `bound`."""
        assert bound > 0, bound
        width = bound.bit_length()
        value = self._bits(width)
        while value >= bound:
            value = self._bits(width)
        return value

    def bytes(self, count: int) -> bytes:
        """So many random bytes."""
        return self._bits(8 * count).to_bytes(count, "big") if count else b""

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def one_in(self, count: int) -> bool:
        """True once in so many times; never for 0."""
        return count > 0 and not self.below(count)
