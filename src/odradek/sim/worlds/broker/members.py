"""A member of a group: reads, commits, and now and then sleeps until the others have given it up.

Noted: `client.joins` before a member joins; `client.joined` generation and partitions;
`client.found` topic, partition and position where it goes on; `client.polled` topic, partition,
offsets with their values, and the leader epoch that was asked; `client.commits` generation, before
a commit, and `client.committed` each position after it. A refusal is not noted.
"""

from collections.abc import Awaitable, Callable, Mapping
from itertools import groupby
from typing import Final

from odradek.client.cluster import Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.member import Member, starting_positions
from odradek.client.records.offsets import EARLIEST
from odradek.client.records.reader import Found, Reader
from odradek.model.ids import TopicPartition
from odradek.model.units import SECOND, Millis
from odradek.sim.doors.chance import SeededRandom

GROUP: Final = "shop"
TOPICS: Final = ("orders",)
SESSION_TIMEOUT: Final = Millis(3 * SECOND)
SLEEPS_ONE_IN: Final = 6
SLEEP_MILLIS_MAX: Final = 8_000

Note = Callable[..., None]
Rest = Callable[[int], Awaitable[None]]


class GroupLife:
    """One consumer, who joins again whenever its life begins anew."""

    def __init__(self, name: str, note: Note, chance: SeededRandom, rest: Rest) -> None:
        self._name, self._note, self._chance, self._rest = name, note, chance, rest
        self.instance_id: str | None = None  # of a static member

    async def consume(self, cluster: Cluster) -> None:
        """Until the generation is over, or something fails."""
        member = Member(
            cluster,
            GROUP,
            TOPICS,
            session_timeout=SESSION_TIMEOUT,
            instance_id=self.instance_id,
        )
        self._tell("client.joins")
        assigned = await member.join()
        self._tell("client.joined", member.generation, tuple(map(str, sorted(assigned))))
        positions = await starting_positions(cluster, GROUP, assigned)
        for partition, position in sorted(positions.items()):
            self._tell("client.found", *partition, position)
        reader = Reader(cluster, await self._kept(cluster, positions))
        while await member.still_belongs():
            if positions:
                self._tell_found(await reader.poll(200), reader)
            if self._chance.one_in(SLEEPS_ONE_IN):
                await self._rest(SLEEP_MILLIS_MAX)
            self._tell("client.commits", member.generation)
            await member.commit(reader.positions)
            for partition, position in sorted(reader.positions.items()):
                self._tell("client.committed", *partition, position)
            await self._rest(SECOND)

    async def _kept(
        self, cluster: Cluster, positions: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Where what was deleted meanwhile ends, if that is further: as consumers are told to."""
        if not positions:
            return {}
        starts = await offsets_at(cluster, positions, EARLIEST)
        return {it: max(position, starts[it]) for it, position in positions.items()}

    def _tell_found(self, found: list[Found], reader: Reader) -> None:
        for partition, some in groupby(found, key=lambda it: it.partition):
            records = [(it.record.offset, (it.record.value or b"").decode()) for it in some]
            leader_epoch = reader.leader_epochs[partition]
            self._tell("client.polled", *partition, tuple(records), leader_epoch)

    def _tell(self, what: str, *details: object) -> None:
        self._note(self._name, what, *details)
