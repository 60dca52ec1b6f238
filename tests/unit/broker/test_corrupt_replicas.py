"""What is found in a log that does not go on as it was."""

from functools import partial

from structlog.testing import capture_logs

from odradek.broker.fetching.checked_reads import CheckedRead, ReadRange
from odradek.broker.partitions.corrupt_replicas import CorruptReplicas
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.resignations import Resignations
from odradek.model.ids import BrokerId
from odradek.model.positions import Offset
from odradek.ports import FileRange
from odradek.sim.doors.lending import looking_on
from odradek.storage.errors import CorruptFile
from tests.unit.broker.ground import ORDERS, Appender, Ground, batch_of, until, word
from tests.unit.broker.test_replicas import settled
from tests.unit.broker.test_role_changes import worker_of


def test_what_is_found_while_a_log_is_cut_does_not_count() -> None:
    """A look that ended before is heard of late; what is left of the log is read again."""

    async def talk(replicas: ReplicaManager) -> None:
        resignations = Resignations(replicas, ground.cluster, lambda: None)
        sick = CorruptReplicas(replicas, ground.cluster, resignations, lambda _: None)
        await replicas.apply_leader_and_isr([word()])
        for value in "ab":
            Appender(replicas.led(ORDERS)).append(batch_of(value))
        await settled(replicas)
        await replicas.apply_leader_and_isr([word(epoch=1, leader=BrokerId(2))])
        found, worker = replicas.dirs.get(ORDERS), worker_of(replicas, ORDERS)
        assert found is not None
        with looking_on():
            segment, path = found.active_segment, found.path_of(Offset(0))
            whole = FileRange(segment.file, 0, segment.size)
        ground.machine.disk(found.folder.disk.name.rpartition("/")[2]).flip(path, 70, 0)
        error = CorruptFile(path, 0, "it fails its checksum")
        read = CheckedRead(ReadRange(found, Offset(0), whole), sick.on_corrupt, lambda: None)
        with looking_on():
            read.run()
        worker.hang(2)  # what was decided before is waited for by two jobs
        cutting = replicas.lane_of(found).run(partial(replicas.logs.truncate, found, Offset(1)))
        await until(lambda: found.lent_to is not None)
        read.done(None)
        sick.on_corrupt_file(found, error)
        worker.go_on()
        await cutting
        assert (found.log_end_offset, found.corrupt) == (1, None)
        with capture_logs() as events:
            sick.on_corrupt_file(found, error)
            await until(lambda: found.corrupt is not None)
        told = [(it["log_dir"], it["file"]) for it in events if it["event"] == "log.corrupt"]
        assert told == [(found.folder.disk.name, path)]
        assert found.corrupt is not None
        assert found.corrupt.offset == 0

    with Ground() as ground:
        ground.live(talk)
