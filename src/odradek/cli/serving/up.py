"""`odradek up`: brokers on this machine to try things with, and their ZooKeeper.

Everything is below one directory: `zookeeper/`, and for each broker `broker-N/` with two log dirs,
the properties file it was started with, and its events. One broker runs in this process with
ZooKeeper beside it. Several are processes of their own, and so is ZooKeeper: any of them can be
killed.
"""

import asyncio
import fcntl
import os
import shutil
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from odradek.cli.reaching import settings
from odradek.cli.reaching.client_settings import BOOTSTRAP, client_settings
from odradek.cli.serving.up_text import REPLICAS_MAX, Started, text_of
from odradek.cli.showing.confirming import confirm
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import SETTINGS
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import without_asking
from odradek.model.counting import counted

if TYPE_CHECKING:
    from odradek.broker.broker import Broker

HOST: Final = "127.0.0.1"
CLIENT_PORT: Final = 9092
BROKERS_PORT: Final = 9192
PAGES_PORT: Final = 9644
ZOOKEEPER_PORT: Final = 2181
BROKERS_MAX: Final = 99
ANSWERED_SECONDS: Final = 5
USER_SECONDS: Final = 20


@click.command(context_settings=SETTINGS)
@click.option(
    "--brokers",
    type=Whole(1, BROKERS_MAX),
    metavar="N",
    help="How many.  [default: as many as there were the last time, or 1]",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("odradek-data"),
    show_default=True,
    help="The directory for everything that they keep.",
)
@click.option(
    "--fresh", is_flag=True, help="Delete what that directory holds, and begin anew; it asks."
)
@click.option(
    "--tls",
    is_flag=True,
    help="Clients need TLS and a password (SCRAM): both are made, and printed.",
)
@settings.overrides
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="The least important events that a single broker prints here.",
)
def command(
    *,
    brokers: int | None,
    data: Path,
    fresh: bool,
    tls: bool,
    overrides: tuple[str, ...],
    log_level: str,
) -> None:
    """Start brokers on this machine, to try things with.

    One broker listens at 127.0.0.1:9092, further ones at the ports that follow; where a port is
    taken, at a free one. Several replicate: three replicas of each partition, two of which must be
    in sync. Ctrl-C stops them, and what they hold is kept.
    """
    data.mkdir(parents=True, exist_ok=True)
    with (data / ".lock").open("a") as lock:
        _take(lock, data)
        if fresh:
            _empty(data)
        known = _known_brokers(data)
        count = brokers or known or 1
        if count < known:
            raise Failed(
                f"{data} holds {counted(known, 'broker')}: "
                "without all of them partitions may have no leader",
                f"odradek up --brokers {known}, or --fresh to begin anew",
            )
        started = _chosen(data, count)._replace(known=known)
        if tls:
            started = _secured(started)
        for number, port in enumerate(started.client_ports):
            if port != CLIENT_PORT + number:
                where = f"broker {number + 1} listens at {HOST}:{port}"
                click.echo(f"port {CLIENT_PORT + number} is taken: {where}", err=True)
        if count == 1:
            _serve_one(started, overrides, log_level)
        else:
            _serve_several(started, overrides)


command.params.append(without_asking())


def _take(lock: IO[str], data: Path) -> None:
    """The process that holds it may start brokers on this directory."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = f"another odradek up runs on {data}"
        raise Failed(text, "stop it, or name another directory with --data") from None


def _empty(data: Path) -> None:
    """Only what `up` made: the directory may be somebody's home."""
    brokers = sorted(data.glob("broker-*"))
    from odradek.cli.serving.up_tls import FOLDER, PASSWORDS

    tls = data / FOLDER
    ours = [tls] if (tls / PASSWORDS).exists() else []
    found = [path for path in (*brokers, data / "zookeeper", *ours) if path.is_dir()]
    if found:
        confirm(f"delete {data} with {counted(len(brokers), 'broker')} and all their records")
    for path in found:
        shutil.rmtree(path)


def _known_brokers(data: Path) -> int:
    return sum((path / "server.properties").exists() for path in data.glob("broker-*"))


def _chosen(data: Path, count: int) -> Started:
    from odradek.runtime.local_ports import port_near

    taken: set[int] = set()
    zookeeper = port_near(ZOOKEEPER_PORT, taken)
    clients = [port_near(CLIENT_PORT + i, taken) for i in range(count)]
    pages = [port_near(PAGES_PORT + i, taken) for i in range(count)]
    return Started(data, tuple(clients), tuple(pages), zookeeper, client_settings()[BOOTSTRAP])


def _secured(started: Started) -> Started:
    from odradek.cli.serving.up_tls import secured
    from odradek.runtime.local_ports import port_near

    taken = {*started.client_ports, *started.page_ports, started.zookeeper_port}
    own = tuple(port_near(BROKERS_PORT + it, taken) for it in range(len(started.client_ports)))
    found = secured(started.data)
    found.write_client_file(started.bootstrap)
    return started._replace(secured=found, broker_ports=own)


async def _add_user(started: Started) -> None:
    """Who prints it logs in as a broker; without the user no client can."""
    from odradek.cli.reaching.talking import secured_network
    from odradek.cli.serving.up_tls import MECHANISM, USER
    from odradek.client.admin import scram_users
    from odradek.client.cluster import ClientDeps, Cluster
    from odradek.runtime.doors.chance import SystemRandom
    from odradek.runtime.doors.clock import SystemClock

    assert started.secured is not None, "there are users only then"
    network = secured_network(started.secured.as_broker())
    addresses = [(HOST, port) for port in started.broker_ports]
    cluster = Cluster(ClientDeps(network, SystemClock()), addresses, "odradek-up")
    password = started.secured.passwords[USER]
    new = scram_users.NewCredential(scram_users.scram_named(MECHANISM), password)
    salt = SystemRandom().bytes(scram_users.SALT_BYTES)
    try:
        async with asyncio.timeout(USER_SECONDS):
            await scram_users.alter(cluster, USER, [(new, salt)])
    finally:
        cluster.close()


def _settings(started: Started, number: int) -> dict[str, str]:
    count = len(started.client_ports)
    replicas = min(count, REPLICAS_MAX)
    folder = started.folder(number)
    found = {
        "broker.id": str(number),
        "listeners": f"PLAINTEXT://{HOST}:{started.client_ports[number - 1]}",
        "log.dirs": f"{folder}/disk-1,{folder}/disk-2",
        "admin.listener": f"{HOST}:{started.page_ports[number - 1]}",
        "num.partitions": "3",
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(max(1, replicas - 1)),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(max(1, replicas - 1)),
        "group.initial.rebalance.delay.ms": "0",
    }
    if started.secured is not None:
        ports = (started.client_ports[number - 1], started.broker_ports[number - 1])
        found |= started.secured.of_brokers(*ports)
    if count > 1:
        return {**found, "zookeeper.connect": f"{HOST}:{started.zookeeper_port}"}
    return {
        **found,
        "zookeeper.embedded.port": str(started.zookeeper_port),
        "zookeeper.embedded.data.dir": str(started.data / "zookeeper"),
    }


def _serve_one(started: Started, overrides: tuple[str, ...], log_level: str) -> None:
    from odradek.cli.serving.serve import serve
    from odradek.model.errors import BrokerError
    from odradek.runtime.local_cluster import write_properties
    from odradek.runtime.output import say

    file = started.folder(1) / "server.properties"
    write_properties(file, _settings(started, 1))

    def tell_users(told: Started) -> None:
        try:
            asyncio.run(_add_user(told))
        except (BrokerError, TimeoutError) as error:
            say(f"no user could be added: {str(error) or 'the broker is silent'}")
        else:
            say(text_of(told, [os.getpid()]))

    def announce(broker: "Broker") -> None:
        ports = tuple(port for _, port in broker.socket_server.addresses.values())
        pages = broker.pages.address
        page_ports = started.page_ports if pages is None else (pages[1],)
        told = started._replace(client_ports=ports[:1], page_ports=page_ports)
        if started.secured is None:
            say(text_of(told, [os.getpid()]))
        else:
            threading.Thread(target=tell_users, args=(told,), daemon=True).start()

    serve(file, overrides, announce, level=log_level)


def _serve_several(started: Started, overrides: tuple[str, ...]) -> None:
    from odradek.runtime.local_cluster import LocalCluster, Member, NotStarted, write_properties

    data = started.data
    address = ("--host", HOST, "--port", str(started.zookeeper_port))
    keeper = Member(
        "zookeeper",
        ("zookeeper", "serve", "--data", str(data / "zookeeper"), *address),
        data / "zookeeper" / "events.log",
    )
    given = [word for override in overrides for word in ("--override", override)]
    brokers = []
    for number in range(1, len(started.client_ports) + 1):
        file = started.folder(number) / "server.properties"
        write_properties(file, _settings(started, number))
        arguments = ("serve", str(file), *given)
        brokers.append(Member(f"broker {number}", arguments, started.events(number)))
    cluster = LocalCluster(click.echo)
    click.echo(f"starting ZooKeeper and {counted(len(brokers), 'broker')}")
    try:
        cluster.start([keeper])
        cluster.start(brokers)
        if started.secured is not None:
            asyncio.run(_add_user(started))
        asyncio.run(_make_offsets_topic(started))
        click.echo(text_of(started, [cluster.pid(member) for member in [*brokers, keeper]]))
        cluster.watch()
        click.echo("\nstopping")
    except NotStarted as error:
        raise Failed(str(error)) from None
    finally:
        cluster.stop()


async def _make_offsets_topic(started: Started) -> None:
    """Consumer groups need it, and it needs all brokers, of which one may be killed soon."""
    from odradek.cli.reaching.talking import secured_network
    from odradek.client.cluster import ClientDeps, Cluster
    from odradek.model.errors import BrokerError
    from odradek.runtime.doors.clock import SystemClock

    said = {} if started.secured is None else started.secured.as_broker()
    addresses = [(HOST, port) for port in started.broker_ports or started.client_ports]
    cluster = Cluster(ClientDeps(secured_network(said), SystemClock()), addresses, "odradek-up")
    try:
        async with asyncio.timeout(ANSWERED_SECONDS):
            await cluster.coordinator("any")
    except (BrokerError, TimeoutError):
        pass  # it is being made, or will be with the first group
    finally:
        cluster.close()
