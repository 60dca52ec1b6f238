"""Batches that were not written, and those who wait for them."""

import errno
from collections.abc import Callable

from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.replica import Patience
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import Timestamp
from odradek.records.batch import read_header
from odradek.sim.doors.disk_faults import Fault
from tests.unit.broker.ground import ORDERS, Ground, batch_of, until, word


class Heard:
    """A producer's request: what it was told of its batches."""

    def __init__(self) -> None:
        self.told: list[tuple[int, ErrorCode]] = []
        self.then: Callable[[], None] = lambda: None  # what comes next in that turn

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """Notes it."""
        self.told.append((place, ErrorCode.NONE if error is None else ErrorCode(error.code)))
        if place == 0:
            self.then()

    def on_stuck(self, place: int, patience: Patience) -> None:
        """It waits on."""


def test_a_duplicate_of_a_lost_batch_is_not_taken_for_what_comes_in_its_place() -> None:
    """The next batch gets the offsets of the lost one, in the turn in which its duplicate waits."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        led, heard = replicas.led(ORDERS), Heard()

        def append(place: int, producer_id: int) -> None:
            batch = batch_of("a" * 1_000, producer_id=producer_id, base_sequence=0)
            led.append(batch, read_header(batch), heard, place, now=Timestamp(1_000))

        where = led.log.folder.disk.name.rpartition("/")[2]
        faults = ground.machine.disk(where).faults
        faults.rows.append(Fault(calls=frozenset({"write"}), error=errno.ENOSPC, times=1))
        append(0, producer_id=7)
        await until(lambda: led.log.broken)
        append(1, producer_id=7)
        heard.then = lambda: append(2, producer_id=8)
        await until(lambda: len(heard.told) == 3)
        error = ErrorCode.KAFKA_STORAGE_ERROR
        assert heard.told == [(0, error), (1, error), (2, ErrorCode.NONE)]

    with Ground() as ground:
        ground.live(talk)
