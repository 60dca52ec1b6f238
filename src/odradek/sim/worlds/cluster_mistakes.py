"""Rules of a cluster turned into wrong ones, each of which the world's promises must notice.

A mistake stands for what somebody might write in good faith, or for what Kafka did before the KIP
that is named.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from odradek.controller.context import ControllerContext
from odradek.controller.decisions import broker_changes, deletions
from odradek.controller.phases import ReplicaPhase
from odradek.controller.steps import Steps
from odradek.metadata.delta import BrokersDelta, brokers_delta
from odradek.metadata.nouns import Broker
from odradek.model.ids import BrokerId, TopicPartition
from odradek.replication.following import Follower, FollowerEffects
from odradek.replication.leader import Leader
from odradek.sim.simulation import Knob
from odradek.storage.dirs.dir_unclean_logs import DirUncleanLogs
from odradek.storage.files.unclean_logs import Unclean


def _begin_at_high_watermark(follower: Any) -> FollowerEffects:
    """What it has beyond that is not believed (before KIP-101)."""
    effects: FollowerEffects = follower._cut_at_high_watermark()  # noqa: SLF001 - the wrong rule
    return effects


def _own_end(leader: Leader, _now: int) -> int:
    """What the leader has is committed."""
    return leader.log_end_offset


def _one(_leader: Leader) -> int:
    """A leader alone is enough."""
    return 1


def _no_bounce(old: Mapping[BrokerId, Broker], new: Mapping[BrokerId, Broker]) -> BrokersDelta:
    """A broker that is registered again was never away."""
    return replace(brokers_delta(old, new), bounced=())


def _none_of(_log_dir: DirUncleanLogs) -> dict[TopicPartition, Unclean]:
    """Nothing was in the page cache alone."""
    return {}


def _nothing(*_: object) -> None:
    """No log is noted as one that may lack records."""


def _finish_at_once(context: ControllerContext, name: str) -> Steps[None]:
    """A topic is gone as soon as its brokers were told."""
    deletion = context.deletions.get(name)
    if deletion is not None:
        for replica in deletion.replicas:
            deletion.replicas[replica] = ReplicaPhase.DELETION_SUCCESSFUL
    yield from _finish_if_done(context, name)


_finish_if_done = deletions.finish_if_done

MISTAKES: Final[Mapping[str, Knob]] = {
    "truncate-to-high-watermark": Knob(Follower, "begin", _begin_at_high_watermark),
    "committed-by-the-leader-alone": Knob(Leader, "_smallest_end", _own_end),
    "no-minimum-of-replicas": Knob(Leader, "min_isr", property(_one)),
    "a-bounce-is-nothing": Knob(broker_changes, "brokers_delta", _no_bounce),
    "page-cache-trusted": Knob(DirUncleanLogs, "_unflushed", _none_of),
    "unclean-logs-forgotten": Knob(DirUncleanLogs, "_settle_unclean", _nothing),
    "deleted-before-all-replicas-are": Knob(deletions, "finish_if_done", _finish_at_once),
}
"""By name."""
