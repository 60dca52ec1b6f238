"""What a cluster promises its clients and administrators, whatever happens to its parts."""

from typing import Any, ClassVar

from odradek.sim.client_history import Place
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.broker_promises import ClientsAreToldOneStory
from odradek.sim.worlds.cluster_clients import COPIED, PLAIN, SYNCED
from odradek.sim.worlds.cluster_insides import Copies
from odradek.sim.worlds.cluster_view import ClusterView


class ClusterTellsOneStory(ClientsAreToldOneStory):
    """All that clients are told of logs can be true: nothing is lost, doubled, moved, invented.

    An acknowledgement by all is believed until the records may be lost; that of a leader alone
    says nothing. It also means that the record is committed, which `Copies` is told. What is read
    from a leader of the time before they may be lost is not believed: it may not have heard yet
    that another was elected, and what it has will be cut off.
    """

    watches: ClassVar = frozenset(
        {
            *("client.sends", "client.acked", "client.looks", "client.found"),
            *("client.read", "client.polled", "records.may_be_lost"),
        }
    )

    def __init__(self, copies: Copies) -> None:
        super().__init__(once={SYNCED, COPIED})
        self._copies = copies
        self._sent: dict[Any, int] = {}  # when, by the first record of what is sent at once

    def _is_believed(self, place: Place, leader_epoch: int) -> bool:
        lost_in = self._copies.lost_in(*place)
        return lost_in is None or leader_epoch > lost_in

    def _on_written(self, event: Event) -> None:
        match event.what, event.details:
            case "records.may_be_lost", (topic,):
                self._history.lost({topic})
            case "client.sends", (topic, number, values):
                self._history.sends(values[0].partition("/")[0], (topic, number), values)
                self._sent[values[0]] = event.moment
            case "client.acked", (topic, number, base, values):
                if topic != PLAIN:
                    self._history.acknowledged((topic, number), base, values)
                    sent = self._sent.get(values[0])
                    if sent is not None:
                        self._copies.acknowledged(topic, number, base + len(values), sent)


class GrowthStays(Invariant):
    """A topic that two let grow has as many partitions as either was told, or more."""

    watches: ClassVar = frozenset({"topic.outgrew", "looks"})

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._told: dict[str, int] = {}

    def on(self, event: Event) -> None:
        """Compares with the tree."""
        if event.what == "topic.outgrew":
            topic, count = event.details
            self._told[topic] = max(count, self._told.get(topic, 0))
            return
        topics = self._view.topics()
        for topic, count in self._told.items():
            found = len(topics[topic].partitions)
            assert found >= count, f"{topic} has {found} partitions, and was told to have {count}"


class TrimsHold(Invariant):
    """Where records were deleted, the log begins as far up as was asked for, or further."""

    watches: ClassVar = frozenset({"log.trimmed"})

    def on(self, event: Event) -> None:
        """What the answer says, and what is told right after."""
        partition, before, told, found = event.details
        assert min(told, found) >= before, (
            f"{partition} was trimmed to {before}: the answer says {told}, and it begins at {found}"
        )
