"""What `/metrics` says, in Prometheus' text format.

The names are those that the exporters for Kafka give its metrics, so that boards and alerts which
people have show our brokers, too. Everything is read when somebody asks; nothing is kept for it but
the counters that the hot path raises.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from odradek.broker.figures.controller_samples import controller_samples
from odradek.broker.figures.families import family_of, heading
from odradek.broker.figures.idleness import Idleness
from odradek.broker.figures.request_times import QUANTILES, Part, RequestTimes
from odradek.broker.figures.sample import Sample
from odradek.broker.figures.transaction_samples import transaction_samples
from odradek.broker.partitions.replicas.added_replicas import added_replicas
from odradek.broker.partitions.replicas.alter_partition_manager import AlterPartitionManager
from odradek.broker.partitions.replicas.traffic import Traffic
from odradek.broker.services import Services
from odradek.model.units import SECOND
from odradek.storage.dirs.log_dir import LogDir
from odradek.wire.apis import APIS

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


SAMPLES_PER_TURN: Final = 500  # about a millisecond


class Kept(NamedTuple):
    """What the page is made of, beside the services."""

    services: Services
    times: RequestTimes
    idleness: Idleness
    isr_changes: AlterPartitionManager
    is_controller: bool


async def page(kept: Kept) -> str:
    """All of it, family by family. Others have their turns while it is made."""
    families: dict[str, list[str]] = {}
    for number, sample in enumerate(_all(kept), 1):
        family = family_of(sample.name)
        lines = families.get(family)
        if lines is None:
            lines = families[family] = heading(family)
        lines.append(str(sample))
        if not number % SAMPLES_PER_TURN:
            await asyncio.sleep(0)
    return "".join(f"{line}\n" for lines in families.values() for line in lines)


def _all(kept: Kept) -> Iterator[Sample]:
    services = kept.services
    yield from _process(services)
    yield from _replicas(services)
    yield from _moves(services)
    yield from _isr(kept)
    yield from controller_samples(services, is_controller=kept.is_controller)
    yield from _traffic(services)
    yield from _connections(services)
    yield from _certificates(services)
    yield from _idleness(kept)
    yield from _times(kept.times)
    yield from _partitions(services)
    yield from _cluster(services)
    yield from _groups(services)
    yield from transaction_samples(services)


def _replicas(services: Services) -> Iterator[Sample]:
    replicas, prefix = services.replicas, "kafka_server_replicamanager_"
    led = replicas.all_led()
    short = [it for it in led if len(it.leader.isr.committed) < it.leader.replication_factor]
    under = [it for it in led if len(it.leader.isr.committed) < it.leader.min_isr]
    at_min = [it for it in led if len(it.leader.isr.committed) == it.leader.min_isr]
    offline = [log_dir for log_dir in replicas.dirs.dirs if log_dir.is_offline]
    yield Sample(f"{prefix}leadercount", len(led))
    yield Sample(f"{prefix}partitioncount", sum(len(it.logs) for it in replicas.dirs.online))
    yield Sample(f"{prefix}underreplicatedpartitions", len(short))
    yield Sample(f"{prefix}underminisrpartitioncount", len(under))
    yield Sample(f"{prefix}atminisrpartitioncount", len(at_min))
    yield Sample(f"{prefix}offlinereplicacount", replicas.offline_count)
    yield Sample("kafka_log_logmanager_offlinelogdirectorycount", len(offline))
    for log_dir in replicas.dirs.dirs:
        labels = (("logdirectory", log_dir.name),)
        yield Sample("kafka_log_logmanager_logdirectoryoffline", log_dir.is_offline, labels)
        yield from _log_dir(services, log_dir, labels)


def _moves(services: Services) -> Iterator[Sample]:
    """Ours: for how long the slowest copy of each kind has stood, though its brokers live."""
    now, living = services.doors.clock.monotonic(), services.cluster.image.brokers
    is_throttled = services.fetches.deps.throttle.applies_to
    added = added_replicas(services.replicas.all_led(), now, is_throttled)
    stands = {
        "reassignment": max((it.stands for it in added if it.broker in living), default=0),
        "log dir": services.replicas.moves.stands,
    }
    for kind, millis in stands.items():
        yield Sample("odradek_move_stands_seconds", millis // SECOND, (("kind", kind),))


def _log_dir(
    services: Services, log_dir: LogDir, labels: tuple[tuple[str, str], ...]
) -> Iterator[Sample]:
    """Ours: Kafka tells of a dir only whether it is offline."""
    logs, prefix = services.replicas.logs, "odradek_log_dir_"
    sizes = (found.size for found in (*log_dir.logs.values(), *log_dir.futures.values()))
    yield Sample(f"{prefix}size_bytes", sum(sizes), labels)
    yield Sample(f"{prefix}hangs", log_dir.name in logs.stuck, labels)
    yield Sample(f"{prefix}warns", log_dir.name in logs.warnings, labels)
    if log_dir.name in logs.room and not log_dir.is_offline:
        free, total = logs.room[log_dir.name]
        yield Sample(f"{prefix}free_bytes", free, labels)
        yield Sample(f"{prefix}total_bytes", total, labels)
    appends = logs.appends[log_dir.name]
    yield Sample(f"{prefix}writes_total", appends.writes, labels)
    yield Sample(f"{prefix}write_microseconds_total", appends.write_micros, labels)


def _process(services: Services) -> Iterator[Sample]:
    for name, value in services.doors.process_figures().items():
        yield Sample(name, value)


def _isr(kept: Kept) -> Iterator[Sample]:
    prefix, changes = "kafka_server_replicamanager_", kept.isr_changes
    yield Sample(f"{prefix}isrshrinks_total", changes.shrinks)
    yield Sample(f"{prefix}isrexpands_total", changes.expands)


def _traffic(services: Services) -> Iterator[Sample]:
    traffics = services.replicas.traffics
    for topic, traffic in sorted(traffics.by_topic.items()):
        yield from _of_topic(traffic, (("topic", topic),))
    yield from _of_topic(traffics.refused, (("topic", ""),))


def _of_topic(traffic: Traffic, labels: tuple[tuple[str, str], ...]) -> Iterable[Sample]:
    prefix = "kafka_server_brokertopicmetrics_"
    for name, value in (
        ("messagesin", traffic.messages_in),
        ("bytesin", traffic.bytes_in),
        ("bytesout", traffic.bytes_out),
        ("totalproducerequests", traffic.produces),
        ("failedproducerequests", traffic.failed_produces),
        ("totalfetchrequests", traffic.fetches),
        ("failedfetchrequests", traffic.failed_fetches),
    ):
        yield Sample(f"{prefix}{name}_total", value, labels)


def _connections(services: Services) -> Iterator[Sample]:
    socket_server = services.socket_server
    prefix = "kafka_server_socketservermetrics_"
    count = len(socket_server.connections)
    yield Sample(f"{prefix}connection_count", count)
    yield Sample("kafka_server_socket_server_metrics_connection_count", count)
    yield Sample(f"{prefix}connection_creation_total", socket_server.accepted)
    yield Sample("odradek_throttled_requests_total", socket_server.quotas.throttled)
    yield Sample("kafka_server_delayedoperationpurgatory_fetch_waiting", services.fetches.waiting)
    cache = "kafka_server_fetchsessioncache_"
    yield Sample(f"{cache}numincrementalfetchsessions", len(services.fetches.sessions))


def _certificates(services: Services) -> Iterator[Sample]:
    """Ours: how long each listener's certificate is still good."""
    now = services.doors.clock.wall()
    for listener, ends in services.certificates.ends.items():
        left = (ends - now) // SECOND
        yield Sample("odradek_certificate_left_seconds", left, (("listener", listener),))


def _idleness(kept: Kept) -> Iterator[Sample]:
    """One loop does what Kafka has network threads and request handlers for."""
    idle = round(kept.idleness.idle_share(), 4)
    yield Sample("kafka_network_socketserver_networkprocessoravgidle_percent", idle)
    yield Sample("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", idle)


def _times(times: RequestTimes) -> Iterator[Sample]:
    for part in Part:
        name = f"kafka_network_requestmetrics_{part}"
        for key, parts in sorted(times.by_key.items()):
            found, labels = parts[part], (("request", APIS[key].name),)
            for share in QUANTILES:
                quantile = (*labels, ("quantile", str(share)))
                yield Sample(name, round(found.quantile(share), 3), quantile)
            yield Sample(f"{name}_sum", found.total / 1_000, labels)
            yield Sample(f"{name}_count", found.count, labels)


def _partitions(services: Services) -> Iterator[Sample]:
    for led in services.replicas.all_led():
        topic, number = led.partition
        labels = (("topic", topic), ("partition", str(number)))
        yield Sample("kafka_log_log_size", led.log.size, labels)
        yield Sample("kafka_topic_partition_oldest_offset", led.log.log_start_offset, labels)
        yield Sample("kafka_topic_partition_current_offset", led.log.high_watermark, labels)
        isr, min_isr = len(led.leader.isr.committed), led.leader.min_isr
        yield Sample("kafka_cluster_partition_underminisr", isr < min_isr, labels)
        yield Sample("kafka_cluster_partition_atminisr", isr == min_isr, labels)
        yield Sample("kafka_cluster_partition_replicascount", led.leader.replica_count, labels)


def _cluster(services: Services) -> Iterator[Sample]:
    """As the controller has told it: of all partitions, those led elsewhere included."""
    for topic in services.cluster.image.topics.values():
        yield Sample("kafka_topic_partitions", len(topic.partitions), (("topic", topic.name),))
        for number, partition in topic.partitions.items():
            labels = (("topic", topic.name), ("partition", str(number)))
            replicas = partition.assignment.replicas
            in_sync = len(partition.state.isr) if partition.state else 0
            prefix = "kafka_topic_partition_"
            preferred = partition.leader is not None and partition.leader == replicas[0]
            leader = -1 if partition.leader is None else partition.leader
            yield Sample(f"{prefix}leader", leader, labels)
            yield Sample(f"{prefix}replicas", len(replicas), labels)
            yield Sample(f"{prefix}in_sync_replica", in_sync, labels)
            yield Sample(f"{prefix}leader_is_preferred", preferred, labels)
            led = services.replicas.find_led((topic.name.encode(), number))
            if led is not None:  # it alone knows which replicas are being added
                is_short = len(led.leader.isr.committed) < led.leader.replication_factor
                yield Sample(f"{prefix}under_replicated_partition", is_short, labels)
            elif partition.leader is None:
                yield Sample(f"{prefix}under_replicated_partition", 1, labels)


def _groups(services: Services) -> Iterator[Sample]:
    """How far those are that are coordinated here; the lag is a rule of deploy/prometheus."""
    for group, partition, committed in services.groups.committed():
        labels = (
            ("consumergroup", group),
            ("topic", partition.topic),
            ("partition", str(partition.partition)),
        )
        yield Sample("kafka_consumergroup_current_offset", committed, labels)
