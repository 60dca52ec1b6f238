"""What others have built on ZooKeeper works on ours: kazoo's recipes, which use all of it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.cache import TreeCache, TreeEvent

from tests.compat.zookeeper_ours import OurZookeeper

SECONDS_MAX = 20
_ROOTS = count()


@contextmanager
def started(hosts: str) -> Iterator[KazooClient]:
    """One client."""
    client = KazooClient(hosts, timeout=10)
    client.start(SECONDS_MAX)
    try:
        yield client
    finally:
        client.stop()
        client.close()


@pytest.fixture
def clients(our_zookeeper: OurZookeeper) -> Iterator[list[KazooClient]]:
    """Three that share a root of their own."""
    host, port = our_zookeeper.address
    root = f"/recipes-{next(_ROOTS)}"
    with ExitStack() as stack:
        maker = stack.enter_context(started(f"{host}:{port}"))
        maker.create(root)
        yield [stack.enter_context(started(f"{host}:{port}{root}")) for _ in range(3)]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Where the others wait."""
    with ThreadPoolExecutor(4) as executor:
        yield executor


def test_a_lock_is_held_by_one(clients: list[KazooClient], pool: ThreadPoolExecutor) -> None:
    """And passes on in the order of asking; whoever's session ends has let go of it."""
    a, b, c = (client.Lock("/lock", name) for client, name in zip(clients, "abc", strict=True))
    assert a.acquire(timeout=SECONDS_MAX)
    with pytest.raises(LockTimeout):
        b.acquire(timeout=0.2)
    second = pool.submit(b.acquire, timeout=SECONDS_MAX)
    while len(a.contenders()) < 2:
        pass
    third = pool.submit(c.acquire, timeout=SECONDS_MAX)
    while a.contenders() != ["a", "b", "c"]:
        pass
    a.release()
    assert second.result(SECONDS_MAX)
    assert not third.done()
    clients[1].stop()
    assert third.result(SECONDS_MAX)
    c.release()


def test_readers_share_a_lock_and_a_writer_does_not(
    clients: list[KazooClient], pool: ThreadPoolExecutor
) -> None:
    """The writer waits for all the readers that came before it."""
    readers = [client.ReadLock("/lock", "r") for client in clients[:2]]
    writer = clients[2].WriteLock("/lock", "w")
    assert all(reader.acquire(timeout=SECONDS_MAX) for reader in readers)
    waiting = pool.submit(writer.acquire, timeout=SECONDS_MAX)
    readers[0].release()
    assert not waiting.done()
    readers[1].release()
    assert waiting.result(SECONDS_MAX)


def test_a_semaphore_has_so_many_leases(clients: list[KazooClient]) -> None:
    """One more is refused until one is given back."""
    semaphores = [client.Semaphore("/semaphore", max_leases=2) for client in clients]
    assert semaphores[0].acquire(timeout=SECONDS_MAX)
    assert semaphores[1].acquire(timeout=SECONDS_MAX)
    assert not semaphores[2].acquire(blocking=False)
    semaphores[0].release()
    assert semaphores[2].acquire(timeout=SECONDS_MAX)


def test_an_election_has_one_leader_after_the_other(
    clients: list[KazooClient], pool: ThreadPoolExecutor
) -> None:
    """All of them lead in the end, never two at once."""
    leading = threading.Lock()
    leaders: list[str] = []

    def lead(name: str) -> None:
        assert leading.acquire(blocking=False), "two leaders"
        leaders.append(name)
        for _ in range(10):  # a while, in which the others wait
            clients[0].get_children("/")
        leading.release()

    elections = [client.Election("/election", str(i)) for i, client in enumerate(clients)]
    runs = [pool.submit(election.run, lead, str(i)) for i, election in enumerate(elections)]
    for run in runs:
        run.result(SECONDS_MAX)
    assert sorted(leaders) == ["0", "1", "2"]


def test_a_counter_loses_nothing(clients: list[KazooClient], pool: ThreadPoolExecutor) -> None:
    """Everybody adds by version, and tries again."""

    def add(client: KazooClient) -> None:
        counter = client.Counter("/counter")
        for _ in range(20):
            counter += 1

    for done in [pool.submit(add, client) for client in clients]:
        done.result(SECONDS_MAX)
    assert clients[0].Counter("/counter").value == 60


def test_a_queue_gives_each_entry_once(
    clients: list[KazooClient], pool: ThreadPoolExecutor
) -> None:
    """By priority, then in order; whoever takes with a lock can give back by dying."""
    queue = clients[0].Queue("/queue")
    for number in range(20):
        queue.put(b"%d" % number, priority=100 + number // 10)
    assert queue.get() == b"0"

    def drain(client: KazooClient) -> list[bytes]:
        mine = client.Queue("/queue")
        taken = []
        while (entry := mine.get()) is not None:
            taken.append(entry)
        return taken

    lists = [pool.submit(drain, client).result(SECONDS_MAX) for client in clients]
    assert sorted(int(entry) for taken in lists for entry in taken) == list(range(1, 20))
    locking = clients[0].LockingQueue("/locking")
    locking.put(b"entry")
    assert locking.get(SECONDS_MAX) == b"entry"
    clients[0].stop()
    other = clients[1].LockingQueue("/locking")
    assert other.get(SECONDS_MAX) == b"entry"
    assert other.consume()


def test_a_barrier_holds_until_it_is_removed(
    clients: list[KazooClient], pool: ThreadPoolExecutor
) -> None:
    """A double barrier lets all of them in together, and out together."""
    barrier = clients[0].Barrier("/barrier")
    barrier.create()
    waiting = pool.submit(clients[1].Barrier("/barrier").wait, SECONDS_MAX)
    assert not waiting.done()
    barrier.remove()
    assert waiting.result(SECONDS_MAX)

    doubles = [client.DoubleBarrier("/double", 3) for client in clients]
    inside = [pool.submit(double.enter) for double in doubles[:2]]
    assert not any(enter.done() for enter in inside)
    doubles[2].enter()
    for enter in inside:
        enter.result(SECONDS_MAX)
    for leave in [pool.submit(double.leave) for double in doubles]:
        leave.result(SECONDS_MAX)


def test_a_party_knows_its_members(clients: list[KazooClient]) -> None:
    """Who comes, who goes, and whose session ends."""
    parties = [client.Party("/party", str(i)) for i, client in enumerate(clients)]
    for party in parties:
        party.join()
    assert sorted(parties[0]) == ["0", "1", "2"]
    parties[1].leave()
    clients[2].stop()
    assert sorted(parties[0]) == ["0"]


def test_a_tree_cache_follows_every_change(clients: list[KazooClient]) -> None:
    """In the end it holds what the tree holds."""
    client, writer, _ = clients
    client.create("/tree")
    cache = TreeCache(client, "/tree")
    seen: dict[str, bytes] = {}
    done = threading.Event()

    def listen(event: TreeEvent) -> None:
        if event.event_type in {TreeEvent.NODE_ADDED, TreeEvent.NODE_UPDATED}:
            seen[event.event_data.path] = event.event_data.data
        elif event.event_type == TreeEvent.NODE_REMOVED:
            seen.pop(event.event_data.path, None)
        if seen == wanted:
            done.set()

    wanted = {"/tree": b"", "/tree/kept": b"2", "/tree/deep": b"", "/tree/deep/er": b"x"}
    cache.listen(listen)
    cache.start()
    writer.create("/tree/gone", b"1")
    writer.create("/tree/kept", b"1")
    writer.create("/tree/deep")
    writer.create("/tree/deep/er", b"x")
    writer.set("/tree/kept", b"2")
    writer.delete("/tree/gone")
    assert done.wait(SECONDS_MAX), seen
    assert sorted(cache.get_children("/tree")) == ["deep", "kept"]
    cache.close()


def test_watchers_are_called_for_each_state(clients: list[KazooClient]) -> None:
    """Kazoo's own re-arming of one-shot watches sees the last state at least."""
    client, writer, _ = clients
    client.create("/node", b"0")
    last, names = threading.Event(), threading.Event()
    client.DataWatch("/node", lambda data, _: last.set() if data == b"50" else None)
    client.ChildrenWatch(
        "/node", lambda children: names.set() if sorted(children) == ["a", "b"] else None
    )
    for number in range(1, 51):
        writer.set("/node", b"%d" % number)
    for name in "abc":
        writer.create(f"/node/{name}")
    writer.delete("/node/c")
    assert last.wait(SECONDS_MAX)
    assert names.wait(SECONDS_MAX)
