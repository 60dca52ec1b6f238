"""Our ZooKeeper client beside kazoo, and our server beside a real one, in one run.

A controller's work: 10,000 conditional sets of a partition's state of 150 bytes, in multis of 200,
and 10,000 reads, all in flight together. Every round does all of it on all pairs, one behind the
other, and ratios are taken within a round, so that a slow moment of the machine touches both. The
real server runs as in production, with sync; so does ours.

Bars: our client's sets at most 1.2 times kazoo's, its reads at most a third of kazoo's; our server
at most 1.5 times the real one's time for the same; with 100,000 partition states at most 150 MB,
and started with them within 2 s; an idle client wakes up for its pings only.
"""

import asyncio
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import uvloop
from kazoo.client import KazooClient

sys.path.insert(0, str(Path(__file__).parents[1]))

from odradek.ensemble.client import ZooKeeperClient
from odradek.model.units import SECOND, Millis
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SWEEP_SECONDS, SystemNetwork
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.packing import packed
from odradek.zookeeper.client.session import Session, SessionSettings
from odradek.zookeeper.protocol.codes import ANY_VERSION, KeeperError
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Create2, GetData, Request, SetData
from tests.external import tools
from tests.external.zookeeper import RealZookeeper

ROUNDS = 15
COUNT = 10_000
MULTI = 200
STATE = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}'.ljust(150)
PATHS = [f"/bench/p{number:05d}" for number in range(COUNT)]
PARTITIONS = 100_000
IDLE_SECONDS = 12

Times = dict[str, list[float]]


@asynccontextmanager
async def session(connect: str, seconds: int = 30) -> AsyncIterator[ZooKeeperClient]:
    """Our client."""
    core = Session(
        Ensemble.parse(connect), SystemRandom(), SessionSettings(Millis(seconds * SECOND))
    )
    client = ZooKeeperClient(core, SystemNetwork(), SystemClock(), lambda _: None)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.run())
        client.begin()
        await client.connected()
        yield client
        await client.close()


async def ask(client: ZooKeeperClient, operations: Sequence[Request]) -> list[object]:
    """A batch in which nothing fails."""
    answers = await client.batch(operations)
    assert not any(isinstance(answer, KeeperError) for answer in answers), answers[:3]
    return [*answers]


async def ours(client: ZooKeeperClient, name: str, times: Times) -> None:
    """Both tasks by our client."""
    start = perf_counter()
    found = await ask(client, [GetData(path) for path in PATHS])
    middle = perf_counter()
    versions = [answer.stat.version for answer in found if isinstance(answer, Data)]
    sets = [SetData(path, STATE, v) for path, v in zip(PATHS, versions, strict=True)]
    await ask(client, list(packed(sets, operations_max=MULTI)))
    times.setdefault(f"{name}: reads", []).append(middle - start)
    times.setdefault(f"{name}: sets", []).append(perf_counter() - middle)


def kazoos(client: KazooClient, name: str, times: Times) -> None:
    """Both tasks by kazoo, as fast as it can: all of them asked for before the first is awaited."""
    start = perf_counter()
    reads = [client.get_async(path) for path in PATHS]
    versions = [read.get()[1].version for read in reads]
    middle = perf_counter()
    commits = []
    for first in range(0, COUNT, MULTI):
        transaction = client.transaction()
        for path, version in zip(
            PATHS[first : first + MULTI], versions[first : first + MULTI], strict=True
        ):
            transaction.set_data(path, STATE, version)
        commits.append(transaction.commit_async())
    assert not any(isinstance(r, Exception) for commit in commits for r in commit.get())
    times.setdefault(f"{name}: reads", []).append(middle - start)
    times.setdefault(f"{name}: sets", []).append(perf_counter() - middle)


class OurServer:
    """Ours, in a process of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        self.connect_string = ""

    def start(self) -> float:
        """How long it took, from nothing to listening."""
        start = perf_counter()
        command = (sys.executable, "-m", "odradek", "zookeeper", "serve")
        self._process = subprocess.Popen(
            [*command, "--data", str(self._directory), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.connect_string = self._process.stdout.readline().split()[-1]
        return perf_counter() - start

    def stop(self) -> None:
        """Asks it to go."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()

    def memory(self) -> int:
        """What it holds, in MB."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) // 1_000


async def prepare(connect: str) -> None:
    """The nodes that are read and set."""
    async with session(connect) as client:
        await ask(client, [Create2("/bench", b"")])
        await ask(client, list(packed([Create2(path, STATE) for path in PATHS])))


async def rounds(real: RealZookeeper, server: OurServer) -> Times:
    """All pairs in turn."""
    times: Times = {}
    for connect in (real.connect_string, server.connect_string):
        await prepare(connect)
    kazoo = KazooClient(real.connect_string, timeout=30)
    await asyncio.to_thread(kazoo.start)
    async with session(real.connect_string) as a, session(server.connect_string) as b:
        for number in range(ROUNDS + 2):
            if number == 2:
                times.clear()  # the first two warm the real server up
            await ours(a, "our client, real server", times)
            await asyncio.to_thread(kazoos, kazoo, "kazoo, real server", times)
            await ours(b, "our client, our server", times)
    await asyncio.to_thread(kazoo.stop)
    await asyncio.to_thread(kazoo.close)
    return times


def show(title: str, values: Sequence[float], unit: str, bar: float | None = None) -> None:
    """One line of the table, with the bar that the median is held against."""
    low, middle, high = min(values), statistics.median(values), max(values)
    verdict = "" if bar is None else f"  bar {bar:g}: {'met' if middle <= bar else 'MISSED'}"
    print(f"{title:<44} {low:8.2f} {middle:8.2f} {high:8.2f}  {unit}{verdict}")


def compare(times: Times) -> None:
    """The table."""
    print(f"{'':<44} {'min':>8} {'median':>8} {'max':>8}")
    for name, values in times.items():
        show(name, [value * 1_000 for value in values], "ms")
    for one, other, what, bar in (
        ("our client, real server", "kazoo, real server", "sets", 1.2),
        ("our client, real server", "kazoo, real server", "reads", 1 / 3),
        ("our client, our server", "our client, real server", "sets", 1.5),
        ("our client, our server", "our client, real server", "reads", 1.5),
    ):
        ours, theirs = times[f"{one}: {what}"], times[f"{other}: {what}"]
        show(
            f"{one} / {other}: {what}",
            [a / b for a, b in zip(ours, theirs, strict=True)],
            f"times, best against best {min(ours) / min(theirs):.2f}",
            bar,
        )


async def load(connect: str) -> None:
    """Partition states where Kafka has them: each below a node of its own."""
    topics = [f"/brokers/topics/t{topic}" for topic in range(PARTITIONS // 100)]
    creates = [Create2("/brokers", b""), Create2("/brokers/topics", b"")]
    for topic in topics:
        creates += [Create2(topic, b""), Create2(f"{topic}/partitions", b"")]
        for partition in range(100):
            path = f"{topic}/partitions/{partition}"
            creates += [Create2(path, None), Create2(f"{path}/state", STATE)]
    async with session(connect) as client:
        await ask(client, list(packed(creates)))


async def rewrite(connect: str) -> None:
    """Every state three times more; snapshots are taken meanwhile."""
    paths = [
        f"/brokers/topics/t{topic}/partitions/{partition}/state"
        for topic in range(PARTITIONS // 100)
        for partition in range(100)
    ]
    async with session(connect) as client:
        for _ in range(3):
            await ask(client, list(packed([SetData(path, STATE, ANY_VERSION) for path in paths])))


async def size(directory: Path) -> None:
    """Memory and start with many nodes."""
    server = OurServer(directory)
    server.start()
    await load(server.connect_string)
    show(f"our server, {PARTITIONS:,} partitions written", [server.memory()], "MB", 150)
    server.stop()
    starts = []
    for _ in range(3):
        starts.append(server.start())
        async with session(server.connect_string) as client:
            await client.get("/brokers/topics/t0/partitions/0/state")
        memory = server.memory()
        server.stop()
    show("started with them", starts, "s", 2)
    show("after the start", [memory], "MB", 150)
    server.start()
    await rewrite(server.connect_string)
    show("after each was written three times more", [server.memory()], "MB")
    server.stop()


async def idle(connect: str) -> None:
    """How often a process with nothing but an idle client is woken up."""
    async with session(connect, 6):
        await asyncio.sleep(1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        await asyncio.sleep(IDLE_SECONDS)
        woken = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
    pings = IDLE_SECONDS * 3 // 6
    print(
        f"an idle client: woken {woken} times in {IDLE_SECONDS} s: twice for each of {pings} "
        f"pings, and by the network's look at quiet streams, every {SWEEP_SECONDS:.0f} s"
    )


def main() -> None:
    """All of it."""
    os.environ.setdefault("ODRADEK_INSTALL", "yes")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        real = RealZookeeper(tools.kafka_classpath(), root / "real", as_in_production=True)
        server = OurServer(root / "ours")
        real.start()
        server.start()
        try:
            compare(uvloop.run(rounds(real, server)))
            uvloop.run(idle(real.connect_string))
        finally:
            server.stop()
            real.stop()
        uvloop.run(size(root / "large"))


if __name__ == "__main__":
    main()
