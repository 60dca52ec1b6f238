"""What `/admin/reassign_partitions` asks of topics whose znodes cannot be read."""

from odradek.metadata.znodes.admin import ReassignPartitionsZnode
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario
from tests.scenarios.cluster.test_znodes import mistype_under_another, move_away, remove

PATH = ReassignPartitionsZnode.PATH


def ask(t: ClusterScenario, *topics: str, to: tuple[int, ...]) -> None:
    """As older tools do, for the first partition of each."""
    target = tuple(map(BrokerId, to))
    asked = {TopicPartition(it, 0): target for it in topics}
    t.put(PATH, ReassignPartitionsZnode.encode(asked))


def test_what_is_asked_waits_until_its_topic_is_mended(t: ClusterScenario) -> None:
    """It is not refused, and taken out, as of a topic that does not exist; another goes on."""
    op = t.operator()
    third = t.controller() or 0
    first, second = (it.number for it in t.others(third))
    for topic in "orders", "payments":
        op.places(topic, (first, second))
        op.produce(topic, "a")
    said = mistype_under_another(t, first, second)
    ask(t, "orders", "payments", to=(third, second))
    t.await_isr("payments", second, third)
    t.run(seconds=1)
    left = t.data(PATH)
    assert ReassignPartitionsZnode.decode(left).keys() == {TopicPartition("orders", 0)}
    move_away(t)
    t.run(seconds=1)
    assert t.data(PATH) == left
    t.put(TopicZnode.path("orders"), said)
    t.await_isr("orders", second, third)
    t.wait_until(lambda: t.data(PATH) is None, "the znode goes")
    assert op.read("orders") == ["a"]


def test_what_somebody_mistypes_is_not_written_over(t: ClusterScenario) -> None:
    """The topic is as its controller knew it; the znode is left to who mends it."""
    op = t.operator()
    third = t.controller() or 0
    first, second = (it.number for it in t.others(third))
    op.places("orders", (first, second))
    said = t.data(TopicZnode.path("orders"))
    assert said is not None
    t.put(TopicZnode.path("orders"), b"{")
    t.run(seconds=1)
    ask(t, "orders", to=(third, second))
    t.run(seconds=2)
    assert t.data(TopicZnode.path("orders")) == b"{"
    t.put(TopicZnode.path("orders"), said)
    t.await_isr("orders", second, third)
    t.wait_until(lambda: t.data(PATH) is None, "the znode goes")


def test_what_is_asked_of_a_topic_that_nobody_mends_goes_with_it(t: ClusterScenario) -> None:
    """There is nothing that could still be done."""
    t.put(TopicZnode.path("nonsense"), b"{")
    t.run(seconds=1)
    ask(t, "nonsense", to=(1, 2))
    t.run(seconds=1)
    assert t.data(PATH) is not None
    remove(t, TopicZnode.path("nonsense"))
    t.wait_until(lambda: t.data(PATH) is None, "the znode goes")
