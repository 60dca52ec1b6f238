"""What `odradek up` prints once everything runs: what to type next, with the addresses it has."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Final, NamedTuple

from odradek.cli.serving.up_tls import MECHANISM, USER, Secured
from odradek.model.counting import counted

DEFAULT: Final = "127.0.0.1:9092"
SHOWN_MAX: Final = 3
REPLICAS_MAX: Final = 3

PYTHON: Final = """\
  from confluent_kafka import Consumer, Producer
  broker = {{"bootstrap.servers": "{bootstrap}"}}{more}
  producer = Producer(broker)
  producer.produce("numbers", b"4")
  producer.flush()
  group = {{"group.id": "me", "auto.offset.reset": "earliest"}}
  consumer = Consumer(broker | group)
  consumer.subscribe(["numbers"])
  print(consumer.poll(10).value())
  consumer.close()"""


PYTHON_SECURED: Final = """
  broker |= {{"security.protocol": "SASL_SSL", "sasl.mechanism": "{mechanism}"}}
  broker |= {{"sasl.username": "{user}", "sasl.password": "{password}"}}
  broker |= {{"ssl.ca.location": "{tls}/ca.pem"}}"""


class Started(NamedTuple):
    """The processes that `up` runs."""

    data: Path
    client_ports: tuple[int, ...]
    page_ports: tuple[int, ...]
    zookeeper_port: int
    found_anyhow: str = DEFAULT
    """Where the command looks if it is told nothing: a context or a variable may say."""
    known: int = 0
    """How many brokers there were the last time."""
    broker_ports: tuple[int, ...] = ()
    """Where brokers find each other, if clients have to log in."""
    secured: Secured | None = None

    def folder(self, number: int) -> Path:
        """A broker's own."""
        return self.data / f"broker-{number}"

    def events(self, number: int) -> Path:
        """What one of several brokers prints."""
        return self.folder(number) / "events.log"

    @property
    def bootstrap(self) -> str:
        """As clients have it."""
        return ",".join(f"127.0.0.1:{port}" for port in self.client_ports)


def text_of(started: Started, pids: Sequence[int]) -> str:
    """At most 80 columns wide, and everything in it can be typed as it stands."""
    odradek = _command()
    where = started.bootstrap.split(",")[0]
    is_alone = len(started.client_ports) == 1
    to = "" if where == started.found_anyhow or not is_alone else f" -b {where}"
    if started.secured is not None:
        to = " --command-config $ME"
    # any of these finds the others, also when one is killed
    known = ",".join(started.bootstrap.split(",")[:SHOWN_MAX])
    lines = [
        *_processes(started, pids),
        "",
        *_how_to_log_in(started),
        *([] if is_alone else [f"  export ODRADEK_BOOTSTRAP={known}"]),
        f"  seq 3 | {odradek}{to} produce numbers",
        f"  {odradek}{to} consume numbers -e",
        f"  {odradek}{to} topic describe numbers",
        *([] if started.secured else [f"  kcat -b {where} -t numbers -C -e"]),
        f"  curl -s 127.0.0.1:{started.page_ports[0]}/metrics",
        "",
        *_of_new_brokers(started),
        "In Python, with any client of Kafka's (pip install confluent-kafka):",
        "",
        PYTHON.format(bootstrap=where, more=_python_of(started)),
        "",
        "Ctrl-C stops it." if is_alone else "Ctrl-C stops all of them.",
    ]
    return "\n".join(lines)


def _how_to_log_in(started: Started) -> list[str]:
    """The file serves Kafka's scripts as well."""
    if started.secured is None:
        return []
    return [f"  ME={quote(f'{started.data}/tls/client.properties')}"]


def _python_of(started: Started) -> str:
    if started.secured is None:
        return ""
    password = started.secured.passwords[USER]
    tls = f"{started.data}/tls"
    return PYTHON_SECURED.format(mechanism=MECHANISM, user=USER, password=password, tls=tls)


def _of_new_brokers(started: Started) -> list[str]:
    """What was there before is not replicated by itself: a broker that is killed takes it along."""
    count = len(started.client_ports)
    if not 0 < started.known < count:
        return []
    return [
        "Topics that were there before are on the old brokers alone. To replicate them:",
        "",
        f"  {_command()} partition reassign '*' -r {min(count, REPLICAS_MAX)}",
        "",
    ]


def _processes(started: Started, pids: Sequence[int]) -> list[str]:
    if len(started.client_ports) == 1:
        return [
            "",
            f"started: one broker at {started.bootstrap}, and its ZooKeeper at",
            f"127.0.0.1:{started.zookeeper_port}. What they hold is kept in {started.data}/.",
        ]
    names = [f"broker {i + 1}" for i in range(len(started.client_ports))] + ["zookeeper"]
    ports = [*started.client_ports, started.zookeeper_port]
    rows = [
        f"  {name:10}  127.0.0.1:{port:<5}  pid {pid}"
        for name, port, pid in zip(names, ports, pids, strict=True)
    ]
    brokers = counted(len(names) - 1, "broker")
    keeper = f"--data {started.data}/zookeeper --port {started.zookeeper_port}"
    return [
        "",
        f"started: {brokers} and their ZooKeeper. Their data and events.log files",
        f"are kept in {started.data}/.",
        "",
        *rows,
        "",
        f"Any of these processes can be killed, and clients go on: kill -9 {pids[0]}",
        "To start it again:",
        "",
        f"  {_command()} serve {started.folder(1)}/server.properties",
        f"  {_command()} zookeeper serve {keeper}",
        "",
        "To try it:",
    ]


def _command() -> str:
    """How this command was called, so that the reader can call it, too."""
    called = sys.argv[0]
    if Path(called).name != "odradek":
        return "odradek"
    found = shutil.which("odradek")
    if found is not None and Path(found).absolute() == Path(called).absolute():
        return "odradek"
    near = os.path.relpath(called)
    return near if len(near) < len(called) else called
