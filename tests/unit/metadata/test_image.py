"""The image of a cluster: look-ups, what two images share, and the difference between them."""

from odradek.config.listeners import SecurityProtocol
from odradek.metadata.delta import BrokersDelta, ClusterDelta, delta
from odradek.metadata.image import Changes, ClusterImage, PartitionImage
from odradek.metadata.nouns import Assignment, Broker, Endpoint, PartitionState
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import (
    BrokerEpoch,
    ControllerEpoch,
    LeaderEpoch,
    PartitionEpoch,
)

OLD_ID, NEW_ID = TopicId(b"o" * 16), TopicId(b"n" * 16)
ORDERS = Entity(EntityType.TOPICS, "orders")


def broker(number: int, epoch: int = 1, port: int = 9092) -> Broker:
    """One life of a broker."""
    endpoint = Endpoint("PLAINTEXT", "h", port, SecurityProtocol.PLAINTEXT)
    return Broker(BrokerId(number), (endpoint,), epoch=BrokerEpoch(epoch))


def partition(leader: int | None, *replicas: int) -> PartitionImage:
    """A partition with all its replicas in sync."""
    assigned = tuple(map(BrokerId, replicas))
    return PartitionImage(
        Assignment(assigned),
        PartitionState(
            None if leader is None else BrokerId(leader),
            LeaderEpoch(0),
            assigned,
            PartitionEpoch(0),
            ControllerEpoch(1),
        ),
    )


def image() -> ClusterImage:
    """Two brokers, two topics."""
    return (
        Changes(ClusterImage())
        .brokers([broker(2), broker(1)])
        .topic("orders", OLD_ID, {1: partition(2, 2, 1), 0: partition(1, 1, 2)})
        .topic("quiet", None, {0: partition(1, 1)})
        .settings(ORDERS, {"retention.ms": "5"})
        .controller(BrokerId(1))
        .image()
    )


def test_everything_is_found_by_its_name() -> None:
    """By topic, by id, by partition; what is not there is None."""
    now = image()
    topic = now.topic_of_id(OLD_ID)
    assert topic is now.topics["orders"]
    assert topic.name == "orders"
    found = now.partition(TopicPartition("orders", 1))
    assert found is not None
    assert found.leader == 2
    assert now.partition(TopicPartition("orders", 2)) is None
    assert now.partition(TopicPartition("missing", 0)) is None
    assert now.topic_of_id(NEW_ID) is None
    assert now.settings_of(ORDERS) == {"retention.ms": "5"}
    assert now.settings_of(Entity(EntityType.TOPICS, "quiet")) == {}
    assert list(now.brokers) == [1, 2]
    assert list(topic.partitions) == [0, 1]


def test_a_replica_is_online_while_its_broker_and_its_disk_are() -> None:
    """A broker that lost one log dir is alive, but not all of its replicas."""
    at = TopicPartition("orders", 0)
    lame = partition(1, 1, 2)._replace(offline=frozenset({BrokerId(2)}))
    now = Changes(image()).partition(at, lame).image()
    assert now.is_online(at, BrokerId(1))
    assert not now.is_online(at, BrokerId(2))
    assert not now.is_online(at, BrokerId(3))
    assert now.is_online(TopicPartition("orders", 1), BrokerId(2))


def test_images_share_what_did_not_change() -> None:
    """Ten thousand topics are not copied because one of them has a new leader."""
    old = image()
    new = Changes(old).partition(TopicPartition("orders", 0), partition(2, 1, 2)).image()
    assert new.topics["quiet"] is old.topics["quiet"]
    assert new.topics["orders"].partitions[1] is old.topics["orders"].partitions[1]
    assert new.brokers is old.brokers
    assert new.names is old.names
    before = old.partition(TopicPartition("orders", 0))
    assert before is not None
    assert before.leader == 1


def test_no_difference_is_false() -> None:
    """Images that mean the same have an empty difference, even as different objects."""
    assert not delta(image(), image())
    assert delta(image(), Changes(image()).image()) == ClusterDelta()


def test_the_difference_names_what_changed_and_nothing_else() -> None:
    """A new leader is one partition; settings are an entity."""
    old = image()
    new = (
        Changes(old)
        .partition(TopicPartition("orders", 0), partition(2, 1, 2))
        .partition(TopicPartition("orders", 2), partition(1, 1))
        .settings(ORDERS, {})
        .image()
    )
    assert delta(old, new) == ClusterDelta(
        partitions_changed=(TopicPartition("orders", 0), TopicPartition("orders", 2)),
        settings_changed=(ORDERS,),
    )


def test_a_topic_made_anew_under_its_old_name_went_and_came() -> None:
    """Its id tells: the logs of the old one must not be taken for those of the new one."""
    old = image()
    new = Changes(old).topic("orders", NEW_ID, {0: partition(1, 1, 2)}).image()
    assert delta(old, new) == ClusterDelta(
        topics_added=("orders",),
        topics_removed=("orders",),
        partitions_changed=(TopicPartition("orders", 0),),
    )
    assert new.topic_of_id(OLD_ID) is None
    assert new.topic_of_id(NEW_ID) is new.topics["orders"]


def test_a_topic_that_is_given_an_id_stays_the_same() -> None:
    """An upgrade gives ids to topics from before there were any."""
    old = image()
    new = Changes(old).topic("quiet", NEW_ID, {0: partition(1, 1)}).image()
    assert delta(old, new) == ClusterDelta()


def test_a_removed_topic_leaves_nothing_behind() -> None:
    """Neither its name nor its id leads anywhere."""
    old = image()
    new = Changes(old).remove_topic("orders").image()
    assert delta(old, new) == ClusterDelta(topics_removed=("orders",))
    assert new.topic_of_id(OLD_ID) is None
    assert "orders" not in new.topics


def test_a_broker_that_bounced_between_two_looks_is_seen() -> None:
    """Its number stayed, its epoch did not: it has to be told everything anew (KIP-380)."""
    old = Changes(image()).brokers([broker(1), broker(2), broker(3), broker(4)]).image()
    new = Changes(old).brokers([broker(1, 7), broker(3, port=9), broker(4), broker(5)]).image()
    assert delta(old, new) == ClusterDelta(
        BrokersDelta(
            added=(BrokerId(5),),
            removed=(BrokerId(2),),
            bounced=(BrokerId(1),),
            altered=(BrokerId(3),),
        )
    )
