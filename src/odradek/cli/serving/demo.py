"""`odradek demo`: what a cluster does when things break, each step with its real output.

The cluster is the demo's own, in this process and a temporary directory: one that runs beside it is
not touched. `$` is a line of a shell, `>>>` one of Python; both can be typed.
"""

import os
import shlex
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from odradek.cli.reaching.client_settings import BOOTSTRAP_VARIABLE
from odradek.cli.words.failing import FAILED, Failed
from odradek.cli.words.grammar import LocalVerb
from odradek.model.counting import counted

if TYPE_CHECKING:
    from odradek.cli.serving.demo_producer import DemoProducer
    from odradek.testing.local import LocalCluster

TOPIC: Final = "orders"
RECORDS_BETWEEN: Final = 20
READING_SECONDS: Final = 2.0
SETTINGS: Final = {"replica.lag.time.max.ms": 2_000}


@click.command(cls=LocalVerb)
@click.option("--fast", is_flag=True, help="Without pauses for reading, and without Spark.")
def command(*, fast: bool) -> None:
    """Show what a cluster does when a broker dies and a disk fails.

    Three brokers start in this process, in a temporary directory, and a producer writes all the
    time; in the end each record that was acknowledged must be there once. Exit code 1 if not.
    """
    from odradek.testing import cluster

    _say("Three brokers with two disks each start in this process, and a ZooKeeper.")
    click.echo(">>> with odradek.testing.cluster() as cluster:")
    with cluster(3, SETTINGS) as running:
        os.environ[BOOTSTRAP_VARIABLE] = running.bootstrap
        click.echo(f"$ export {BOOTSTRAP_VARIABLE}={running.bootstrap}")
        Demo(running, fast=fast).run()


class Demo:
    """The steps, one after the other."""

    def __init__(self, cluster: "LocalCluster", *, fast: bool) -> None:
        self._cluster = cluster
        self._is_fast = fast
        self._pause = threading.Event()
        self._producer: DemoProducer

    def run(self) -> None:
        """All of it."""
        self._begin()
        self._kill_leader()
        self._fail_disk()
        self._move_controller()
        self._archive()
        self._compare()

    def _begin(self) -> None:
        from odradek.cli.serving.demo_producer import DemoProducer
        from odradek.client.addresses import addresses

        self._step("A topic: each partition is on three brokers, two of which must have a record.")
        self._run(f"odradek topic create {TOPIC} --partitions 3")
        self._cluster.await_isr(TOPIC)
        self._run(f"odradek topic describe {TOPIC}")
        self._step("A producer writes one record after the other (acks=all) until the end.")
        self._producer = DemoProducer(addresses(self._cluster.bootstrap), TOPIC)
        self._count()

    def _kill_leader(self) -> None:
        c, leader = self._cluster, self._cluster.leader(TOPIC)
        self._step(f"Broker {leader} leads partition 0. It dies, and another one leads.")
        self._producer.begin_gap()
        self._call(f"cluster.kill({leader})", lambda: c.kill(leader))
        c.await_isr(TOPIC, set(c.brokers) - {leader})
        self._count()
        click.echo(f"longest time without an acknowledgement: {self._producer.gap} ms")
        self._run(f"odradek topic describe {TOPIC}")
        self._step("It comes back, and gets what it missed.")
        self._call(f"cluster.start({leader})", lambda: c.start(leader))
        self._call(f'cluster.await_isr("{TOPIC}")', lambda: c.await_isr(TOPIC))
        self._count()

    def _fail_disk(self) -> None:
        c = self._cluster
        broker = c.leader(TOPIC, 1)
        disk = next(it for it in (0, 1) if (c.directory(broker, it) / f"{TOPIC}-1").is_dir())
        self._step(f"Disk {disk} of broker {broker} fails. Its other disk serves on.")
        self._producer.begin_gap()
        self._call(f"cluster.fail_disk({broker}, {disk})", lambda: c.fail_disk(broker, disk))
        self._count()
        click.echo(f"longest time without an acknowledgement: {self._producer.gap} ms")
        self._step("An empty disk in its place is filled by the broker itself, while it runs.")
        line = f"cluster.replace_disk({broker}, {disk})"
        self._call(line, lambda: c.replace_disk(broker, disk))
        self._call(f'cluster.await_isr("{TOPIC}")', lambda: c.await_isr(TOPIC))
        self._run(f"odradek topic describe {TOPIC}")
        self._count()

    def _move_controller(self) -> None:
        c = self._cluster
        target = next(it for it in c.brokers if it != c.controller)
        self._step("The controller moves, as before a machine is maintained.")
        self._run(f"odradek controller move {target}")
        self._count()

    def _archive(self) -> None:
        if self._is_fast:
            return
        self._step("The topic is archived in a Delta table, exactly once, and compared with it.")
        if find_spec("pyspark") is None:
            click.echo("left out: it needs Spark: pip install 'odradek[spark]'")
            return
        table = f"delta:{Path(self._cluster.directory(1, 0)).parent.parent / 'table'}"
        self._run(f"odradek archive --topics {TOPIC} --to {table} --once")
        self._run(f"odradek verify --topics {TOPIC} --table {table}")
        self._count()

    def _compare(self) -> None:
        self._step("The producer ends. Everything is read, and compared with what it was told.")
        self._producer.end()
        self._cluster.await_isr(TOPIC)
        self._run(f"odradek offsets list {TOPIC}")
        self._run("odradek cluster health")
        found = self._producer.compare()
        click.echo(
            f"acknowledged {found.acknowledged}, read {found.read}: "
            f"{found.missing} missing, {found.doubled} twice"
        )
        if found.missing or found.doubled or found.read != found.acknowledged:
            raise Failed("acknowledged records are not there once each", code=FAILED)

    # How a step is shown

    def _step(self, sentence: str) -> None:
        if not self._is_fast:
            self._pause.wait(READING_SECONDS)
        _say(sentence)

    def _count(self) -> None:
        self._producer.await_more(RECORDS_BETWEEN)
        click.echo(f"{counted(self._producer.acknowledged, 'record')} acknowledged")

    def _call(self, line: str, work: Callable[[], None]) -> None:
        click.echo(f">>> {line}")
        work()

    def _run(self, line: str) -> None:
        from odradek.cli.root import command as root

        click.echo(f"$ {line}")
        sys.stdout.flush()
        try:
            root.main(shlex.split(line)[1:], prog_name="odradek", standalone_mode=False)
        except SystemExit as ended:
            if ended.code:
                raise Failed(f"{line} ended with {ended.code}") from None


def _say(sentence: str) -> None:
    click.echo(f"\n{click.style(sentence, bold=True)}")
