"""Which files begin first where several processes share them: those that last longest.

Otherwise the last to begin would be files of one test that lasts a minute, and all but one process
would wait for it. The seconds are what a test of that place lasts on two cores, measured once, and
need not be exact.
"""

from typing import Final, Protocol, TypeVar


class Collected(Protocol):
    """A test, as pytest has it."""

    @property
    def nodeid(self) -> str:
        """Its file, then `::`."""
        ...


Item = TypeVar("Item", bound=Collected)
SECONDS_OF_A_TEST: Final = {
    "tests/": 0.02,
    "tests/compat/": 0.3,
    "tests/crash/": 1.0,
    "tests/fuzz/": 16.0,
    "tests/live/": 10.0,
    "tests/pipelines/": 3.0,
    "tests/property/": 0.3,
    "tests/releases/": 40.0,
    "tests/scenarios/": 0.3,
    "tests/simulation/": 5.0,
    "tests/simulation/test_conversations.py": 0.6,
}
"""By the beginning of a file's path; the longest that fits counts."""


def sort(items: list[Item]) -> None:
    """Tests of one file stay in the order that chance gave them; so do files that last alike."""
    seconds: dict[str, float] = {}
    for item in items:
        file = item.nodeid.partition("::")[0]
        seconds[file] = seconds.get(file, 0) + seconds_of_a_test(file)
    items.sort(key=lambda item: -round(seconds[item.nodeid.partition("::")[0]]))


def seconds_of_a_test(file: str) -> float:
    """What each of this file lasts."""
    return SECONDS_OF_A_TEST[max(filter(file.startswith, SECONDS_OF_A_TEST), key=len)]
