"""What goes into an archive of `odradek debug bundle`, and how it is written."""

import asyncio
import io
import json
import os
import ssl
import tarfile
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Final

from odradek.cli.brokers.cluster_health import decided_problems
from odradek.cli.reaching.client_settings import ADMIN_TOKEN
from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.model.admin_operations import BROKER_HOST, CONTROLLER_DESCRIBE, LOG_DIRS_DESCRIBE
from odradek.model.errors import BrokerError, InvalidSetting
from odradek.model.ids import BrokerId
from odradek.security.certificates.tls_contexts import client_context
from odradek.security.certificates.tls_settings import tls_settings

ROOT: Final = "odradek-debug"
CONTENTS: Final = "CONTENTS.txt"
PIECE_SECONDS: Final = 5.0
METRICS_BYTES_MAX: Final = 16 << 20
SECRET: Final = ("password", "secret", "jaas", "credential", "token", "keystore.key")
"""In the name of a setting: its value is left out, whatever the broker says of it."""
ADMIN_LISTENER: Final = "admin.listener"
ADMIN_CERTIFICATE: Final = "admin.listener.ssl.keystore.location"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
EVERYWHERE: Final = frozenset({"", "0.0.0.0", "[::]"})  # noqa: S104 - as settings have it


class Pieces:
    """Files by their names, each with a sentence on what it is; and what could not be had."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.missing: dict[str, str] = {}
        self._sentences: dict[str, str] = {}

    def add(self, name: str, about: str, data: bytes) -> None:
        """One file."""
        self.files[name] = data
        self._sentences[name] = about

    def add_json(self, name: str, about: str, value: object) -> None:
        """One document."""
        self.add(name, about, json.dumps(value, indent=2, default=str).encode())

    def miss(self, name: str, why: str) -> None:
        """It is not in the archive."""
        self.missing[name] = why

    async def take(self, name: str, about: str, work: Awaitable[object]) -> Any:
        """A document, if it comes; the archive is also for clusters that are ill."""
        try:
            async with asyncio.timeout(PIECE_SECONDS):
                value = await work
        except (BrokerError, OSError, TimeoutError) as error:
            self.miss(name, str(error) or f"not within {PIECE_SECONDS:g} s")
            return None
        if isinstance(value, bytes):
            self.add(name, about, value)
        else:
            self.add_json(name, about, value)
        return value

    def contents(self) -> bytes:
        """The list of it all."""
        width = max(map(len, self.files), default=0)
        lines = [
            f"{name:{width}}  {len(data):>9} bytes  {self._sentences[name]}"
            for name, data in sorted(self.files.items())
        ]
        lines += [f"missing: {name}: {why}" for name, why in sorted(self.missing.items())]
        return "\n".join(("No record and no secret is in here.", "", *lines, "")).encode()


async def gather(cluster: Cluster, pieces: Pieces, settings: Mapping[str, str]) -> None:
    """What brokers tell, to a client with these settings."""
    await pieces.take("cluster.json", "brokers, topics, partitions", _described(cluster))
    await pieces.take("health.json", "what the controller knows to be wrong", _health(cluster))
    controller = operate(cluster, Wanted(CONTROLLER_DESCRIBE))
    await pieces.take("controller.json", "the controller, and what it has to do", controller)
    brokers = sorted(cluster.brokers)
    await asyncio.gather(*(_broker(cluster, pieces, settings, it) for it in brokers))


async def _described(cluster: Cluster) -> object:
    answer = await cluster.refresh(None)
    return {
        "cluster_id": answer.cluster_id,
        "controller": answer.controller_id,
        "brokers": [
            {"id": it.node_id, "host": it.host, "port": it.port, "rack": it.rack}
            for it in answer.brokers
        ],
        "topics": {
            topic.name: [
                {
                    "partition": it.partition_index,
                    "leader": it.leader_id,
                    "leader_epoch": it.leader_epoch,
                    "replicas": list(it.replica_nodes),
                    "isr": list(it.isr_nodes),
                    "offline": list(it.offline_replicas),
                }
                for it in topic.partitions
            ]
            for topic in answer.topics
        },
    }


async def _health(cluster: Cluster) -> object:
    found = await decided_problems(cluster)
    return [{**it._asdict(), "partitions": dict(it.partitions)} for it in found]


async def _broker(
    cluster: Cluster, pieces: Pieces, client: Mapping[str, str], broker: BrokerId
) -> None:
    folder = f"broker-{broker}"
    for name, about, operation in (
        ("host", "its version, clock, listeners and process", BROKER_HOST),
        ("logdirs", "its log dirs: states, sizes, moves", LOG_DIRS_DESCRIBE),
    ):
        work = operate(cluster, Wanted(operation, resource=str(broker), broker=broker))
        await pieces.take(f"{folder}/{name}.json", about, work)
    settings = await pieces.take(
        f"{folder}/settings.json",
        "its settings; of secret ones only that they are set",
        _settings(cluster, broker),
    )
    listener = (settings or {}).get(ADMIN_LISTENER)
    if listener:
        where, _, port = listener.rpartition(":")
        host = where.strip("[]")
        if where in EVERYWHERE:
            host = cluster.brokers[broker].address[0]
        page = _metrics((host, port), client, has_tls=bool(settings.get(ADMIN_CERTIFICATE)))
        await pieces.take(f"{folder}/metrics.txt", "its metrics", page)


async def _settings(cluster: Cluster, broker: BrokerId) -> dict[str, object]:
    rows = await admin.describe_settings(cluster, admin.BROKER, str(broker))
    return {
        row.name: "[hidden]"
        if row.is_sensitive or any(word in row.name for word in SECRET)
        else row.value
        for row in sorted(rows, key=lambda row: row.name)
    }


def _context(client: Mapping[str, str]) -> ssl.SSLContext:
    """As for the other listeners, also where the client speaks to those without TLS."""
    return client_context(tls_settings(client), lambda path: Path(path).read_bytes())


async def _metrics(at: tuple[str, str], client: Mapping[str, str], *, has_tls: bool) -> bytes:
    """The token is shown within TLS, or on this machine: a broker's answer may be forged."""
    host, port = at
    context = _context(client) if has_tls else None
    token = client.get(ADMIN_TOKEN) if has_tls or host in LOOPBACK else None
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    try:
        shown = f"Authorization: Bearer {token}\r\n" if token else ""
        writer.write(f"GET /metrics HTTP/1.0\r\nHost: {host}\r\n{shown}\r\n".encode())
        found = bytearray()
        while len(found) < METRICS_BYTES_MAX and (some := await reader.read(1 << 16)):
            found += some
    finally:
        writer.close()
    head, _, content = bytes(found).partition(b"\r\n\r\n")
    status = head.partition(b"\r\n")[0].partition(b" ")[2].decode("latin-1")
    if status.startswith("401"):
        raise InvalidSetting(f"{ADMIN_TOKEN}: the broker's metrics need the right one")
    if not status.startswith("200"):
        raise OSError(f"the admin listener answers {status}")
    return content


def tail(path: Path, size: int) -> bytes:
    """The last bytes of a file, from the beginning of a line."""
    with path.open("rb") as file:
        whole = file.seek(0, os.SEEK_END)
        file.seek(max(0, whole - size))
        data = file.read(size)
    return data if whole <= size else data.partition(b"\n")[2]


def write(out: Path, pieces: Pieces) -> int:
    """The archive, for its owner's eyes; its size."""
    files = {**pieces.files, CONTENTS: pieces.contents()}
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name, data in sorted(files.items()):
                entry = tarfile.TarInfo(f"{ROOT}/{name}")
                entry.size, entry.mode = len(data), 0o600
                archive.addfile(entry, io.BytesIO(data))
        return file.tell()
