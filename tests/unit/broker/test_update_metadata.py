"""UpdateMetadata becomes the next image: what it names is replaced, and nothing else."""

from collections.abc import Container

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.controlled import update_metadata
from odradek.broker.slices import at_once
from odradek.controller.messages import DELETED, FULL, INCREMENTAL
from odradek.metadata.image import TopicImage
from odradek.metadata.number_table import NumberTable
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID, BrokerId
from odradek.model.positions import NO_LEADER_EPOCH
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from tests.unit.peers.control_requests import FIRST_ID, SECOND_ID, metadata


def told(*requests: object, gone: Container[str] = ()) -> MetadataCache:
    """A broker that heard these, one after the other; some topics are not in the tree."""
    cluster = MetadataCache()
    for request in requests:
        at_once(update_metadata.apply(cluster, request, gone))  # type: ignore[arg-type]
    return cluster


def orders(cluster: MetadataCache) -> TopicImage:
    """The topic that all requests are about."""
    return cluster.image.topics["orders"]


def leaders(cluster: MetadataCache) -> dict[int, BrokerId | None]:
    """Of its partitions."""
    states = {number: it.state for number, it in orders(cluster).partitions.items()}
    return {number: None if it is None else it.leader for number, it in states.items()}


def test_a_change_of_one_partition_leaves_the_others() -> None:
    """A topic of ten thousand partitions is not copied for one of them."""
    cluster = told(metadata(*range(200)))
    before = orders(cluster).partitions
    at_once(update_metadata.apply(cluster, metadata(3, leader=2)))
    after = orders(cluster).partitions
    assert leaders(cluster) == {number: 2 if number == 3 else 1 for number in range(200)}
    assert isinstance(after, NumberTable)
    assert isinstance(before, NumberTable)
    shared = [key for key, chunk in after._chunks.items() if before._chunks[key] is chunk]
    assert shared == [1, 2, 3]


def test_a_broker_is_told_all_by_the_whole_metadata() -> None:
    """A new controller names leaders first; Kafka's say nothing of a type, and tell all at once."""
    assert not told(metadata(0, kind=INCREMENTAL)).is_whole
    assert told(metadata(0, kind=INCREMENTAL), metadata(0, kind=FULL)).is_whole
    assert told(metadata(0), metadata(1, kind=INCREMENTAL)).is_whole


def test_a_topic_without_an_id_keeps_its_other_partitions() -> None:
    """As controllers from before Kafka 2.8 tell of it."""
    first = metadata(0, 1, topic_id=NO_TOPIC_ID)
    cluster = told(first, metadata(1, leader=2, topic_id=NO_TOPIC_ID))
    assert leaders(cluster) == {0: 1, 1: 2}


def test_a_topic_of_another_id_keeps_nothing_of_the_one_before() -> None:
    """It was deleted and made again, with fewer partitions."""
    cluster = told(metadata(0, 1, topic_id=FIRST_ID), metadata(0, leader=2, topic_id=SECOND_ID))
    assert leaders(cluster) == {0: 2}
    assert cluster.image.names == {SECOND_ID: "orders"}


def test_the_deletion_of_an_earlier_topic_does_not_end_the_one_of_its_name() -> None:
    """Both are named in one request, which was sent again and arrives a second time."""
    both = metadata(1, leader=DELETED, topic_id=FIRST_ID)
    made = metadata(0, leader=2, topic_id=SECOND_ID)
    both.topic_states = [*both.topic_states, *made.topic_states]
    cluster = told(metadata(0, 1, topic_id=FIRST_ID), both, both)
    assert leaders(cluster) == {0: 2}
    at_once(update_metadata.apply(cluster, metadata(0, leader=DELETED, topic_id=FIRST_ID)))
    assert leaders(cluster) == {0: 2}


def test_an_earlier_topic_is_gone_where_the_whole_metadata_deletes_a_later_one() -> None:
    """This broker has missed the deletion of the first, and the making of the second."""
    whole = metadata(0, leader=DELETED, kind=FULL, topic_id=SECOND_ID)
    assert not told(metadata(0, topic_id=FIRST_ID), whole).image.topics
    made = metadata(0, leader=2, kind=FULL, topic_id=SECOND_ID)
    late = metadata(1, leader=DELETED, topic_id=FIRST_ID)
    made.topic_states = [*made.topic_states, *late.topic_states]
    assert leaders(told(metadata(0, topic_id=SECOND_ID), made)) == {0: 2}


def test_a_topic_whose_partitions_are_all_deleted_is_gone() -> None:
    """One after the other, or together."""
    cluster = told(metadata(0, 1), metadata(0, leader=DELETED))
    assert leaders(cluster) == {1: 1}
    at_once(update_metadata.apply(cluster, metadata(1, leader=DELETED)))
    assert not cluster.image.topics


def test_what_the_whole_image_does_not_name_is_gone() -> None:
    """It was deleted by an earlier controller, which could not tell this broker any more.

    If it is in the tree, the controller may only be unable to read it.
    """
    cluster = told(metadata(0, 1), metadata(kind=FULL), gone=["orders"])
    assert not cluster.image.topics
    cluster = told(metadata(0, 1), metadata(kind=FULL))
    assert leaders(cluster) == {0: 1, 1: 1}
    cluster = told(metadata(0, 1), metadata(0, 1, kind=FULL), metadata())
    assert leaders(cluster) == {0: 1, 1: 1}


def test_what_was_overtaken_takes_nothing_back() -> None:
    """It was on its way on a connection that broke, was sent again, and arrives once more."""
    late = metadata(0, 1, leader=1, live=(1, 2), epoch=3)
    cluster = told(late, metadata(0, leader=2, live=(2,), epoch=4), late)
    assert leaders(cluster) == {0: 2, 1: 1}
    assert list(cluster.image.brokers) == [2]


def test_an_older_isr_of_the_same_leader_epoch_takes_nothing_back() -> None:
    """Both have the epoch of one leader: the partition epoch says which is newer."""
    cluster = told(metadata(0, isr=(1,), version=4), metadata(0, isr=(1, 2), version=3))
    state = orders(cluster).partitions[0].state
    assert state is not None
    assert state.isr == (1,)


def test_the_whole_metadata_that_comes_twice_takes_nothing_back() -> None:
    """What was made meanwhile stays; the whole of a new controller counts, whatever it says."""
    whole = metadata(0, leader=1, epoch=3, kind=FULL)
    cluster = told(whole, metadata(0, leader=2, epoch=4), metadata(1, epoch=0), whole)
    assert leaders(cluster) == {0: 2, 1: 1}
    whole.controller_epoch += 1
    at_once(update_metadata.apply(cluster, whole))
    assert leaders(cluster)[0] == 1


def test_the_whole_metadata_that_comes_twice_does_not_end_a_topic() -> None:
    """One that it does not name may have been made since."""
    cluster = told(metadata(kind=FULL), metadata(0), metadata(kind=FULL))
    assert leaders(cluster) == {0: 1}


def without_state(*partitions: int, live: tuple[int, ...] = (1, 2)) -> UpdateMetadataRequest:
    """As a controller tells of partitions whose states it cannot read."""
    told = {"leader": NO_BROKER, "epoch": NO_LEADER_EPOCH, "version": -1, "isr": ()}
    return metadata(*partitions, live=live, kind=INCREMENTAL, **told)  # type: ignore[arg-type]


def test_a_partition_without_a_state_is_one() -> None:
    """A broker that has just started knows it from nobody else; its first state counts."""
    cluster = told(metadata(0, kind=FULL), without_state(1))
    assert leaders(cluster) == {0: 1, 1: None}
    assert orders(cluster).partitions[1].assignment.replicas == (1, 2)
    at_once(update_metadata.apply(cluster, metadata(1, leader=2)))
    assert leaders(cluster) == {0: 1, 1: 2}


def test_a_leader_that_lives_stays_where_the_controller_knows_no_state() -> None:
    """It leads on; once it was gone it leads no more, whoever comes back under its number."""
    cluster = told(metadata(0, 1, epoch=4), without_state(1))
    assert leaders(cluster) == {0: 1, 1: 1}
    assert cluster.image.brokers.keys() == {1, 2}
    for live in ((2,), (1, 2)):
        at_once(update_metadata.apply(cluster, without_state(1, live=live)))
        assert leaders(cluster) == {0: 1, 1: None}
        assert cluster.image.brokers.keys() == {*live}
