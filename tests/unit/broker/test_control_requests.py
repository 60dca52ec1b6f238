"""Requests of a controller of the past, or for an earlier life of this broker, change nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping

import pytest

from odradek.broker.control.metadata_cache import (
    MetadataCache,
    StaleBrokerEpoch,
    StaleControllerEpoch,
)
from odradek.broker.controlled.control_requests import ControlRequests
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.controller.messages import FULL
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, ControllerEpoch
from odradek.peers.control_message import ControlRequest
from odradek.sim.doors.lending import looking_on
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.files.names import Kind, LogName, parse_log_name
from tests.unit.broker.ground import ORDERS, Ground
from tests.unit.peers.control_requests import (
    DURING_DELETION,
    SECOND_ID,
    lead,
    metadata,
    stop,
)

NEXT, NOW, BEFORE = 8, 7, 6
OTHER = TopicPartition("orders", 1)
Talk = Callable[[ReplicaManager, ControlRequests, MetadataCache], Awaitable[None]]


class Tree:
    """All settings are known, and all topics are there."""

    async def read_settings(self, topics: Mapping[str, TopicId]) -> None:
        """Nothing to read."""

    async def gone(self, topics: list[str]) -> frozenset[str]:
        """None."""
        return frozenset()

    async def may_be_registered(self, broker_epoch: BrokerEpoch) -> bool:
        """Only with the epoch NEXT."""
        return broker_epoch == NEXT


def talk_of(talk: Talk) -> None:
    """A broker in its life NOW, under a controller of epoch NOW, that leads `orders-0`."""

    async def live(replicas: ReplicaManager) -> None:
        cluster = MetadataCache()
        cluster.broker_epoch = BrokerEpoch(NOW)
        control = ControlRequests(cluster, replicas, Tree())
        await control.serve(metadata(0, live=(1, 2)))
        await control.serve(lead(0, epoch=3))
        await talk(replicas, control, cluster)

    with Ground() as ground:
        ground.live(live)


def from_the_past(request: ControlRequest, *, controller: int, broker: int) -> ControlRequest:
    """The request with these epochs."""
    request.controller_epoch, request.broker_epoch = controller, broker
    return request


REQUESTS = [
    pytest.param(lambda: lead(0, 1, epoch=4), id="LeaderAndIsr"),
    pytest.param(lambda: metadata(0, leader=2, live=(2,)), id="UpdateMetadata"),
    pytest.param(lambda: stop(0, delete=True, epoch=4), id="StopReplica"),
]
PAST = [
    pytest.param(BEFORE, NOW, StaleControllerEpoch, id="controller-epoch"),
    pytest.param(NOW, BEFORE, StaleBrokerEpoch, id="broker-epoch"),
    pytest.param(NOW + 1, NEXT + 1, StaleBrokerEpoch, id="another-broker"),
]


@pytest.mark.parametrize(("controller", "broker", "error"), PAST)
@pytest.mark.parametrize("request_of", REQUESTS)
def test_an_epoch_that_is_not_of_this_life_is_refused_and_changes_nothing(
    request_of: Callable[[], ControlRequest],
    controller: int,
    broker: int,
    error: type[BrokerError],
) -> None:
    """Void is what was decided before the newest election, or for another registration.

    A later one that is not this broker's is that of a broker whose address leads here by mistake.
    """

    async def talk(
        replicas: ReplicaManager, control: ControlRequests, cluster: MetadataCache
    ) -> None:
        image = cluster.image
        late = from_the_past(request_of(), controller=controller, broker=broker)
        with pytest.raises(error):
            await control.serve(late)
        assert replicas.led(ORDERS).leader_epoch == 3
        assert replicas.dirs.get(OTHER) is None
        assert cluster.image is image
        assert cluster.has_roles
        assert cluster.controller_epoch == NOW

    talk_of(talk)


@pytest.mark.parametrize("request_of", REQUESTS)
def test_the_present_epochs_are_obeyed(request_of: Callable[[], ControlRequest]) -> None:
    """So is a request that names no broker epoch, as old controllers send it, or the next one.

    The controller may hear of a registration before this broker does.
    """

    async def talk(
        replicas: ReplicaManager, control: ControlRequests, cluster: MetadataCache
    ) -> None:
        del replicas
        await control.serve(from_the_past(request_of(), controller=NOW, broker=NOW))
        await control.serve(from_the_past(request_of(), controller=NOW + 1, broker=-1))
        await control.serve(from_the_past(request_of(), controller=NOW + 2, broker=NEXT))
        assert cluster.controller_epoch == NOW + 2

    talk_of(talk)


def test_a_request_that_waited_for_settings_is_checked_again() -> None:
    """Meanwhile this broker may have registered anew: the request was for its life before."""

    async def talk(
        replicas: ReplicaManager, control: ControlRequests, cluster: MetadataCache
    ) -> None:
        class Slow(Tree):
            async def read_settings(self, topics: Mapping[str, TopicId]) -> None:
                await asyncio.sleep(0)
                cluster.broker_epoch = BrokerEpoch(NOW + 1)

        control = ControlRequests(cluster, replicas, Slow())
        with pytest.raises(StaleBrokerEpoch):
            await control.serve(from_the_past(lead(1), controller=NOW, broker=NOW))
        assert replicas.dirs.get(OTHER) is None
        assert cluster.controller_epoch == ControllerEpoch(NOW)

    talk_of(talk)


@pytest.mark.parametrize("request_of", REQUESTS)
def test_the_controller_in_this_process_is_answered_with_an_error(
    request_of: Callable[[], ControlRequest],
) -> None:
    """As it would be over the network: a message of its own that comes late ends no broker."""

    async def talk(
        replicas: ReplicaManager, control: ControlRequests, cluster: MetadataCache
    ) -> None:
        del cluster
        late = from_the_past(request_of(), controller=BEFORE, broker=NOW)
        answer = await control.serve_own(late)
        assert answer.error_code == StaleControllerEpoch.code  # type: ignore[attr-defined]
        assert replicas.led(ORDERS).leader_epoch == 3

    talk_of(talk)


def test_a_deletion_of_an_earlier_topic_that_comes_late_deletes_nothing() -> None:
    """It was sent again on another connection, and the topic has been made anew since."""

    async def talk(
        replicas: ReplicaManager, control: ControlRequests, cluster: MetadataCache
    ) -> None:
        del cluster
        late = stop(0, delete=True, epoch=DURING_DELETION, topic_id=SECOND_ID)
        await control.serve(late)
        assert replicas.led(ORDERS).leader_epoch == 3
        assert replicas.dirs.get(ORDERS) is replicas.led(ORDERS).log
        await control.serve(stop(0, delete=True, epoch=DURING_DELETION))
        assert replicas.dirs.get(ORDERS) is None

    talk_of(talk)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_log_that_the_controller_does_not_name_is_set_aside(*, is_gone: bool) -> None:
    """But only where the tree has no such topic: its znode may be one that cannot be read."""
    asked: list[str] = []

    class Empty(Tree):
        async def gone(self, topics: list[str]) -> frozenset[str]:
            asked.extend(topics)
            return frozenset(topics if is_gone else ())

    async def talk(
        replicas: ReplicaManager, control: ControlRequests, cluster: MetadataCache
    ) -> None:
        del control
        control = ControlRequests(cluster, replicas, Empty())
        await control.serve(metadata(0, 1, kind=FULL))
        assert asked == []
        successor = from_the_past(metadata(kind=FULL), controller=NOW + 1, broker=NOW)
        await control.serve(successor)
        assert asked == ["orders"]
        assert (replicas.dirs.get(ORDERS) is None) is is_gone
        kinds = [found.kind for log_dir in replicas.dirs.dirs for found in _names(log_dir)]
        assert kinds == [Kind.STRAY if is_gone else Kind.CURRENT]

    talk_of(talk)


def _names(log_dir: LogDir) -> Iterator[LogName]:
    """Of the logs that it has."""
    with looking_on():
        names = log_dir.disk.names("")
    for name in names:
        found = parse_log_name(name)
        if found is not None:
            yield found
