"""Talking to a cluster: what every verb does that is not about files."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from odradek.cli.reaching.client_settings import BOOTSTRAP, client_settings
from odradek.cli.reaching.patience import PatientCluster, Waits
from odradek.cli.words.failing import MISUSED, UNREACHABLE, Failed, reason
from odradek.cli.words.options import options
from odradek.client.addresses import addresses, written
from odradek.client.cluster import ClientDeps, Cluster
from odradek.model.errors import InvalidSetting
from odradek.model.ids import TopicPartition
from odradek.peers.errors import ConnectionGone, NotAuthenticated, TlsFailed
from odradek.peers.login import Login, token_login
from odradek.peers.secured_network import Outgoing, SecuredNetwork
from odradek.peers.token_source import TokenSource
from odradek.ports import Address, Network
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.in_thread import in_thread
from odradek.runtime.doors.network import SystemNetwork
from odradek.security.certificates.tls_contexts import client_context
from odradek.security.client_settings import client_security
from odradek.security.token_endpoint import TokenEndpoint, token_of

T = TypeVar("T")

SILENT: Final = "look whether it hangs; --bootstrap HOST:PORT names another broker"
SEE_HEALTH: Final = "odradek cluster health says what is wrong"
NO_BROKER: Final = "odradek up starts a broker; --bootstrap HOST:PORT names another"
HOW_WRITTEN: Final = "--bootstrap HOST:PORT,HOST:PORT; an address of IPv6 in brackets: [::1]:9092"
WHOM_TO_BELIEVE: Final = "ssl.truststore.location names who is believed, ssl.keystore.* who asks"


def seconds_to_wait(settings: dict[str, str]) -> float:
    """`--timeout`, or what the client's settings say."""
    for name in ("default.api.timeout.ms", "request.timeout.ms"):
        if options().timeout is None and name in settings:
            return int(settings[name]) / 1_000
    return options().seconds


def talk(conversation: Callable[[Cluster], Coroutine[Any, Any, T]], *, endless: bool = False) -> T:
    """Runs a conversation with the cluster from its beginning to its end.

    It must end within `--timeout`; an `endless` one must only find the cluster within that time,
    and never wait for it longer than that later on.
    """
    settings = client_settings()
    seconds = seconds_to_wait(settings)
    security = client_security(settings)
    network = secured_network(settings)
    brokers = _brokers(settings[BOOTSTRAP])

    async def run() -> T:
        world = ClientDeps(network, SystemClock())
        name = settings.get("client.id", "odradek-cli")
        cluster = PatientCluster(world, brokers, name)
        cluster.waits, cluster.seconds = Waits(seconds), seconds
        cluster.in_tls, cluster.is_plain = security.tls is not None, security.is_plain
        cluster.waits.look()
        limit = asyncio.timeout(seconds)
        next_step = SILENT
        try:
            async with limit:
                await _found(cluster, brokers)
                next_step = SEE_HEALTH
                if endless:
                    limit.reschedule(None)
                return await conversation(cluster)
        except TimeoutError:
            if not limit.expired():
                raise
            what = cluster.waits.text() or "the cluster has not answered everything"
            text = f"gave up after {seconds:g} s: {what}{cluster.doubt}"
            raise Failed(text, next_step, UNREACHABLE) from None
        except NotAuthenticated:
            raise
        except ConnectionGone as error:  # of a broker of a cluster that was there
            raise Failed(f"{reason(error)}{cluster.doubt}", next_step, UNREACHABLE) from None
        finally:
            cluster.waits.close()
            cluster.close()

    return asyncio.run(run())


def _brokers(bootstrap: str) -> tuple[Address, ...]:
    try:
        return addresses(bootstrap)
    except InvalidSetting as error:
        raise Failed(str(error), HOW_WRITTEN, MISUSED) from None


async def _found(cluster: Cluster, brokers: Sequence[Address]) -> None:
    """It does not wait for a broker that was never there."""
    try:
        await cluster.any()
    except NotAuthenticated:
        raise
    except ConnectionGone as error:
        host, port = brokers[0]
        why = reason(error).removeprefix(f"{host}:{port}: " if len(brokers) == 1 else "")
        asked = ",".join(map(written, brokers))
        next_step = WHOM_TO_BELIEVE if isinstance(error, TlsFailed) else NO_BROKER
        raise Failed(f"no broker answers at {asked}: {why}", next_step, UNREACHABLE) from None


def secured_network(settings: Mapping[str, str]) -> Network:
    """By which brokers are reached, as the settings ask for."""
    network = SystemNetwork()
    security = client_security(settings)
    if security.is_plain:
        return network
    context = None
    if security.tls is not None:
        made = client_context(security.tls, _read_file)
        context = lambda: made  # noqa: E731 - the same for every connection
    make = security.mechanism_maker(SystemRandom().bytes)
    mechanism = security.mechanism or ""
    login = None if make is None else Login(mechanism, make)
    if security.endpoint is not None:
        login = token_login(mechanism, _tokens(security.endpoint))
    return SecuredNetwork(network, Outgoing(context, login, settings.get("client.id")))


def _tokens(endpoint: TokenEndpoint) -> TokenSource:
    from odradek.security.https import Https

    clock = SystemClock()
    asked = partial(token_of, endpoint, _read_file, Https(clock.monotonic).post)
    return TokenSource(clock, lambda: in_thread(asked))


def _read_file(path: str) -> bytes:
    return Path(path).read_bytes()


def chosen(partitions: Sequence[TopicPartition], numbers: Iterable[int]) -> list[TopicPartition]:
    """Those of these numbers; all, if none is named."""
    by_number = {it.partition: it for it in partitions}
    for number in numbers:
        if number not in by_number:
            topic = partitions[0].topic if partitions else ""
            last = len(partitions) - 1
            raise Failed(f"topic {topic!r} has no partition {number}: they are 0 to {last}")
    return [by_number[number] for number in dict.fromkeys(numbers)] or list(partitions)


def settings_of(pairs: Iterable[str]) -> dict[str, str]:
    """`name=value`, several times."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise InvalidSetting(f"{pair[:80]!r} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found
