"""A journal that is missing, held, cut, damaged, not ours, or has no room: the server says so.

As its operator meets it: one process, its exit code, and what it prints. What was in the directory
is there afterwards, byte for byte.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.zookeeper.protocol.jute_replies import Data, reply_body, reply_header
from odradek.zookeeper.protocol.jute_requests import OPS, Create, GetData, SetData
from tests.crash.zookeeper_process import ZookeeperProcess

SIZE = 10_000
ROOM = 300_000


def journal(directory: Path) -> Path:
    """The file that everything is about."""
    return directory / "zookeeper.sqlite"


def content(directory: Path) -> dict[str, bytes]:
    """Every file with its bytes."""
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """The directory of a server that had something to keep."""
    server = ZookeeperProcess(tmp_path / "data")
    assert server.start() is None
    talker = server.talker()
    talker.ask(*(Create(f"/n{number}", b"x" * SIZE) for number in range(10)))
    assert server.stop() == 0
    return server.directory


def lose(path: Path) -> None:
    """It is gone."""
    path.unlink()


def cut(path: Path) -> None:
    """The second half is gone."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    """Nothing is left in it."""
    path.write_bytes(b"")


def replace(path: Path) -> None:
    """Somebody put a note in its place."""
    path.write_text("remember the milk\n" * 10)


def swap(path: Path) -> None:
    """It is a good database, and not ours."""
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE batches (last, crc, data)")
    database.close()


def scratch(path: Path) -> None:
    """One byte of what was written into a node is another."""
    data = path.read_bytes()
    at = data.rindex(b"xxxx")
    path.write_bytes(data[:at] + b"y" + data[at + 1 :])


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lose, "the journal is missing"),
        (cut, "the journal is damaged"),
        (empty, "it is cut: 0 bytes are left"),
        (replace, "it is not a journal of Odradek's ZooKeeper"),
        (swap, "it is not a journal of Odradek's ZooKeeper"),
        (scratch, "of the journal is damaged"),
    ],
)
def test_a_journal_that_cannot_be_used_is_named_and_left_alone(
    used: Path, harm: Callable[[Path], None], sentence: str
) -> None:
    """One sentence and an exit code; an operator may still save what is there."""
    harm(journal(used))
    before = content(used)
    server = ZookeeperProcess(used)
    assert server.start() == 1
    (line,) = server.said.splitlines()
    assert line.startswith("odradek: ")
    assert sentence in line
    assert str(used) in line
    assert content(used) == before


def test_a_journal_that_is_held_by_another_is_left_to_it(used: Path) -> None:
    """The second server goes; the first one and its clients notice nothing."""
    first, second = ZookeeperProcess(used), ZookeeperProcess(used)
    assert first.start() is None
    talker = first.talker()
    assert second.start() == 1
    (line,) = second.said.splitlines()
    assert "the journal is in use by another process" in line
    assert [header.error for header in talker.ask(SetData("/n0", b"y", 0))] == [0]
    assert first.stop() == 0


def test_a_disk_that_is_full_ends_the_server_with_a_reason(tmp_path: Path) -> None:
    """Nothing is answered that is not durable; with room again, all that was answered is there."""
    server = ZookeeperProcess(tmp_path / "data")
    assert server.start(RLIMIT_FSIZE=ROOM) is None
    talker = server.talker()
    talker.ask(Create("/a", b""))
    sent = 2 * ROOM // SIZE
    talker.send([SetData("/a", b"x" * SIZE, version) for version in range(sent)])
    answered = len(talker.receive(sent))
    assert 0 < answered < sent
    assert server.wait() == 1
    assert "stops, since its journal cannot be written" in server.said.splitlines()[-1]
    assert "Traceback" not in server.said

    assert server.start() is None
    talker = server.talker()
    talker.send([GetData("/a")])
    (packet,) = talker.receive(1)
    assert reply_header(packet).error == 0
    found = reply_body(OPS[GetData], packet)
    assert isinstance(found, Data)
    assert answered <= found.stat.version <= sent
    assert server.stop() == 0
