"""Sessions with the embedded ZooKeeper: who lives, who hears what, and when."""

from odradek.sim.scenarios.scenario import Scenario
from odradek.zookeeper.client.errors import OutcomeUnknown
from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Create, Delete


def test_a_session_expires_while_its_client_stands_still(t: Scenario) -> None:
    """Others see its node go; it hears that it is over before it may act again."""
    sleeper, other = t.keeper("sleeper"), t.keeper("other")
    sleeper.does(sleeper.zookeeper.create("/alive", mode=CreateMode.EPHEMERAL))
    assert other.does(other.zookeeper.exists("/alive", watch=True))

    sleeper.pause()
    t.wait_until(lambda: "NODE_DELETED" in other.told, "its node goes")
    assert sleeper.told == ["CONNECTED"]
    sleeper.resume()
    t.wait_until(lambda: "EXPIRED" in sleeper.told, "it hears of it")
    assert "CONNECTED" not in sleeper.told[1:]


def test_a_watch_is_heard_before_the_answer_that_shows_the_change(t: Scenario) -> None:
    """So nobody acts on what is new and believes that nothing has changed."""
    watcher, writer = t.keeper("watcher"), t.keeper("writer")
    writer.does(writer.zookeeper.create("/setting", b"old"))
    watcher.does(watcher.zookeeper.get("/setting", watch=True))
    watcher.told.clear()

    async def read_until_new() -> None:
        while (await watcher.zookeeper.get("/setting")).data != b"new":
            watcher.told.append("old")
        watcher.told.append("new")

    reading = watcher.begins(read_until_new())
    t.run(seconds=0.02)
    writer.does(writer.zookeeper.set("/setting", b"new", 0))
    watcher.ends(reading)
    assert watcher.told[-2:] in (["NODE_DATA_CHANGED", "new"], ["old", "new"])
    assert watcher.told.index("NODE_DATA_CHANGED") < watcher.told.index("new")


def test_a_write_whose_answer_was_lost_has_one_effect(t: Scenario) -> None:
    """Its client is told that nobody knows, reads, and finds it: a version tells whose it is."""
    client = t.keeper("client")
    client.does(client.zookeeper.create("/count", b"0"))

    t.cut("broker", "client")
    writing = client.begins(client.zookeeper.set("/count", b"1", 0))
    t.run(seconds=1)
    t.break_connections("client")
    t.heal()
    try:
        client.ends(writing)
    except OutcomeUnknown:
        client.does(client.zookeeper.connected())
    else:
        raise AssertionError("nobody could know")
    found = client.does(client.zookeeper.get("/count"))
    assert (found.data, found.stat.version) == (b"1", 1)


def test_a_session_outlives_its_server(t: Scenario) -> None:
    """Who comes back in time goes on with the session, and its nodes are there."""
    client = t.keeper("client")
    client.does(client.zookeeper.create("/alive", mode=CreateMode.EPHEMERAL))
    session = client.zookeeper.session_id

    t.broker.cut_power()
    t.run(seconds=1)
    t.broker.start()
    t.wait_until(lambda: client.told.count("CONNECTED") == 2, "it is connected again")
    assert client.zookeeper.session_id == session
    assert client.does(client.zookeeper.exists("/alive")).ephemeral_owner == session


def test_a_broker_that_starts_bears_that_its_connection_to_zookeeper_breaks(t: Scenario) -> None:
    """At whichever moment: it asks again, and whatever it makes there is made once."""
    shop, host = t.client("shop"), t.broker.machine.host
    shop.make("orders")
    for millis in range(1, 60, 3):
        t.broker.kill()
        t.world.after(1_000 * millis, lambda: t.world.wires.break_connections(host))
        t.broker.start()
    shop.produce("orders", "a")
    assert shop.read("orders") == ["a"]


def test_a_broker_whose_registration_was_deleted_registers_again(t: Scenario) -> None:
    """A controller may take its process for dead; it comes back by itself, in another life."""
    shop, keeper = t.client("shop"), t.keeper("keeper")
    shop.make("orders")
    before = keeper.does(keeper.zookeeper.exists("/brokers/ids/1"))
    keeper.does(keeper.zookeeper.delete("/brokers/ids/1", before.version))

    def is_back() -> bool:
        found = keeper.does(keeper.zookeeper.exists("/brokers/ids/1"))
        return found is not None and found.czxid > before.czxid

    t.wait_until(is_back, "it registers again")
    shop.produce("orders", "a")
    assert shop.read("orders") == ["a"]


def test_a_broker_does_not_strike_another_of_its_number(t: Scenario) -> None:
    """The same number and the same address, but bound by another process: it lives."""
    keeper = t.keeper("keeper")
    path = "/brokers/ids/1"
    mine = keeper.does(keeper.zookeeper.get(path))
    other = mine.data.replace(b'"broker:9092"]', b'"broker:9999"]')
    assert other != mine.data
    takeover = (
        Delete(path, mine.stat.version),
        Create(path, other, OPEN_ACL, CreateMode.EPHEMERAL),
    )
    keeper.does(keeper.zookeeper.multi(takeover))
    theirs = keeper.does(keeper.zookeeper.exists(path))
    t.run(seconds=5)
    assert keeper.does(keeper.zookeeper.exists(path)).czxid == theirs.czxid
