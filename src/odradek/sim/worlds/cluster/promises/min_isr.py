"""Which min.insync.replicas held where an acknowledgement was decided: that of the leader itself.

A leader acts on what it has heard of: the value of its topic, its own, that of all brokers, that of
its file. It is capped by the replicas that it knows of, and is not below the number under which the
state names others eligible. What others would ask for says nothing, so here stands, for each
partition, from when on the leader had which value; the lowest one where several believe to lead.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from odradek.broker.broker import Broker
from odradek.config.rows.topic import MIN_INSYNC_REPLICAS
from odradek.metadata.nouns import PartitionState
from odradek.sim.doors.loop import SECOND
from odradek.sim.worlds.cluster.view import ClusterView, Place

EVERY_MICROS: Final = SECOND // 5
UNKNOWN: Final = 1  # until somebody leads


class Held(NamedTuple):
    """A value, and since when."""

    since: int
    value: int


class MinIsrs:
    """Of every partition, as far back as it was looked at."""

    def __init__(self, view: ClusterView, now: Callable[[], int]) -> None:
        self._view, self._now = view, now
        self._states: Mapping[Place, PartitionState] = {}  # as of the last look
        self._due = 0  # the next one, whether or not the tree changes
        self._held: dict[Place, list[Held]] = {}  # in the order of time
        self._brokers: Mapping[int, Broker] = {}  # that run
        self._of_topics: dict[str, Mapping[int, int]] = {}  # what each broker asks for, of each

    def look_if_due(self) -> None:
        """The tree has changed, or what leaders know of it may have."""
        if self._view.states() is not self._states or self._now() >= self._due:
            self.look()

    def look(self) -> None:
        """Of all, by who leads and what they know now."""
        self._states, self._due = self._view.states(), self._now() + EVERY_MICROS
        opened = dict(self._view.opened())
        if opened != self._brokers:
            self._watch(opened)
        known: dict[Place, dict[int, int]] = {}
        for number, broker in opened.items():
            for replica in broker.services_of_this_life.replicas.all_led():
                place = Place(replica.topic_id, replica.partition)
                known.setdefault(place, {})[number] = replica.leader.replica_count
        for place, state in self._states.items():
            self._note(place, state, known.get(place, {}))

    def elects(self, place: Place, state: PartitionState) -> None:
        """It stands in the tree: who is named there may lead, and have stopped, before a look."""
        self._note(place, state, {})

    def lowest(self, place: Place, since: int) -> int:
        """That held at that moment, or later."""
        held = self._held.get(place, [])
        lowest = held[-1].value if held else UNKNOWN
        for moment, value in reversed(held):
            lowest = min(lowest, value)
            if moment <= since:
                break
        return lowest

    def _watch(self, opened: Mapping[int, Broker]) -> None:
        """A value may come and go between two looks."""
        for number, broker in opened.items():
            if self._brokers.get(number) is not broker:
                broker.settings.topic_watchers.append(self._on_settings)
                broker.settings.broker_watchers.append(self._on_settings)
        self._brokers = opened
        self._of_topics.clear()

    def _on_settings(self, _what: object) -> None:
        self._of_topics.clear()
        self.look()

    def _note(self, place: Place, state: PartitionState, leaders: Mapping[int, int]) -> None:
        asked = self._asked(place.partition.topic)
        values = [min(asked[it], count) for it, count in leaders.items()]
        if state.leader is not None and state.leader not in leaders and state.leader in asked:
            values.append(asked[state.leader])
        if not values:
            return
        held, value = self._held.setdefault(place, []), max(min(values), state.eligible_min_isr)
        if not held or held[-1].value != value:
            held.append(Held(self._now(), value))

    def _asked(self, topic: str) -> Mapping[int, int]:
        found = self._of_topics.get(topic)
        if found is None:
            found = self._of_topics[topic] = {
                number: broker.settings.topic(topic)[MIN_INSYNC_REPLICAS]
                for number, broker in self._brokers.items()
            }
        return found
