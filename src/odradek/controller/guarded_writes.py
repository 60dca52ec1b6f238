"""The controller's writes: many partitions in few multis, none after its epoch is over.

Each multi begins with a check of /controller_epoch's version, so a controller that was replaced
writes nothing, whatever it believes. A multi does all or nothing: where one change of it has met
another version, the others are written again one by one, so that it harms only itself. Where the
answer was lost, what is in the tree is read back and compared: equal bytes are ours, because they
hold the controller epoch and the leader epoch, which no other controller writes.

    send ──all done──▶ Written
      ├──the guard failed──▶ deposed: stop
      ├──one of many failed──▶ send each alone ──▶ Written, Conflict or Failed
      └──no answer──▶ read back ──as we wrote it──▶ Written
                                ├──as it was before──▶ send again
                                └──another──▶ Conflict

What is together larger than a packet may be was not sent: it is sent in halves.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from odradek.controller.candidacy import ControllerLease
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import PartitionState
from odradek.metadata.znodes.cluster import ControllerEpochZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, PartitionZnode
from odradek.model.ids import TopicPartition
from odradek.model.positions import PartitionEpoch
from odradek.zookeeper.client.errors import (
    BadVersion,
    MultiFailed,
    NoAuth,
    NodeExists,
    NoNode,
    OperationError,
    OutcomeUnknown,
    RequestTooLarge,
)
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import (
    Check,
    Create,
    GetData,
    Multi,
    Request,
    SetData,
    WriteOp,
)

WRITES_PER_MULTI: Final = 100
"""Two hundred operations at most: as many small ones as one transaction takes well."""


class StateWrite(NamedTuple):
    """One partition's state as it shall become; its partition epoch is the znode's next version."""

    partition: TopicPartition
    state: PartitionState
    is_new: bool = False
    is_unclean: bool = False  # its leader was elected from outside the ISR

    @property
    def path(self) -> str:
        """Where the state is."""
        return PartitionStateZnode.path(self.partition)

    @property
    def data(self) -> bytes:
        """What shall be there."""
        return PartitionStateZnode.encode(self.state)

    def operations(self, *, parent: bool = True) -> tuple[WriteOp, ...]:
        """Replaces the version before; a new one is created, with the znode above it."""
        if not self.is_new:
            return (SetData(self.path, self.data, self.state.partition_epoch - 1),)
        create = Create(self.path, self.data, OPEN_ACL)
        above = Create(PartitionZnode.path(self.partition), None, OPEN_ACL)
        return (above, create) if parent else (create,)


class _Sent(NamedTuple):
    """One request of a round, and the writes that it is about; none for the znodes above."""

    request: Request
    writes: tuple[StateWrite, ...]
    refused: str | None = None  # a read-back after ZooKeeper refused the write for its own reason


class GuardedWrites:
    """One batch of writes, in rounds: `requests` to be sent together, then `on_answers`.

    It is over when a round has no requests. Then every write stands in `written`, in `conflicts`
    with the state that somebody else has written, or in `failed`; or `stopped` says why nothing
    more can be written, and `deposed` whether that is because another controller was elected.
    """

    def __init__(self, lease: ControllerLease, writes: Iterable[StateWrite]) -> None:
        self.written: list[StateWrite] = []
        self.conflicts: dict[TopicPartition, PartitionState] = {}
        self.failed: dict[TopicPartition, str] = {}
        self.stopped: str | None = None
        self.deposed = False
        self._guard = Check(ControllerEpochZnode.PATH, lease.epoch_version)
        self._round: list[_Sent] = []
        self._next = list(self._first_round(list(writes)))

    def requests(self) -> list[Request]:
        """The next round, in order; empty at the end."""
        self._round, self._next = ([] if self.stopped else self._next), []
        return [sent.request for sent in self._round]

    def on_answers(self, answers: Sequence[Answer]) -> None:
        """The answers to a round, in its order."""
        for sent, answer in zip(self._round, answers, strict=True):
            if isinstance(sent.request, GetData):
                self._on_read_back(sent, answer)
            elif isinstance(answer, MultiFailed):
                self._on_failure(sent, answer)
            elif isinstance(answer, OutcomeUnknown):
                self._next += self._read_back(sent)
            elif isinstance(answer, RequestTooLarge) and sent.writes:
                self._on_too_large(sent.writes, answer)
            elif isinstance(answer, OperationError):
                self.stopped = str(answer)
            else:
                self.written += sent.writes

    def _first_round(self, writes: list[StateWrite]) -> Iterator[_Sent]:
        topics = sorted({write.partition.topic for write in writes if write.is_new})
        for topic in topics:
            above = Create(PartitionZnode.parent(topic), None, OPEN_ACL)
            yield _Sent(Multi((self._guard, above)), ())
        for at in range(0, len(writes), WRITES_PER_MULTI):
            yield self._together(tuple(writes[at : at + WRITES_PER_MULTI]))

    def _together(self, writes: tuple[StateWrite, ...], *, parent: bool = True) -> _Sent:
        operations = [it for write in writes for it in write.operations(parent=parent)]
        return _Sent(Multi((self._guard, *operations)), writes)

    def _on_too_large(self, writes: tuple[StateWrite, ...], error: RequestTooLarge) -> None:
        if len(writes) == 1:
            self.failed[writes[0].partition] = str(error)
            return
        middle = len(writes) // 2
        self._next += [self._together(writes[:middle]), self._together(writes[middle:])]

    def _on_failure(self, sent: _Sent, failure: MultiFailed) -> None:
        if failure.index == 0:
            self.stopped = f"another controller has taken over: {failure.cause}"
            self.deposed = True
        elif len(sent.writes) > 1:
            self._next += [self._together((write,)) for write in sent.writes]
        elif sent.writes:
            self._on_lonely_failure(sent, failure)
        # else what is above the partitions of a topic: it exists, or each of its writes will fail

    def _on_lonely_failure(self, sent: _Sent, failure: MultiFailed) -> None:
        """Perhaps a controller before us made the znode above, or we ourselves both of them."""
        (write,) = sent.writes
        assert isinstance(sent.request, Multi), sent
        has_parent = len(sent.request.ops) > 2
        if isinstance(failure.cause, NodeExists) and has_parent and failure.index == 1:
            self._next.append(self._together((write,), parent=False))
        elif isinstance(failure.cause, BadVersion | NodeExists):
            self._next.append(_Sent(GetData(write.path), (write,)))
        else:
            self._next.append(_Sent(GetData(write.path), (write,), str(failure)))

    def _read_back(self, sent: _Sent) -> list[_Sent]:
        if not sent.writes:
            return [sent]
        return [_Sent(GetData(write.path), (write,)) for write in sent.writes]

    def _on_read_back(self, sent: _Sent, answer: Answer) -> None:
        (write,) = sent.writes
        if isinstance(answer, Data):
            self._compare(write, answer, sent.refused)
        elif isinstance(answer, OutcomeUnknown):
            self._next.append(sent)
        elif isinstance(answer, NoNode) and write.is_new and sent.refused is None:
            self._next.append(self._together((write,)))
        elif isinstance(answer, NoNode | NoAuth):
            self.failed[write.partition] = sent.refused or str(answer)
        else:
            self.stopped = str(answer)

    def _compare(self, write: StateWrite, found: Data, refused: str | None) -> None:
        version = PartitionEpoch(found.stat.version)
        if found.data == write.data:
            self.written.append(write._replace(state=write.state._replace(partition_epoch=version)))
        elif not write.is_new and version == write.state.partition_epoch - 1:
            if refused is None:
                self._next.append(self._together((write,)))
            else:
                self.failed[write.partition] = refused
        else:
            try:
                self.conflicts[write.partition] = PartitionStateZnode.decode(
                    write.partition, found.data, version
                )
            except MalformedZnode as fault:
                self.failed[write.partition] = str(fault)
