"""What a run says at its end: how a failed test is repeated alone, and how long each part took."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Protocol


class Report(Protocol):
    """Of one phase of a test, as pytest has it."""

    @property
    def nodeid(self) -> str:
        """Its file, then `::`."""
        ...

    @property
    def duration(self) -> float:
        """Seconds."""
        ...


def commands(failed: Iterable[Report], seed: object) -> list[str]:
    """One for each test, with the numbers that chance gave this run."""
    return [command(nodeid, seed) for nodeid in dict.fromkeys(it.nodeid for it in failed)]


def command(nodeid: str, seed: object) -> str:
    """Of one test; those with Spark have an environment of their own."""
    words = ["./dev", "test"]
    if nodeid.startswith("tests/pipelines/"):
        words.append("pipelines")
    words += [nodeid, "--numprocesses=0"]
    if isinstance(seed, int):
        words.append(f"--randomly-seed={seed}")
    return shlex.join(words)


def parts(reports: Iterable[Report]) -> Iterator[str]:
    """The folders, the longest first: seconds of one process, of which several may run."""
    seconds: dict[str, float] = {}
    tests: dict[str, set[str]] = {}
    for report in reports:
        folder = "/".join(report.nodeid.split("/")[:2])
        seconds[folder] = seconds.get(folder, 0) + report.duration
        tests.setdefault(folder, set()).add(report.nodeid)
    for folder in sorted(seconds, key=lambda it: -seconds[it]):
        yield f"{folder}: {seconds[folder]:.0f} s, tests: {len(tests[folder])}"
