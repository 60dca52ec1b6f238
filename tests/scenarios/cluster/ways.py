"""Which files a request passes, from the socket to the disk and back, in all brokers together.

    python -m tests.scenarios.cluster.ways        the table
    python -m tests.scenarios.cluster.ways -v     with the files of each way

The simulator and the client that asks are left out, and what runs once in a process: imports, and
how messages are compiled. What happens beside the way at the same time (a follower's next Fetch, a
heartbeat of a session) counts: it cannot be told apart.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import odradek
from odradek.sim.scenarios.cluster import ClusterScenario

SOURCE: Final = f"{Path(odradek.__file__).parent}/"
LEFT_OUT: Final = ("sim/", "client/", "wire/compiler/")

Calls = Counter[str]
"""Of functions, by file."""


@contextmanager
def counted() -> Iterator[Calls]:
    """What is called meanwhile."""
    calls: Calls = Counter()

    def on_event(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name != "<module>":
            calls[code.co_filename[len(SOURCE) :]] += 1

    sys.setprofile(on_event)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        for name in [it for it in calls if it.startswith(LEFT_OUT)]:
            del calls[name]


class Stage:
    """Three brokers, and one who makes topics, writes and reads."""

    def __init__(self, t: ClusterScenario) -> None:
        self.t = t
        self.shop = t.operator()
        controller = int(t.controller() or 0)
        self.leader, *_ = (it for it in t.brokers if it != controller)
        others = [it for it in t.brokers if it != self.leader]
        self.assigned = [self.leader, *others]

    def begin(self, replicas: int) -> None:
        """A topic with a record, led by a broker that is not the controller."""
        self.shop.places("orders", self.assigned[:replicas])
        self.shop.produce("orders", "a")
        self.t.run(seconds=1)

    def create_topic(self, replicas: int) -> Calls:
        """From the request to the answer; the first topic of the cluster is another."""
        self.begin(replicas)
        with counted() as calls:
            self.shop.places("bills", self.assigned[:replicas])
        return calls

    def produce(self, replicas: int) -> Calls:
        """One batch, acks=all, by a producer that has written before."""
        self.begin(replicas)
        with counted() as calls:
            self.shop.produce("orders", "b")
        return calls

    def fetch(self, replicas: int) -> Calls:
        """Of one record, and of where its log begins and ends."""
        self.begin(replicas)
        self.shop.read("orders")
        with counted() as calls:
            self.shop.read("orders")
        return calls

    def dead_leader(self, replicas: int) -> Calls:
        """From the end of its process until another has answered a producer."""
        self.begin(replicas)
        with counted() as calls:
            self.t.broker(self.leader).kill()
            self.shop.produce("orders", "b")
        return calls

    def failed_disk(self, replicas: int) -> Calls:
        """From the write that fails until another broker has answered a producer."""
        self.begin(replicas)
        broker = self.t.broker(self.leader)
        broker.fail_disk(broker.disk_of("orders"))
        with counted() as calls:
            self.shop.produce("orders", "b")
        return calls


WAYS: Final[Mapping[tuple[str, int], Callable[[Stage, int], Calls]]] = {
    ("CreateTopics", 1): Stage.create_topic,
    ("CreateTopics", 3): Stage.create_topic,
    ("Produce", 1): Stage.produce,
    ("Produce", 3): Stage.produce,
    ("Fetch", 1): Stage.fetch,
    ("Fetch", 3): Stage.fetch,
    ("dead leader", 3): Stage.dead_leader,
    ("failed disk", 3): Stage.failed_disk,
}
"""With which number of replicas."""


def of(way: str, replicas: int, seed: int = 1) -> Calls:
    """In a world of its own."""
    with ClusterScenario(seed) as t:
        return WAYS[way, replicas](Stage(t), replicas)


def main() -> None:
    """Prints the table."""
    for way, replicas in WAYS:
        calls = of(way, replicas)
        print(f"{way}, replicas: {replicas}: files {len(calls)}, calls {calls.total()}")
        if "-v" in sys.argv:
            for file in sorted(calls):
                print(f"  {calls[file]:5} {file}")


if __name__ == "__main__":
    main()
