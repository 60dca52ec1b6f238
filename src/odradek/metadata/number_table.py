"""A table by number whose copies share what did not change: the partitions of one topic.

The numbers lie in chunks of 64. A copy with one entry replaced copies one chunk and the list of
chunks: for a topic of 10,000 partitions that is some two hundred references, where a copied
dictionary is ten thousand. Two tables are compared chunk by chunk, by identity first.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Generic, TypeVar

CHUNK_BITS: Final = 6

V = TypeVar("V")


class NumberTable(Mapping[int, V], Generic[V]):
    """Immutable; iterates in the order of the numbers."""

    __slots__ = ("_chunks", "_length")

    def __init__(self, entries: Mapping[int, V]) -> None:
        chunks: dict[int, dict[int, V]] = {}
        for number in sorted(entries):
            chunks.setdefault(number >> CHUNK_BITS, {})[number] = entries[number]
        self._chunks = chunks
        self._length = len(entries)

    @classmethod
    def of(cls, entries: "Mapping[int, V]") -> "NumberTable[V]":
        """The same table if it is one already."""
        return entries if isinstance(entries, NumberTable) else cls(entries)

    def __getitem__(self, number: int) -> V:
        return self._chunks[number >> CHUNK_BITS][number]

    def __iter__(self) -> Iterator[int]:
        for chunk in self._chunks.values():
            yield from chunk

    def __len__(self) -> int:
        return self._length

    def replaced(self, changed: Mapping[int, V]) -> "NumberTable[V]":
        """A copy with these entries replaced or added."""
        touched: dict[int, dict[int, V]] = {}
        added = 0
        for number, value in changed.items():
            key = number >> CHUNK_BITS
            chunk = touched.get(key)
            if chunk is None:
                chunk = touched[key] = {**self._chunks.get(key, {})}
            added += number not in chunk
            chunk[number] = value
        if added:
            touched = {key: dict(sorted(chunk.items())) for key, chunk in touched.items()}
        table: NumberTable[V] = NumberTable.__new__(NumberTable)
        table._chunks = {**self._chunks, **touched}
        if touched.keys() - self._chunks.keys():
            table._chunks = dict(sorted(table._chunks.items()))
        table._length = self._length + added
        return table

    def different_from(self, other: "Mapping[int, V]") -> Iterator[int]:
        """The numbers whose entries here are new, or not equal to those there."""
        before = NumberTable.of(other)
        for key, chunk in self._chunks.items():
            known = before._chunks.get(key, {})  # noqa: SLF001 - of the same class
            if known is not chunk:
                yield from (number for number, it in chunk.items() if known.get(number) != it)
