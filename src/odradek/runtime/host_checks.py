"""What would keep a broker with these settings from working on this host. Nothing is changed."""

import errno
import ipaddress
import os
import resource
import socket
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from odradek.broker.network.authentication import Authentication
from odradek.broker.network.certificates import Certificates
from odradek.broker.settings import Settings
from odradek.config.broker import BrokerConfig
from odradek.config.derived import (
    advertised,
    advertises_automatically,
    log_dirs,
    zookeeper_is_embedded,
)
from odradek.config.findings import Finding, Severity
from odradek.config.rows import broker, log, network, zookeeper
from odradek.model.errors import InvalidSetting
from odradek.runtime.chance import SystemRandom

DESCRIPTORS_MIN: Final = 65_536
CONNECT_SECONDS: Final = 1.0


def examine_host(config: BrokerConfig, wrong: Collection[str] = ()) -> Iterator[Finding]:
    """Settings that are `wrong` by themselves are left out."""
    if network.LISTENERS.name not in wrong:
        yield from _listeners(config)
        if network.ADVERTISED_LISTENERS.name not in wrong:
            yield from _advertised(config)
    if not wrong:
        yield from _security(config)
    yield from _embedded_zookeeper(config)
    if zookeeper.ZOOKEEPER_CONNECT.name not in wrong:
        yield from _ensemble(config)
    if not {log.LOG_DIRS.name, log.LOG_DIR.name} & set(wrong):
        yield from _log_dirs(config)
    yield from _descriptors()


def _finding(severity: Severity, name: str, sentence: str) -> Finding:
    return Finding(severity, (name,), sentence)


def _listeners(config: BrokerConfig) -> Iterator[Finding]:
    name = network.LISTENERS.name
    for listener in config[network.LISTENERS]:
        if error := _cannot_listen(listener.host, listener.port):
            is_taken = error.errno == errno.EADDRINUSE
            severity = Severity.WARNING if is_taken else Severity.ERROR
            why = "another process listens there now" if is_taken else error.strerror
            yield _finding(severity, name, f"{name}: {listener}: {why}")
        if not _is_loopback(listener.host):
            yield _finding(
                Severity.NOTE,
                name,
                f"{name}: {listener} has no access control: every host that can reach port "
                f"{listener.port} can read, write and delete everything",
            )


def _security(config: BrokerConfig) -> Iterator[Finding]:
    """Certificates, keys and trust stores are opened as a broker would; login modules are read."""
    settings, certificates = Settings(config), Certificates(lambda path: Path(path).read_bytes())
    try:
        certificates.load(config)
        Authentication(settings, SystemRandom(), certificates).check(config)
    except InvalidSetting as error:
        name = str(error).partition(":")[0].partition("=")[0]
        yield _finding(Severity.ERROR, name, str(error))


def _cannot_listen(host: str, port: int) -> OSError | None:
    try:
        (family, kind, _, _, address), *_ = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return error
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _advertised(config: BrokerConfig) -> Iterator[Finding]:
    """Clients connect to what the broker tells them, not to what they were given at first."""
    if advertises_automatically(config):
        return
    name = network.ADVERTISED_LISTENERS.name
    bound = {it.name: it.host for it in config[network.LISTENERS]}
    for listener in advertised(config):
        host = listener.host or socket.gethostname()
        if _is_loopback(host) and not _is_loopback(bound.get(listener.name, host)):
            yield _finding(
                Severity.WARNING,
                name,
                f"{name}: {listener}: clients on other hosts are told to connect to {host}, which "
                "is themselves; name this host, or use advertised.listeners=auto",
            )
        elif not _resolves(host):
            yield _finding(
                Severity.WARNING, name, f"{name}: {listener}: no address is found for {host}"
            )


def _resolves(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


def _embedded_zookeeper(config: BrokerConfig) -> Iterator[Finding]:
    if not zookeeper_is_embedded(config):
        return
    host, port = (
        config[zookeeper.ZOOKEEPER_EMBEDDED_HOST],
        config[zookeeper.ZOOKEEPER_EMBEDDED_PORT],
    )
    name = zookeeper.ZOOKEEPER_EMBEDDED_PORT.name
    if port and (error := _cannot_listen(host, port)):
        yield _finding(Severity.WARNING, name, f"{name}={port} at {host}: {error.strerror}")
    where = config[broker.ADMIN_LISTENER]
    if where and not where.endswith(":0") and config.is_set(broker.ADMIN_LISTENER):
        at, _, number = where.rpartition(":")
        if error := _cannot_listen(at.strip("[]"), int(number)):
            name = broker.ADMIN_LISTENER.name
            yield _finding(Severity.WARNING, name, f"{name}={where}: {error.strerror}")


def _ensemble(config: BrokerConfig) -> Iterator[Finding]:
    said = config[zookeeper.ZOOKEEPER_CONNECT]
    if said is None or zookeeper_is_embedded(config):
        return
    name = zookeeper.ZOOKEEPER_CONNECT.name
    silent = []
    servers = said.partition("/")[0].split(",")
    for server in servers:
        host, _, port = server.strip().rpartition(":")
        try:
            address = (host.strip("[]"), int(port))
            socket.create_connection(address, CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            silent.append(f"{server} ({getattr(error, 'strerror', None) or error})")
    if silent:
        few = len(silent) <= (len(servers) - 1) // 2
        rest = "; a majority answers" if few else "; the broker waits until one does"
        text = f"{name}: no connection to {', '.join(silent)}{rest}"
        yield _finding(Severity.WARNING, name, text)


def _log_dirs(config: BrokerConfig) -> Iterator[Finding]:
    name = log.LOG_DIRS.name
    for directory in log_dirs(config):
        try:
            found = _log_dir(Path(directory))
        except OSError as error:
            found = Severity.ERROR, f"cannot be looked at: {error.strerror}"
        if found is not None:
            severity, what = found
            yield _finding(severity, name, f"{name}: {directory} {what}")


def _log_dir(path: Path) -> tuple[Severity, str] | None:
    there = next(it for it in (path, *path.absolute().parents) if it.exists())
    if not there.is_dir():
        what = "is no directory" if there == path else f"cannot be made: {there} is no directory"
        return Severity.ERROR, what
    if not os.access(there, os.W_OK | os.X_OK):
        what = "is not writable" if there == path else f"cannot be made in {there}"
        return Severity.ERROR, f"{what} for user {os.geteuid()}"
    if path.absolute().is_relative_to(tempfile.gettempdir()):
        what = "is a temporary directory: its files may be deleted when the host restarts"
        return Severity.WARNING, what
    return None


def _descriptors() -> Iterator[Finding]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < DESCRIPTORS_MIN:
        yield _finding(
            Severity.WARNING,
            "ulimit -n",
            f"ulimit -n: this user may open {most:,} files; each connection and each active "
            f"segment needs one: allow {DESCRIPTORS_MIN:,} (LimitNOFILE= of systemd)",
        )
