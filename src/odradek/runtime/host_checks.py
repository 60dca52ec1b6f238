"""What would keep a broker with these settings from working on this host. Nothing is changed."""

import asyncio
import errno
import ipaddress
import os
import resource
import socket
import tempfile
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from odradek.broker.network.authentication import Authentication
from odradek.broker.network.certificates import SOON, Certificates
from odradek.broker.network.token_keys import TokenKeys
from odradek.broker.settings import Settings
from odradek.config.broker import BrokerConfig
from odradek.config.derived import (
    advertised,
    advertises_automatically,
    broker_id,
    log_dirs,
    zookeeper_is_embedded,
)
from odradek.config.findings import Finding, Severity
from odradek.config.listeners import HAS_SASL
from odradek.config.rows import broker, log, network, zookeeper, zookeeper_security
from odradek.config.secured import embedded_tls_texts, protocol_of, zookeeper_texts
from odradek.ensemble.served_names import served_names
from odradek.model.errors import InvalidSetting
from odradek.model.ids import NO_BROKER, BrokerId
from odradek.model.moments import moment_text
from odradek.peers.token_source import TokenSource
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.in_thread import in_thread
from odradek.runtime.doors.small_file import read_small_file
from odradek.security.addresses import reader
from odradek.security.certificates.tls_contexts import client_context
from odradek.security.https import Https
from odradek.security.token_endpoint import TokenEndpoint, token_of
from odradek.security.zookeeper_access import zookeeper_access
from odradek.storage.errors import CorruptFile
from odradek.storage.files.checkpoints import MetaProperties
from odradek.storage.files.names import META_PROPERTIES

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
        yield from _names_in_zookeeper(config)
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
        if not _is_loopback(listener.host) and not config[broker.AUTHORIZER_CLASS_NAME]:
            is_named = protocol_of(config, listener.name) in HAS_SASL
            who = "who logs in at" if is_named else "every host that can reach"
            yield _finding(
                Severity.NOTE,
                name,
                f"{name}: {listener} has no access control: {who} port {listener.port} can read, "
                "write and delete everything",
            )


def _security(config: BrokerConfig) -> Iterator[Finding]:
    """As at a start: stores are opened, login modules read, issuers asked for keys and a token."""
    settings, certificates = Settings(config), Certificates(read_small_file)
    may_have_more = settings.passwords.may_be_kept
    try:
        settings.passwords.check()
        certificates.load(config, admin_alone=may_have_more)
    except InvalidSetting as error:
        yield _finding(Severity.ERROR, _setting_of(error), str(error))
        return
    if may_have_more:
        try:
            certificates.load(config)
        except InvalidSetting as error:
            text = f"{error}; a broker can start if ZooKeeper has what is missing, encrypted"
            yield _finding(Severity.WARNING, _setting_of(error), text)
    try:
        clock = SystemClock()
        keys = TokenKeys(reader(read_small_file, Https(clock.monotonic).read), clock)
        keys.load(config)
        authentication = Authentication(
            settings,
            SystemRandom(),
            certificates,
            read=read_small_file,
            keys=keys,
            new_source=_token_source,
        )
        authentication.check(config)
        asyncio.run(authentication.ready(config))
    except InvalidSetting as error:
        yield _finding(Severity.ERROR, _setting_of(error), str(error))
        return
    now = SystemClock().wall()
    for listener, ends in certificates.ends.items():
        if ends - now <= SOON:
            has = "ends" if ends > now else "has ended"
            is_admin = listener == broker.ADMIN_LISTENER.name
            of_it = listener if is_admin else f"listener.name.{listener.lower()}"
            name = f"{of_it}.ssl.keystore.location"
            text = f"the certificate of listener {listener} {has} {moment_text(ends)}"
            yield _finding(Severity.WARNING, name, text)


def _token_source(endpoint: TokenEndpoint) -> TokenSource:
    clock = SystemClock()
    asked = partial(token_of, endpoint, read_small_file, Https(clock.monotonic).post)
    return TokenSource(clock, lambda: in_thread(asked))


def _setting_of(error: InvalidSetting) -> str:
    return str(error).partition("=")[0].partition(":")[0]


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


def _names_in_zookeeper(config: BrokerConfig) -> Iterator[Finding]:
    """Whether a start would find the stores and the JAAS file, and what it needs in them."""
    file = config[zookeeper_security.JAVA_SECURITY_AUTH_LOGIN_CONFIG]
    try:
        access = zookeeper_access(zookeeper_texts(config), read_small_file)
        if access.tls is not None:
            client_context(access.tls, read_small_file)
        if zookeeper_is_embedded(config):
            served_names(embedded_tls_texts(config), file, read_small_file)
    except InvalidSetting as error:
        yield _finding(Severity.ERROR, _setting_of(error), str(error))


OFFLINE: Final = None
"""As a severity: it depends on the other log dirs."""


def _log_dirs(config: BrokerConfig) -> Iterator[Finding]:
    """A broker starts without a dir that cannot be used, if there is another."""
    name, told = log.LOG_DIRS.name, []
    directories = log_dirs(config)
    for directory in directories:
        try:
            found = _log_dir(Path(directory), broker_id(config))
        except CorruptFile as error:
            found = Severity.ERROR, f"cannot be used: {error}"
        except OSError as error:
            found = OFFLINE, f"cannot be looked at: {error.strerror}"
        if found is not None:
            told.append((directory, *found))
    none_serves = sum(severity is OFFLINE for _, severity, _ in told) == len(directories)
    for directory, severity, what in told:
        text = f"{name}: {directory} {what}"
        if severity is not OFFLINE:
            yield _finding(severity, name, text)
        elif none_serves:
            yield _finding(Severity.ERROR, name, text)
        else:
            yield _finding(Severity.WARNING, name, f"{text}; it is offline from the start")


def _log_dir(path: Path, number: BrokerId) -> tuple[Severity | None, str] | None:
    there = next(it for it in (path, *path.absolute().parents) if it.exists())
    if not there.is_dir():
        what = "is no directory" if there == path else f"cannot be made: {there} is no directory"
        return OFFLINE, what
    if not os.access(there, os.W_OK | os.X_OK):
        what = "is not writable" if there == path else f"cannot be made in {there}"
        return OFFLINE, f"{what} for user {os.geteuid()}"
    owner = _owner(path / META_PROPERTIES)
    if owner is not None and number not in {owner, NO_BROKER}:
        return Severity.ERROR, f"belongs to broker {owner}, not {number}"
    if path.absolute().is_relative_to(tempfile.gettempdir()):
        what = "is a temporary directory: its files may be deleted when the host restarts"
        return Severity.WARNING, what
    return None


def _owner(path: Path) -> BrokerId | None:
    return MetaProperties.decode(path.read_bytes(), str(path)).broker_id if path.exists() else None


def _descriptors() -> Iterator[Finding]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < DESCRIPTORS_MIN:
        yield _finding(
            Severity.WARNING,
            "ulimit -n",
            f"ulimit -n: this user may open {most:,} files; each connection and each active "
            f"segment needs one: allow {DESCRIPTORS_MIN:,} (LimitNOFILE= of systemd)",
        )
