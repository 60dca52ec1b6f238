"""What must go on after the last fault, and by when: leaders, coordinators, answers; then peace.

Soon each partition has a leader, each group a coordinator, and who asks them is answered. Some time
later all are served, all brokers agree, and no client that has asked before waits any longer. Then
the clients go, and what the brokers still say to each other has an end.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from odradek.client.admin.admin import partitions_of
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.errors import Refused
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.member import committed
from odradek.client.records.offsets import LATEST
from odradek.model.errors import ErrorCode
from odradek.model.units import Millis
from odradek.ports import Address
from odradek.sim.doors.loop import SECOND
from odradek.sim.history import TRAFFIC
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.cluster.clients.users import TOPICS
from odradek.sim.worlds.cluster.promises.settled import unsettled
from odradek.sim.worlds.cluster.view import ClusterView

PROGRESS_SECONDS: Final = 40
ASKED_SECONDS: Final = 40
AGAIN_MILLIS: Final = 1_000
RECOVERY_SECONDS: Final = 70
REQUEST_SECONDS: Final = 45
"""So long at most a request may wait: clients name up to thirty seconds for what takes long."""
GROUPS: Final = tuple(f"group-{number}" for number in range(6))
"""More than there are partitions of the topic that has their commits."""
CALM_SECONDS: Final = 3
QUIET_SECONDS: Final = 4
QUIET_MAX: Final = 10
"""How often in a second bytes may arrive for each pair of brokers where all rest: a fetch a second
and its answer, and what the controller and ZooKeeper have to say."""


class Recovery:
    """Of one world; each question says what is not as it should be, or nothing."""

    def __init__(
        self, world: World, view: ClusterView, clients: Machine, bootstrap: Sequence[Address]
    ) -> None:
        self._world, self._view, self._clients = world, view, clients
        self._bootstrap = list(bootstrap)

    def stands_still(self) -> str:
        """Soon everybody leads and coordinates, and answers."""
        if not self._becomes(lambda: not without_leader(self._view), PROGRESS_SECONDS):
            return f"{PROGRESS_SECONDS} seconds later {without_leader(self._view)}"
        asked = self._clients.spawn(self._ask_everybody())
        if not self._becomes(asked.done, ASKED_SECONDS):
            return f"{ASKED_SECONDS} seconds later somebody has not answered"
        asked.result()
        return ""

    async def _ask_everybody(self) -> None:
        """The end of each partition, and where groups are."""
        deps = ClientDeps(self._clients.network, self._clients.clock)
        cluster = Cluster(deps, self._bootstrap)
        try:
            while not await self._are_answered(cluster):
                clock = self._clients.clock
                await clock.sleep_until(Millis(clock.monotonic() + AGAIN_MILLIS))
        finally:
            cluster.close()

    async def _are_answered(self, cluster: Cluster) -> bool:
        """False where a broker does not know a topic: somebody mends its znode just now."""
        try:
            for topic in TOPICS:  # that nobody deletes meanwhile
                await offsets_at(cluster, await partitions_of(cluster, topic.name), LATEST)
            for group in GROUPS:
                await committed(cluster, group)
        except Refused as refusal:
            if refusal.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            return False
        return True

    def is_not_served(self, wanted: Collection[str]) -> str:
        """Each of these events comes once more."""
        served: set[str] = set()
        self._world.history.watch(lambda event: served.add(event.what), wanted)
        if self._becomes(lambda: served.issuperset(wanted), RECOVERY_SECONDS):
            return ""
        return f"no client noted {sorted({*wanted} - served)} in {RECOVERY_SECONDS} seconds"

    def is_unsettled(self) -> str:
        """All agree."""
        if self._becomes(lambda: not unsettled(self._view), RECOVERY_SECONDS):
            return ""
        return f"{RECOVERY_SECONDS} seconds later {unsettled(self._view)}"

    def waits(self) -> str:
        """No client has asked for something long ago."""
        return ", ".join(waiting_too_long(self._view))

    def is_restless(self) -> str:
        """What is too much where no client asks for anything: nothing goes round for ever."""
        self._clients.kill()
        self._world.run(seconds=CALM_SECONDS)
        counts = self._world.history.counts
        before = counts[TRAFFIC]
        self._world.run(seconds=QUIET_SECONDS)
        arrived = counts[TRAFFIC] - before
        pairs = len(self._view.brokers) * (len(self._view.brokers) - 1)
        if arrived > QUIET_SECONDS * pairs * QUIET_MAX:
            return f"{arrived} times bytes arrived in {QUIET_SECONDS} seconds in which all rest"
        return ""

    def _becomes(self, is_so: Callable[[], bool], seconds: int) -> bool:
        for _ in range(seconds):
            if is_so():
                return True
            self._world.run(seconds=1)
        return is_so()


def without_leader(view: ClusterView) -> str:
    """A partition without a leader that leads; nothing if each has one."""
    leads = {
        (replica.topic_id, replica.partition): number
        for number, broker in view.opened()
        for replica in broker.services_of_this_life.replicas.all_led()
    }
    for place, _ in view.places():
        state = view.state(place.partition)
        if state is None or state.leader is None or leads.get(place) != state.leader:
            return f"{place} has no leader: {state}"
    return ""


def waiting_too_long(view: ClusterView) -> Iterator[str]:
    """Requests that brokers have had for longer than anybody has patience."""
    for number, broker in view.opened():
        now = view.acting(number).machine.clock.micros()
        for connection in broker.socket_server.connections:
            for pending in connection.row:
                if now - pending.arrived_at > REQUEST_SECONDS * SECOND:
                    yield f"broker {number} has not answered request {pending.key}"
