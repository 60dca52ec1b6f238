"""What the controller's core asks of the loop around it, one step after the other.

A decision is a generator: it yields a step, is sent what came of it, and goes on. So it can write,
look at the outcome and decide again without knowing of tasks or connections, and a test carries
the steps out on a tree of its own. Nothing here waits for a broker: messages are handed to its
channel, and its answer comes back later as an event.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from odradek.controller.guarded_writes import StateWrite
from odradek.metadata.nouns import Broker, PartitionState
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Millis
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.jute_requests import Multi, Request

Message = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


class WriteStates(NamedTuple):
    """States of partitions, guarded by the controller's epoch; `StatesWritten` comes back."""

    writes: tuple[StateWrite, ...]


class StatesWritten(NamedTuple):
    """What came of `WriteStates`: every partition stands in one of the three."""

    written: Sequence[StateWrite] = ()
    conflicts: Mapping[TopicPartition, PartitionState] = {}  # what somebody else has written
    failed: Mapping[TopicPartition, str] = {}  # why it could not be written at all


class Commit(NamedTuple):
    """Writes of any other kind, each multi guarded by the controller's epoch; answers come back.

    The places of failed operations are counted without the guard.
    """

    multis: tuple[Multi, ...]


class Read(NamedTuple):
    """Reads of the tree, sent together; their answers come back, in the same order."""

    requests: tuple[Request, ...]


class Attempt(NamedTuple):
    """One multi that guards itself, because the controller is not elected yet."""

    multi: Multi


class Connect(NamedTuple):
    """These brokers are alive from now on: messages to all others are dropped."""

    brokers: Mapping[BrokerId, Broker]


class Send(NamedTuple):
    """Messages for the channels of brokers, in this order, each with its receivers."""

    messages: tuple[tuple[tuple[BrokerId, ...], Message], ...]


class TopicIsMade(NamedTuple):
    """A topic was made with these settings; this broker need not read them."""

    name: str
    settings: Mapping[str, str]
    written_at: int  # the transaction that made both: what was read before is older


class TopicIsGone(NamedTuple):
    """The znodes of a topic were deleted; what this broker remembers of it is worth nothing."""

    name: str


class Note(NamedTuple):
    """Something that an operator may want to read in the log."""

    event: str
    fields: Mapping[str, Any]


class Remind(NamedTuple):
    """This event is posted after a while, unless this controller has ended before."""

    after: Millis
    event: Any


PAUSE: Final = Send(())
"""Nothing is sent, and others have their turn of the loop; the controller decides nothing else."""
ROWS_IN_A_TURN: Final = 1_000
"""Partitions that are looked at before a pause, or named in messages: some five milliseconds."""

Step = (
    WriteStates
    | Commit
    | Read
    | Attempt
    | Connect
    | Send
    | TopicIsMade
    | TopicIsGone
    | Note
    | Remind
)
R = TypeVar("R")
Steps = Generator[Step, Any, R]


def write_states(writes: Sequence[StateWrite]) -> Steps[StatesWritten]:
    """Writes them, and says what came of it."""
    outcome = yield WriteStates(tuple(writes))
    assert isinstance(outcome, StatesWritten), outcome
    return outcome


def commit(*multis: Multi) -> Steps[list[Answer]]:
    """Writes them, each all or nothing, and returns their answers."""
    if not multis:
        return []
    answers: list[Answer] = yield Commit(multis)
    return answers


def read(*requests: Request) -> Steps[list[Answer]]:
    """Reads them, and returns their answers."""
    if not requests:
        return []
    answers: list[Answer] = yield Read(requests)
    return answers
