"""Wrong rules of the controller, of brokers that obey it, and of what they tell each other."""

from collections.abc import Mapping
from typing import Any, Final

from odradek.broker.control import broker_session
from odradek.broker.control.broker_session import BrokerSession
from odradek.broker.control.controller_loop import ControllerLoop
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.registration import Registration
from odradek.broker.partitions import replica_manager
from odradek.broker.partitions.replicas.hosted import Hosted, LeaderAndIsrState, Role
from odradek.controller import guarded_writes
from odradek.controller.context import ControllerContext
from odradek.controller.decisions import deletions, elections, in_sync
from odradek.controller.guarded_writes import GuardedWrites, StateWrite
from odradek.controller.steps import StatesWritten, Steps
from odradek.metadata.nouns import Broker
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicId
from odradek.model.positions import BrokerEpoch, ControllerEpoch
from odradek.sim.simulation import Knob
from odradek.zookeeper.client import session
from odradek.zookeeper.protocol.codes import ANY_VERSION
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Check, Exists, SetData, WriteOp


def _alive(
    _context: ControllerContext, online: frozenset[BrokerId], isr: tuple[BrokerId, ...], _: object
) -> bool:
    """In whichever life the leader saw it catch up (before KIP-903)."""
    return online.issuperset(isr)


def of_any_version(write: StateWrite, *, parent: bool = True) -> tuple[WriteOp, ...]:
    """The last writer is right."""
    if write.is_new:
        return _operations(write, parent=parent)
    return (SetData(write.path, write.data, ANY_VERSION),)


def unguarded(path: str, _version: int) -> Check:
    """A controller goes on after its lease: whatever the epoch, it writes."""
    return Check(path, ANY_VERSION)


def any_epoch_obeyed(
    cluster: MetadataCache, controller_epoch: ControllerEpoch, _broker_epoch: BrokerEpoch
) -> None:
    """Also controllers of the past, and words for an earlier life (before KIP-380)."""
    cluster.controller_epoch = controller_epoch


def _any_life(
    cluster: MetadataCache, controller_epoch: ControllerEpoch, _broker_epoch: BrokerEpoch
) -> None:
    """Also words for an earlier life (before KIP-380)."""
    _check(cluster, controller_epoch, cluster.broker_epoch)


def any_role(_hosted: Hosted | None, state: LeaderAndIsrState, me: BrokerId) -> Role | ErrorCode:
    """Whatever the leader epoch."""
    return Role.LEAD if state.leader == me else Role.FOLLOW


def _any_stop(*_: object) -> None:
    """A replica is given up in whichever leader epoch that was said (before KIP-570)."""


def _none_unclean(*_: object) -> frozenset[BrokerId]:
    """A broker whose log lacks records is as good as a whole one."""
    return frozenset()


def _never(*_: object) -> bool:
    """Nothing is asked of a leader's log."""
    return False


async def _stay(*_: object) -> None:
    """It could not write, and remains the controller."""


def _tell_nobody(*_: object) -> None:
    """The session is over, and what acted because of it goes on."""


def _forget_conflicts(_context: ControllerContext, _outcome: StatesWritten) -> Steps[None]:
    """What another has written meanwhile is not read."""
    yield from ()


def _fail(writes: GuardedWrites, sent: Any) -> list[Any]:
    """A write that was not answered was not done."""
    for write in sent.writes:
        writes.failed[write.partition] = "no answer"
    return []


async def _take_away(registration: Registration, broker: Broker, found: Data) -> bool:
    """A process with our id is a former life of ours."""
    await registration._client.delete(BrokerZnode.path(broker.id), found.stat.version)  # noqa: SLF001 - the wrong rule
    return True


class _Elsewhere:
    """The settings of a deleted topic stay."""

    @staticmethod
    def path(entity: Any) -> str:
        return f"/config/nowhere/{entity.name}"


async def _by_name(session: BrokerSession, topics: Mapping[str, TopicId]) -> None:
    """Settings that are known are those of the topic, whichever it is now."""
    knows = session._settings.knows  # noqa: SLF001 - the wrong rule
    unknown = {it: topics[it] for it in topics if not knows(Entity(EntityType.TOPICS, it))}
    await _read_settings(session, unknown)


_read_settings = BrokerSession.read_settings
_operations = StateWrite.operations
_check = MetadataCache.check

CONTROL_MISTAKES: Final[Mapping[str, Knob]] = {
    "isr-of-another-life": Knob(in_sync, "_may_be_members", _alive),
    "states-without-versions": Knob(StateWrite, "operations", of_any_version),
    "controller-after-its-lease": Knob(guarded_writes, "Check", unguarded),
    "past-controllers-are-obeyed": Knob(MetadataCache, "check", any_epoch_obeyed),
    "words-for-an-earlier-life-are-obeyed": Knob(MetadataCache, "check", _any_life),
    "leader-epochs-do-not-fence": Knob(replica_manager, "decide_role", any_role),
    "stopped-in-any-leader-epoch": Knob(replica_manager, "decide_stop", _any_stop),
    "unclean-before-whole": Knob(ControllerContext, "unclean", _none_unclean),
    "leaders-need-not-be-whole": Knob(ControllerContext, "must_be_whole", _never),
    "no-resignation": Knob(ControllerLoop, "_end_lease", _stay),
    "an-expiry-tells-nobody": Knob(ControllerLoop, "on_session_over", _tell_nobody),
    "conflicts-are-not-read": Knob(elections, "_look_again", _forget_conflicts),
    "no-answer-is-a-failure": Knob(GuardedWrites, "_read_back", _fail),
    "every-registration-is-our-own": Knob(Registration, "_takes_away_former_life", _take_away),
    "a-server-that-does-not-serve-is-kept": Knob(session, "DOES_NOT_SERVE", frozenset()),
    "settings-outlive-their-topic": Knob(deletions, "SettingsZnode", _Elsewhere),
    "settings-are-of-a-name": Knob(BrokerSession, "read_settings", _by_name),
    "no-server-lags": Knob(broker_session, "Sync", Exists),
}
"""By name."""
