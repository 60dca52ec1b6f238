"""Talking to a cluster: what every verb does that is not about files."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from odradek.cli.client_settings import BOOTSTRAP, client_settings
from odradek.cli.failing import UNREACHABLE, Failed
from odradek.cli.options import options
from odradek.cli.patience import PatientCluster, Waits
from odradek.client.addresses import addresses
from odradek.client.cluster import ClientDeps, Cluster
from odradek.model.errors import InvalidSetting
from odradek.model.ids import TopicPartition
from odradek.peers.errors import ConnectionGone, NotAuthenticated
from odradek.peers.secured_network import Login, Outgoing, SecuredNetwork
from odradek.ports import Network
from odradek.runtime.chance import SystemRandom
from odradek.runtime.clock import SystemClock
from odradek.runtime.network import SystemNetwork
from odradek.security.client_settings import client_security
from odradek.security.tls_contexts import client_context

T = TypeVar("T")


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
    network = secured_network(settings)

    async def run() -> T:
        world = ClientDeps(network, SystemClock())
        name = settings.get("client.id", "odradek-cli")
        cluster = PatientCluster(world, addresses(settings[BOOTSTRAP]), name)
        cluster.waits, cluster.seconds = Waits(seconds), seconds
        cluster.waits.look()
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                await _found(cluster, settings[BOOTSTRAP])
                if endless:
                    limit.reschedule(None)
                return await conversation(cluster)
        except TimeoutError:
            if not limit.expired():
                raise
            what = cluster.waits.text() or "the cluster has not answered everything"
            raise Failed(f"gave up after {seconds:g} s: {what}", code=UNREACHABLE) from None
        finally:
            cluster.waits.close()
            cluster.close()

    return asyncio.run(run())


async def _found(cluster: Cluster, bootstrap: str) -> None:
    """It does not wait for a broker that was never there."""
    try:
        await cluster.any()
    except NotAuthenticated:
        raise
    except ConnectionGone as error:
        raise Failed(
            f"no broker answers at {bootstrap}: {reason(error)}",
            "odradek up starts a broker; --bootstrap HOST:PORT names another",
            UNREACHABLE,
        ) from None


def secured_network(settings: Mapping[str, str]) -> Network:
    """By which brokers are reached, as the settings ask for."""
    network = SystemNetwork()
    security = client_security(settings)
    if security.is_plain:
        return network
    context = None
    if security.tls is not None:
        made = client_context(security.tls, lambda path: Path(path).read_bytes())
        context = lambda: made  # noqa: E731 - the same for every connection
    make = security.mechanism_maker(SystemRandom().bytes)
    login = None if make is None else Login(security.mechanism or "", make)
    return SecuredNetwork(network, Outgoing(context, login, settings.get("client.id")))


def reason(error: BaseException) -> str:
    """Why a connection failed, in the kernel's words."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.strerror and cause.errno:
        # asyncio's text is "[Errno 111] Connect call failed (...)"; the number says it shorter
        return os.strerror(cause.errno).lower() if cause.errno > 0 else cause.strerror
    return str(error)


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
