"""What one broker tells of itself: who it is, its version, clock, limits, log dirs, listeners.

A broker of Kafka's tells of its log dirs only.
"""

import asyncio
import ipaddress
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from odradek import __version__
from odradek.cli.brokers.cluster_health import (
    DISK_FULL,
    DISK_MAY_FAIL,
    FILES_SHARE,
    MAKE_ROOM,
    lack_of_room,
    problems_of_log_dir,
)
from odradek.cli.diagnosing.doctor_address import Reached, Unreached, World, look, text
from odradek.cli.diagnosing.doctor_finding import Finding, Level, NoAnswer, answered
from odradek.cli.showing.cells import Size, cell
from odradek.client.admin.operations import Wanted, operate_on
from odradek.model.admin_operations import BROKER_HOST, LOG_DIRS_DESCRIBE
from odradek.model.counting import counted
from odradek.model.errors import UnsupportedVersion
from odradek.model.units import SECOND
from odradek.ports import Address
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest

CLOCK_MS_MAX: Final = SECOND
"""More than this, and records of two machines are ordered wrongly by their time."""
DESCRIPTORS_MIN: Final = 65_536


class Told(NamedTuple):
    """What a reached broker said of its host; empty where it is one of Kafka's."""

    reached: Reached
    host: Mapping[str, Any]
    clock_ms: float = 0.0
    """By how much its clock is ahead of ours."""
    doubt_ms: float = 0.0


class Advertised(NamedTuple):
    """A broker as the cluster tells clients of it."""

    number: int
    address: Address
    cluster_id: str | None
    known: Address
    """Where somebody of its cluster answered."""


async def examine(world: World, broker: Advertised) -> tuple[Told | None, list[Finding]]:
    """One broker, at the address that it advertises to us."""
    number, address = broker.number, broker.address
    about = f"broker {number}"
    try:
        reached, doubts = await look(world, address)
    except Unreached as why:
        return None, [_unreached(about, broker, why)]
    findings = [it._replace(about=f"{about}, {it.about}") for it in doubts]
    try:
        told = await _told(world, broker, reached)
    except NoAnswer as why:
        reached.connection.close()
        return None, [*findings, _stranger(about, address, why)]
    findings.append(Finding(Level.OK, "listener", about, f"{text(address)} is reachable from here"))
    findings += [*_version(about, told), *_clock(about, told), *_limits(about, told)]
    findings += await _log_dirs(number, told)
    findings += await _other_listeners(about, address, told)
    return told, findings


def _unreached(about: str, broker: Advertised, why: Unreached) -> Finding:
    """The commonest trouble with containers: a name or a port that is right only inside."""
    next_step = why.next_step
    if why.check in {"name", "port"}:
        next_step = (
            f"start {about} if it is down; otherwise its advertised.listeners must name it as "
            f"clients here see it, as they see {text(broker.known)}"
        )
    here = ", which is this machine" if _is_loopback(broker.address[0]) else ""
    cause = f"advertises {text(broker.address)}{here}: {why}"
    return Finding(Level.ERROR, "listener", about, cause, next_step)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _stranger(about: str, address: Address, why: NoAnswer) -> Finding:
    return Finding(
        Level.ERROR,
        "listener",
        about,
        f"advertises {text(address)}, and who answers there is not this broker: {why}",
        f"advertised.listeners of {about} must lead to itself",
    )


async def _told(world: World, broker: Advertised, reached: Reached) -> Told:
    theirs = reached.metadata.cluster_id
    if theirs != broker.cluster_id:
        raise NoAnswer(f"it belongs to cluster {theirs}, not to {broker.cluster_id}")
    wanted = Wanted(BROKER_HOST, resource=str(broker.number))
    before = world.clock.wall()
    began = world.clock.micros()
    try:
        host = await answered(operate_on(reached.connection, wanted))
    except NoAnswer as why:
        if isinstance(why.__cause__, UnsupportedVersion):
            return Told(reached, {})
        raise
    took = (world.clock.micros() - began) / SECOND
    ahead = host["clock"] - before - took / 2
    return Told(reached, host, ahead, took / 2 + 1)


def _version(about: str, told: Told) -> Iterator[Finding]:
    if not told.host:
        text = "tells no version: it is Kafka's, or older than this command"
        yield Finding(Level.NOTE, "version", about, text)
    elif told.host["version"] != __version__:
        yield Finding(
            Level.NOTE,
            "version",
            about,
            f"runs Odradek {told.host['version']}, and this command is {__version__}",
        )
    else:
        yield Finding(Level.OK, "version", about, f"Odradek {__version__}, as this command")


def _clock(about: str, told: Told) -> Iterator[Finding]:
    if not told.host:
        return
    apart = told.clock_ms
    side = "ahead of" if apart > 0 else "behind"
    if abs(apart) - told.doubt_ms <= CLOCK_MS_MAX:
        how = f"its clock is within {max(abs(apart), told.doubt_ms):.0f} ms of the one here"
        yield Finding(Level.OK, "clock", about, how)
        return
    yield Finding(
        Level.WARNING,
        "clock",
        about,
        f"{abs(apart) / SECOND:.1f} s {side} the one here: retention and searches by time are "
        "off by that, and records too far ahead are refused",
        "synchronise both by NTP, with chrony for instance",
    )


def _limits(about: str, told: Told) -> Iterator[Finding]:
    figures = told.host.get("figures", {})
    most, used = figures.get("process_max_fds"), figures.get("process_open_fds")
    if most is None:
        return
    if used is not None and used > most * FILES_SHARE:
        yield Finding(
            Level.ERROR,
            "limits",
            about,
            f"{used} of {most} descriptors used: soon no connection is taken and no segment begun",
            "LimitNOFILE= of systemd, ulimits of the container; then restart it",
        )
    elif most < DESCRIPTORS_MIN:
        yield Finding(
            Level.WARNING,
            "limits",
            about,
            f"may open {counted(most, 'file')}: each connection and each active segment needs one",
            f"allow {DESCRIPTORS_MIN}: LimitNOFILE= of systemd, ulimits of the container",
        )
    else:
        yield Finding(Level.OK, "limits", about, f"may open {counted(most, 'file')}")


async def _log_dirs(number: int, told: Told) -> list[Finding]:
    about, connection = f"broker {number}", told.reached.connection
    try:
        found = [_sick(about, number, it) for it in await _sick_dirs(number, told)]
        answer = await answered(connection.ask(DescribeLogDirsRequest(topics=[])))
    except NoAnswer as why:
        return [Finding(Level.WARNING, "disks", about, f"tells nothing of its log dirs: {why}")]
    for it in answer.results:
        if it.error_code or it.total_bytes <= 0:
            continue
        free, total = it.usable_bytes, it.total_bytes
        room = f"{it.log_dir}: {cell(Size(free), for_people=True)} free"
        room += f" of {cell(Size(total), for_people=True)}"
        problem = lack_of_room(free, total)
        if problem is None:
            found.append(Finding(Level.OK, "disks", about, room))
            continue
        level = Level.ERROR if problem == DISK_FULL else Level.WARNING
        found.append(Finding(level, "disks", about, f"{problem}: {room}", MAKE_ROOM))
    return found


async def _sick_dirs(number: int, told: Told) -> list[tuple[str, str, str]]:
    if not told.host:
        return []
    wanted = Wanted(LOG_DIRS_DESCRIBE, resource=str(number))
    dirs = (await answered(operate_on(told.reached.connection, wanted)))["dirs"]
    return [(it["dir"], problem, why) for it in dirs for problem, why in problems_of_log_dir(it)]


def _sick(about: str, number: int, found: tuple[str, str, str]) -> Finding:
    where, problem, why = found
    level = Level.WARNING if problem == DISK_MAY_FAIL else Level.ERROR
    replace = f"odradek logdirs replace {shlex.quote(where)} --broker {number}"
    next_step = f"odradek logdirs describe; once a new disk is there, {replace}"
    return Finding(level, "disks", about, f"{problem}: {where}{why}", next_step)


async def _other_listeners(about: str, ours: Address, told: Told) -> list[Finding]:
    """Those that clients here were not told of: brokers may use them, and clients elsewhere."""
    others = [it for it in told.host.get("listeners", ()) if (it["host"], it["port"]) != ours]
    knocks = await asyncio.gather(*(_knock((it["host"], it["port"])) for it in others))
    return [
        Finding(
            Level.NOTE,
            "listener",
            about,
            f"its listener {it['name']} at {text((it['host'], it['port']))} is not reachable "
            f"from here ({why}): clients here need not reach it",
        )
        for it, why in zip(others, knocks, strict=True)
        if why
    ]


async def _knock(address: Address) -> str:
    try:
        _, writer = await answered(asyncio.open_connection(*address))
    except NoAnswer as why:
        return str(why)
    writer.close()
    return ""
