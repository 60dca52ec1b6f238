"""What an answer is worth, and what is true when none comes."""

from odradek.sim.doors.disk_faults import Fault
from odradek.sim.scenarios.scenario import Scenario

MIB = 1 << 20


def test_an_answer_that_is_lost_does_not_store_a_batch_twice(t: Scenario) -> None:
    """Who got no answer sends again; the broker knows the batch, and says where it stands."""
    shop = t.client("shop")
    shop.make("orders")
    assert shop.produce("orders", "first") == 0

    t.cut("broker", "shop")
    producing = shop.begins(shop.producing("orders", "second"))
    t.wait_until(lambda: t.broker.end_of("orders") == 2, "the request arrives")
    t.run(seconds=1)
    assert not producing.done()

    t.break_connections("shop")
    t.heal()
    assert shop.ends(producing) == 1
    assert shop.read("orders") == ["first", "second"]


def test_a_broker_that_comes_back_knows_the_batches_from_before(t: Scenario) -> None:
    """What was written and not answered when the process died is found to be there already."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "first")

    t.cut("broker", "shop")
    producing = shop.begins(shop.producing("orders", "second"))
    t.wait_until(lambda: t.broker.end_of("orders") == 2, "the request arrives")
    t.broker.kill()
    t.heal()
    t.broker.start()
    assert shop.ends(producing) == 1
    assert shop.read("orders") == ["first", "second"]


def test_power_fails_between_the_append_and_the_sync(t: Scenario) -> None:
    """A batch that was written and not synced was not acknowledged: it is sent again, and is once.

    Whether it survived, chance decides; the client cannot tell, and need not.
    """
    shop = t.client("shop")
    shop.make("orders", flush_before_ack="true")
    shop.produce("orders", "first")

    disk = t.broker.machine.disk(t.broker.disk_of("orders"))
    disk.faults.rows.append(Fault(calls=frozenset({"sync"}), path="*.log", times=1, stops=True))
    producing = shop.begins(shop.producing("orders", "second"))
    t.wait_until(lambda: not t.broker.is_running, "the power fails")
    assert not producing.done()

    t.broker.start()
    assert shop.ends(producing) == 1
    assert shop.read("orders") == ["first", "second"]


def test_an_acknowledgement_outlives_the_process_but_not_always_the_power(t: Scenario) -> None:
    """Without a sync a power cut may take the newest records: what is left is the oldest of them.

    With `flush.before.ack` it takes nothing.
    """
    shop = t.client("shop")
    shop.make("fast", flush_before_ack="false")
    shop.make("safe", flush_before_ack="true")
    values = [f"value {number}" for number in range(10)]
    for value in values:
        shop.produce("fast", value)
        shop.produce("safe", value)

    t.broker.kill()
    t.broker.start()
    assert shop.read("fast") == values

    shop.produce("fast", "after the kill")
    t.broker.cut_power()
    t.broker.start()
    left = shop.read("fast")
    assert left == [*values, "after the kill"][: len(left)]
    assert shop.read("safe") == values


def test_who_does_not_read_keeps_nobody_else_from_it(t: Scenario) -> None:
    """Answers wait with the one who does not take them; all others are served as before."""
    shop, sleeper = t.client("shop"), t.client("sleeper")
    shop.make("orders")
    for number in range(8):
        shop.produce("orders", str(number) * (MIB // 2))
    expected = shop.read("orders")

    reading = sleeper.begins(sleeper.reading("orders"))
    t.run(seconds=0.01)
    sleeper.pause()
    t.run(seconds=2)
    assert shop.produce("orders", "small") == 8
    assert len(shop.read("orders")) == 9

    sleeper.resume()
    found = [value for _, value in sleeper.ends(reading)]
    assert found[:8] == expected
