"""How many of something, in words for people: `1 replica`, `2 replicas`, `0 batches`."""

from typing import Final

SIBILANTS: Final = ("s", "x", "ch", "sh")
SPOKEN_AS_K: Final = "epoch"


def counted(count: int, thing: str) -> str:
    """`thing` is one of them, in the words that stand behind the number: `open file`."""
    return f"{count} {thing if count == 1 else _several(thing)}"


def _several(thing: str) -> str:
    if thing.endswith(SIBILANTS) and not thing.endswith(SPOKEN_AS_K):
        return f"{thing}es"
    if thing.endswith("y") and thing[-2] not in "aeiou":
        return f"{thing[:-1]}ies"
    return f"{thing}s"
