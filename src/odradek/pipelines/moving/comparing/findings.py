"""What a comparison found: offsets that are missing, double, too many, or not the same."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault; neighbours with the same fault are one finding."""

    kind: str
    topic: str
    partition: int
    first: int
    last: int
    detail: str = ""

    def __str__(self) -> str:
        offsets = (
            f"offset {self.first}"
            if self.first == self.last
            else f"offsets {self.first} to {self.last}"
        )
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.topic}-{self.partition} {offsets} {self.kind}{detail}"


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """In order, with those that continue each other as one."""
    found: list[Finding] = []
    for it in sorted(findings, key=lambda it: (it.topic, it.partition, it.kind, it.first)):
        before = found[-1] if found else None
        if (
            before is not None
            and (before.kind, before.topic, before.partition, before.detail)
            == (it.kind, it.topic, it.partition, it.detail)
            and it.first <= before.last + 1
        ):
            found[-1] = replace(before, last=max(before.last, it.last))
        else:
            found.append(it)
    return found


def runs_of(offsets: Sequence[int]) -> Iterable[tuple[int, int]]:
    """First and last of each run of numbers that follow each other."""
    start = None
    before = 0
    for offset in offsets:
        if start is None:
            start = offset
        elif offset != before + 1:
            yield start, before
            start = offset
        before = offset
    if start is not None:
        yield start, before
