"""Which files begin first where several processes share them: those that last longest.

Otherwise the last to begin would be files of one test that lasts a minute, and all but one process
would wait for it. The seconds are what a test, or a file, lasts on two cores, measured once, and
need not be exact.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
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
    "tests/house/": 1.0,
    "tests/live/": 10.0,
    "tests/pipelines/": 0.5,
    "tests/property/": 0.3,
    "tests/releases/": 40.0,
    "tests/scenarios/": 0.3,
    "tests/simulation/": 5.0,
    "tests/simulation/test_conversations.py": 0.6,
}
"""By the beginning of a file's path; the longest that fits counts."""
SECONDS_OF_A_FILE: Final = {
    "tests/compat/test_broker_copiers.py": 85,
    "tests/compat/test_broker_java_processes.py": 18,
    "tests/compat/test_broker_takeover.py": 30,
    "tests/compat/test_zookeeper_kafka.py": 18,
    "tests/live/test_copiers.py": 26,
    "tests/live/test_draining_meanwhile.py": 95,
    "tests/live/test_every_verb_ends.py": 100,
    "tests/live/test_faults.py": 190,
    "tests/live/test_figures.py": 32,
    "tests/live/test_hanging_disks.py": 95,
    "tests/live/test_operator_truth.py": 40,
    "tests/live/test_pairs.py": 45,
    "tests/live/test_rolling.py": 68,
    "tests/live/test_runbooks.py": 50,
    "tests/pipelines/moving/test_archive_killed.py": 40,
    "tests/pipelines/moving/test_hostile.py": 30,
    "tests/pipelines/moving/test_killed_from_outside.py": 45,
    "tests/pipelines/test_cli_archive.py": 85,
    "tests/pipelines/test_cli_init.py": 120,
    "tests/pipelines/test_cli_pipeline.py": 95,
    "tests/pipelines/test_cli_refused.py": 95,
    "tests/pipelines/test_exactly_once.py": 65,
    "tests/pipelines/test_masters.py": 95,
    "tests/pipelines/test_pipelines_page.py": 45,
    "tests/pipelines/test_source_batch.py": 70,
    "tests/pipelines/test_source_stream.py": 40,
    "tests/pipelines/test_upgrades.py": 25,
    "tests/pipelines/upserts/test_upsert_on_spark.py": 75,
    "tests/simulation/test_many_partitions.py": 45,
    "tests/simulation/test_seeds.py": 500,
    "tests/unit/broker/test_client_quotas.py": 20,
    "tests/unit/sim/test_simulation.py": 25,
}
"""Of those whose few tests last long: by their number they would begin last, and all would wait."""


WAITING: Final = ("tests/live/", "tests/releases/")
"""Where brokers are processes of their own, and are waited for."""


def sort(items: list[Item]) -> None:
    """Tests of one file stay in the order that chance gave them; so do files that last alike."""
    tests = Counter(item.nodeid.partition("::")[0] for item in items)
    seconds = {file: seconds_of(file, count) for file, count in tests.items()}
    files = sorted(tests, key=lambda file: -round(seconds[file]))
    rank = {file: place for place, file in enumerate(mixed(files, seconds))}
    items.sort(key=lambda item: rank[item.nodeid.partition("::")[0]])


def mixed(files: Sequence[str], seconds: Mapping[str, float]) -> Iterator[str]:
    """Those that wait beside those that compute, so that no core is idle while all of them wait."""
    waiting = deque(it for it in files if it.startswith(WAITING))
    kinds = [waiting, deque(it for it in files if not it.startswith(WAITING))]
    left = [sum(map(seconds.__getitem__, kind)) for kind in kinds]
    whole = [max(it, 1e-9) for it in left]
    while any(kinds):
        turns = (it for it in range(2) if kinds[it])
        turn = max(turns, key=lambda it: (left[it] / whole[it], seconds[kinds[it][0]]))
        file = kinds[turn].popleft()
        left[turn] -= seconds[file]
        yield file


def seconds_of(file: str, tests: int) -> float:
    """What so many tests of it last."""
    if file in SECONDS_OF_A_FILE:
        return SECONDS_OF_A_FILE[file]
    return tests * SECONDS_OF_A_TEST[max(filter(file.startswith, SECONDS_OF_A_TEST), key=len)]
