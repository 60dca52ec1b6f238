"""Leaders hear of brokers that come and go: some in each turn of the loop, and all in the end."""

import asyncio

import pytest

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions import isr_watch
from odradek.broker.partitions.isr_watch import IsrWatch
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.metadata.image import Changes
from odradek.metadata.nouns import Broker
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch, Offset
from odradek.replication.leadership import Leadership
from odradek.replication.progress import FollowerFetch
from tests.unit.broker.ground import ME, Ground, word

OTHER = BrokerId(2)
LIFE = BrokerEpoch(7)
LEADERS = 5


def orders(number: int) -> TopicPartition:
    """One of the partitions."""
    return TopicPartition("orders", number)


def live(cluster: MetadataCache, *brokers: Broker) -> None:
    """These live from now on."""
    cluster.update(Changes(cluster.image).brokers(brokers).image())


def test_many_leaders_hear_of_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fetched before it was known to live, and it goes and comes back: the last word counts."""
    monkeypatch.setattr(isr_watch, "LEADERS_AT_ONCE", 2)

    async def talk(replicas: ReplicaManager) -> None:
        cluster = MetadataCache()
        cluster.me = ME
        me, other = Broker(ME, ()), Broker(OTHER, (), epoch=LIFE)
        live(cluster, me)
        watch = IsrWatch(replicas, g.settings, g.machine.clock)
        cluster.watchers += [watch.on_metadata]
        leadership = Leadership(*word().leadership[:2], (ME, OTHER), (ME,))
        states = [word(orders(it))._replace(leadership=leadership) for it in range(LEADERS)]
        assert not await replicas.apply_leader_and_isr(states)
        fetch = FollowerFetch(OTHER, Offset(0), LeaderEpoch(0), eligible=False, broker_epoch=LIFE)
        for leading in replicas.all_led():
            leading.carry_out(leading.leader.on_follower_fetch(fetch, g.machine.clock.monotonic()))
        assert not g.proposals.made
        live(cluster, me, other)
        assert len(g.proposals.made) == 2
        live(cluster, me)
        live(cluster, me, other)
        for _ in range(3 * LEADERS):
            await asyncio.sleep(0)
        assert len(g.proposals.made) >= LEADERS
        for leading in replicas.all_led():
            follower = leading.leader._followers[OTHER]
            assert follower.eligible

    with Ground() as g:
        g.live(talk)
