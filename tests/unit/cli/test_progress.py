"""What a verb that waits shows, and how often it asks: brokers have other work."""

import io
import re
import sys
from typing import Final

import pytest

from odradek.cli.replicas.logdirs import log_dirs_of
from odradek.cli.replicas.reassigning import sizes_of
from odradek.cli.showing.cells import Size
from odradek.cli.showing.progress import REST, REST_SECONDS_MAX, Pace, progress
from odradek.client.admin import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import SECOND, Millis
from tests.unit.broker.stage import PORT, Stage

LEAST: Final = 0.5


def test_the_dearer_a_look_is_the_longer_it_rests() -> None:
    """Never less than it was told, and never so long that a person thinks it hangs."""
    rests: list[float] = []

    async def looks(stage: Stage) -> None:
        pace, clock = Pace(LEAST), stage.clients.clock
        for took in (0.001, 0.05, 60):
            await clock.sleep_until(Millis(clock.monotonic() + int(took * SECOND)))
            before = pace.now
            await pace.rest()
            rests.append(round(pace.now - before, 3))

    with Stage() as stage:
        stage.world.ask("clients", looks(stage), seconds=120)
    assert rests == [LEAST, 0.05 * REST, REST_SECONDS_MAX]


def test_only_what_is_moved_is_asked_for() -> None:
    """There may be ten thousand others on the broker."""
    wanted = TopicPartition("orders", 1)

    async def conversation(cluster: Cluster) -> object:
        for name in ("orders", "refunds"):
            await admin.create_topic(cluster, admin.NewTopic(name, 2, 1))
        sizes = await sizes_of(cluster, {1}, [wanted])
        dirs = await log_dirs_of(cluster, BrokerId(1), [wanted, TopicPartition("orders", 9)])
        topics = [topic for it in dirs for topic in it.topics]
        told = [(topic.name, row.partition_index) for topic in topics for row in topic.partitions]
        return list(sizes), told

    with Stage() as stage:
        machine = stage.clients
        cluster = Cluster(ClientDeps(machine.network, machine.clock), [("broker", PORT)])
        try:
            found = stage.world.ask("clients", conversation(cluster), seconds=120)
        finally:
            cluster.close()
    assert found == ([(wanted, 1)], [wanted])


class Terminal(io.StringIO):
    """What is written to it is kept."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def shown(monkeypatch: pytest.MonkeyPatch, term: str) -> str:
    """A terminal of 80 columns, while ten petabytes are copied."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stderr", terminal)
    size = 10**16
    with progress("copying", Size(size)) as bar:
        for part in (1, 3, 2, 10):
            bar.reach(size * part // 10)
    return terminal.getvalue()


def test_a_bar_stands_in_one_line_however_much_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is wider begins a new line each time it is drawn; and it never goes back."""
    drawn = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(monkeypatch, "xterm")))
    assert max(map(len, drawn)) <= 80
    done = re.findall(r"copying (.+?) of 8\.9 PiB  \[", "\n".join(drawn))
    assert list(dict.fromkeys(done)) == ["0 B", "909.5 TiB", "2.7 PiB", "8.9 PiB"]


def test_a_terminal_that_is_dumb_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not draw over a line."""
    assert shown(monkeypatch, "dumb") == ""
