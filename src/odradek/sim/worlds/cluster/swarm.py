"""Which of the rarer faults a world of several brokers has."""

from collections.abc import Callable, Sequence
from typing import Final

from odradek.sim.doors.chance import SeededRandom
from odradek.sim.faults import Fault
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.worlds.cluster.misfortunes.changes import changes_of
from odradek.sim.worlds.cluster.misfortunes.damage import BitRotInOne, NonsenseInTree, ReplacedDisk
from odradek.sim.worlds.cluster.misfortunes.ensemble import (
    LaggingServer,
    RefusedClients,
    RefusedRequests,
)
from odradek.sim.worlds.cluster.misfortunes.pairs import SecondStrike
from odradek.sim.worlds.cluster.misfortunes.rare_faults import (
    BouncedFollower,
    ClusterFault,
    DeletedController,
    KilledController,
    LongAbsence,
    OfCluster,
    OtherAddress,
    RollingRestart,
)
from odradek.sim.worlds.cluster.misfortunes.twins import SecondProcess

MISFORTUNES: Final[Sequence[type[ClusterFault]]] = (
    KilledController,
    BouncedFollower,
    RollingRestart,
    OtherAddress,
    LongAbsence,
    ReplacedDisk,
    BitRotInOne,
    NonsenseInTree,
)
MISFORTUNES_IN_A_WORLD: Final = 2
SECOND_PROCESS_ONE_IN: Final = 4  # worlds
DELETED_CONTROLLER_ONE_IN: Final = 2  # worlds
REFUSALS_ONE_IN: Final = 2  # worlds
LAG_ONE_IN: Final = 2  # worlds


def misfortunes(
    cluster: OfCluster,
    chance: SeededRandom,
    second: Callable[[int, str], BrokerMachine],
) -> list[Fault]:
    """A few of them: they are hard to survive all at once, and to be understood."""
    which, left = chance.stream("misfortunes"), list(MISFORTUNES)
    drawn = (left.pop(which.below(len(left))) for _ in range(MISFORTUNES_IN_A_WORLD))
    found: list[Fault] = [fault(cluster) for fault in drawn]
    if chance.stream("second").one_in(SECOND_PROCESS_ONE_IN):
        found.append(SecondProcess(cluster, second))
    if chance.stream("pairs").below(2):
        found.append(SecondStrike(cluster))
    if chance.stream("deleted").one_in(DELETED_CONTROLLER_ONE_IN):
        found.append(DeletedController(cluster))
    if chance.stream("refusals").one_in(REFUSALS_ONE_IN):
        found += (RefusedRequests(cluster), RefusedClients(cluster))
    if chance.stream("lag").one_in(LAG_ONE_IN):
        found.append(LaggingServer(cluster))
    return [*found, *changes_of(cluster, chance.stream("changes"))]
