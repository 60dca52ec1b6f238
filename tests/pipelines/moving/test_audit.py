"""`audit` finds each fault that is planted in a replica, and no other."""

import shutil
from pathlib import Path

import pytest

from odradek.client.blocking.client import BlockingClient
from odradek.model.ids import TopicPartition
from odradek.pipelines.errors import NothingCompared
from odradek.pipelines.moving.comparing.audit import audit_brokers, audit_directories
from odradek.pipelines.source.options import Mode
from odradek.records.batch import headers, read_header, seal
from odradek.records.build import build_batch
from odradek.records.record import Record
from tests.compat.broker_process import OdradekBroker
from tests.live.cluster import LiveCluster
from tests.pipelines.moving.archives import reading
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics, now_ms

SPARK = LocalSpark()
TOPIC = "audited.t"
Copies = dict[str, list[Path]]


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log dir of a broker that has gone: ten batches in several segments."""
    folder = tmp_path_factory.mktemp("audited")
    broker = OdradekBroker(folder / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "audited")
    topics.make(segment_bytes="1000")
    with BlockingClient(broker.bootstrap) as client:
        producer = client.producer()
        for first in range(0, 100, 10):
            records = [Record(it, now_ms(), None, b"%d" % (first + it)) for it in range(10)]
            producer.send(TopicPartition(TOPIC, 0), build_batch(records))
        producer.flush()
    broker.stop()
    (found,) = (it.parent for it in (folder / "broker").glob(f"*/{TOPIC}-0"))
    assert len(list((found / f"{TOPIC}-0").glob("*.log"))) > 1
    return found


@pytest.fixture
def copies(log_dir: Path, tmp_path: Path) -> Copies:
    """The same in the log dirs of three brokers."""
    for broker in "123":
        shutil.copytree(log_dir, tmp_path / broker)
    return {broker: [tmp_path / broker] for broker in "123"}


def segments(copies: Copies, broker: str) -> list[Path]:
    """Of the copy of a broker, oldest first."""
    return sorted((copies[broker][0] / f"{TOPIC}-0").glob("*.log"))


def found_in(copies: Copies) -> list[str]:
    """As a person reads it, without the paths of the log dirs."""
    done = audit_directories(SPARK, copies)
    texts = [str(it) for it in done.faults]
    for broker, (folder,) in copies.items():
        texts = [it.replace(f"broker {broker}, {folder}", f"broker {broker}") for it in texts]
    return [it.removeprefix(f"{TOPIC}-0 ") for it in texts]


def test_equal_replicas(copies: Copies) -> None:
    """Nothing is found; all batches were looked at."""
    done = audit_directories(SPARK, copies)
    assert (done.batches, done.faults) == (10, ())


def test_a_flipped_bit(copies: Copies) -> None:
    """The broker, the file and the place in it, the offsets."""
    file = segments(copies, "2")[0]
    data = bytearray(file.read_bytes())
    (position, _), *_ = [it for it in headers(data) if it[1].base_offset == 10]
    data[position + 70] ^= 4
    file.write_bytes(data)
    (text,) = found_in(copies)
    assert text.startswith(
        f"offsets 10 to 19: the copy of broker 2, {TOPIC}-0/{file.name} byte {position} is corrupt"
    )


def test_another_batch_that_is_valid(copies: Copies) -> None:
    """What two of three have is taken for right."""
    file = segments(copies, "3")[0]
    data = bytearray(file.read_bytes())
    header = read_header(data)
    data[header.size - 2] ^= 1
    seal(data, header)
    file.write_bytes(data)
    assert found_in(copies) == [
        (
            f"offsets 0 to 9: the copy of broker 3, {TOPIC}-0/{file.name} byte 0 differs from the "
            "other replicas"
        )
    ]


def test_a_segment_that_is_gone(copies: Copies) -> None:
    """What was in it is missing, as one fault."""
    file = segments(copies, "1")[1]
    rows = [header for _, header in headers(file.read_bytes())]
    file.unlink()
    assert found_in(copies) == [
        f"offsets {rows[0].base_offset} to {rows[-1].last_offset}: the copy of broker 1 is missing"
    ]


def test_bytes_that_are_no_batch(copies: Copies) -> None:
    """The file cannot be read from there on."""
    file = segments(copies, "1")[-1]
    rows = list(headers(file.read_bytes()))
    position, header = rows[-1]
    file.write_bytes(file.read_bytes()[: position + 30] + b"\xff" * (header.size - 30))
    (text,) = found_in(copies)
    assert f"offsets {header.base_offset} to" in text
    assert "broker 1" in text


def test_behind_bytes_that_are_no_batch_it_goes_on(copies: Copies) -> None:
    """Of the same file: what follows is compared, and what is wrong there is named, too."""
    file = segments(copies, "1")[0]
    data = bytearray(file.read_bytes())
    rows = list(headers(data))
    assert len(rows) > 2
    (position, header), (_, behind), (last, broken), *_ = rows
    data[position + 16] ^= 4
    data[last + 70] ^= 4
    file.write_bytes(data)
    texts = found_in(copies)
    assert len(texts) == 2
    assert texts[0].startswith(
        f"offsets {header.base_offset} to {behind.base_offset - 1}: the copy"
    )
    assert f"{file.name} byte {position} is corrupt (no batch" in texts[0]
    assert texts[1].startswith(f"offsets {broken.base_offset} to {broken.last_offset}: the copy of")
    assert f"{file.name} byte {last} is corrupt" in texts[1]


def test_a_file_that_cannot_be_read(copies: Copies) -> None:
    """It is one fault, and the others are compared."""
    first, second, *_ = segments(copies, "2")
    first.unlink()
    first.mkdir()
    (text,) = found_in(copies)
    assert text.startswith(f"offsets 0 to {int(second.stem) - 1}: the copy of broker 2, {TOPIC}-0/")
    assert f"{first.name} cannot be read (" in text


def test_nothing_compared_is_no_success(copies: Copies) -> None:
    """Nothing is known to be committed."""
    for broker in "123":
        path = copies[broker][0] / "replication-offset-checkpoint"
        path.write_text(path.read_text().replace(f"{TOPIC} 0 100", f"{TOPIC} 0 0"))
    with pytest.raises(NothingCompared):
        audit_directories(SPARK, copies)


def test_what_is_not_committed_may_differ(copies: Copies) -> None:
    """Above the high watermark a copy may be truncated yet."""
    for broker in "123":
        path = copies[broker][0] / "replication-offset-checkpoint"
        path.write_text(path.read_text().replace(f"{TOPIC} 0 100", f"{TOPIC} 0 90"))
    segments(copies, "2")[-1].unlink()
    first = int(segments(copies, "1")[-1].stem)
    assert [it.first for it in audit_directories(SPARK, copies).faults] == (
        [] if first >= 90 else [first]
    )


def test_brokers_are_asked(tmp_path: Path) -> None:
    """Followers, too: a bit that flipped on the disk of one of two."""
    with LiveCluster(tmp_path / "cluster", 2) as cluster:
        cluster.make("t", partitions=1, replicas=2)
        topics = Topics(cluster.bootstrap, "t")
        for first in range(0, 50, 10):
            topics.fill_numbers("t", 10, first=first)
        source = reading(cluster.bootstrap, "t", Mode.BATCH)
        done = audit_brokers(SPARK, source)
        assert (done.batches, done.faults) == (5, ())
        leader, _ = cluster.partitions("t")[0]
        follower = 3 - leader
        cluster.brokers[follower].stop()
        (file,) = (tmp_path / "cluster" / f"broker-{follower}").glob("*/t-0/*.log")
        data = bytearray(file.read_bytes())
        (position, _), *_ = [it for it in headers(data) if it[1].base_offset == 20]
        data[position + 70] ^= 4
        file.write_bytes(data)
        cluster.brokers[follower].start()
        cluster.await_isr("t", 2)
        done = audit_brokers(SPARK, source)
        (fault,) = done.faults
        assert (fault.first, fault.last, fault.kind) == (20, 29, "is corrupt")
        assert fault.replica.startswith(f"broker {follower}, ")
        assert fault.place == str(file.parent)
        assert TopicPartition(fault.topic, fault.partition) == TopicPartition("t", 0)
        cluster.brokers[follower].stop()
        away, *_ = audit_brokers(SPARK, source).faults
        assert (away.first, away.last, away.kind) == (0, 49, "cannot be read")
        cluster.brokers[follower].start()
