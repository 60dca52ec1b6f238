"""Notes how partitions stand in ZooKeeper's tree, whenever that changes: for timelines, and floors.

`partition.state` has partition, leader or -1, leader epoch and ISR; no ISR once it is deleted.
`leader.changed` and `isr.changed` have the partition; `log.truncated` and `log.compacted` what the
product's log says of them.
"""

from typing import Final

from odradek.metadata.nouns import PartitionState
from odradek.model.ids import NO_BROKER, TopicPartition
from odradek.sim.history import Event, History
from odradek.sim.picture import STATE
from odradek.sim.worlds.cluster.view import ClusterView

LOGGED: Final = frozenset({"log.truncated", "log.compacted"})


class StateNotes:
    """Looks after each event; the transaction of the tree says whether there is anything new."""

    def __init__(self, view: ClusterView, history: History) -> None:
        self._view, self._history = view, history
        self._zxid = 0
        self._known: dict[TopicPartition, tuple[object, ...]] = {}
        self._states: dict[TopicPartition, PartitionState] = {}  # what that was read from
        history.watch(self._look)
        history.watch(self._on_line, {"log"})

    def _look(self, event: Event) -> None:
        if event.what == STATE or self._view.zxid == self._zxid:
            return
        self._zxid = self._view.zxid
        places = dict.fromkeys(place.partition for place, _ in self._view.places())
        for gone in [it for it in self._known if it not in places]:
            del self._known[gone], self._states[gone]
            self._history.note("world", STATE, str(gone), -1, -1, ())
        for place, state in self._view.states().items():
            partition = place.partition
            if self._states.get(partition) is state:
                continue
            self._states[partition] = state
            leader = NO_BROKER if state.leader is None else int(state.leader)
            told = (leader, int(state.leader_epoch), tuple(map(int, state.isr)))
            if self._known.get(partition) != told:
                before, self._known[partition] = self._known.get(partition), told
                if before is not None:
                    self._note_changes(str(partition), before, told)
                self._history.note("world", STATE, str(partition), *told)

    def _note_changes(
        self, partition: str, before: tuple[object, ...], now: tuple[object, ...]
    ) -> None:
        if now[0] not in {before[0], NO_BROKER}:
            self._history.note("world", "leader.changed", partition)
        if now[2] != before[2]:
            self._history.note("world", "isr.changed", partition)

    def _on_line(self, event: Event) -> None:
        if event.details[1] in LOGGED:
            self._history.note(event.who, event.details[1])
