"""What probes and scrapers see: health and metrics, over the admin listener."""

import asyncio
import itertools
import json
import re
from pathlib import Path

import pytest

from odradek.broker.figures.families import HELP, family_of
from odradek.broker.figures.pages import CONNECTIONS_MAX, Page
from odradek.broker.figures.request_times import Times
from odradek.ports import Stream
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.sim.doors.worker import SimulatedWorker
from odradek.sim.stage.machine import Machine
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.metadata import MetadataRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.external.tools import ROOT
from tests.unit.broker.stage import Stage

GET = b"GET %b HTTP/1.1\r\nHost: broker\r\n\r\n"


class Visitor:
    """Sends something, and keeps what comes back until the end."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.answer = bytearray()
        self.over = asyncio.Event()
        self._room = memoryview(bytearray(65_536))

    def attach(self, stream: Stream) -> "Visitor":
        """Speaks first."""
        stream.send([self.request])
        return self

    def buffer(self) -> memoryview:
        """The same room each time."""
        return self._room

    def received(self, count: int) -> None:
        """Some of the answer."""
        self.answer += self._room[:count]

    def drained(self) -> None:
        """All was sent."""

    def closed(self, error: OSError | None) -> None:
        """The answer is whole."""
        del error
        self.over.set()

    async def visit(self, stage: Stage) -> None:
        """Until the connection ends."""
        await stage.clients.network.connect(("broker", 9644), self.attach)
        await self.over.wait()

    @property
    def page(self) -> tuple[str, str]:
        """The status line and the content."""
        head, _, content = bytes(self.answer).partition(b"\r\n\r\n")
        return head.split(b"\r\n")[0].decode(), content.decode()


def visit(stage: Stage, request: bytes) -> tuple[str, str]:
    """What comes back."""
    visitor = Visitor(request)
    stage.world.ask("clients", visitor.visit(stage))
    return visitor.page


def get(stage: Stage, path: str) -> tuple[str, str]:
    """A page."""
    return visit(stage, GET % path.encode())


def test_a_broker_that_accepts_traffic_is_live_and_ready() -> None:
    """A probe needs no more than the status line of the answer."""
    with Stage() as stage:
        assert get(stage, "/health/live") == ("HTTP/1.1 200 OK", "live\n")
        assert get(stage, "/health/ready") == ("HTTP/1.1 200 OK", "ready\n")


def test_a_broker_that_is_not_ready_says_whether_it_starts_or_stops() -> None:
    """An operator waits for the one, and not for the other."""
    unavailable = "HTTP/1.1 503 Service Unavailable"
    with Stage() as stage:
        for each in stage.running.doors.dirs:
            assert isinstance(each.worker, SimulatedWorker)
            each.worker.hang()
        stage.running.stop()
        stage.run(1)
        assert get(stage, "/health/ready") == (unavailable, "stopping\n")
        stage.kill()
        with stage.settings(zookeeper_connect="nowhere:2181"):
            stage.machine.start(stage._live)
            stage.run(1)
            assert get(stage, "/health/ready") == (unavailable, "starting\n")


@pytest.mark.parametrize("said", ["", "Authorization: Bearer wrong", "Authorization: Basic open"])
def test_metrics_without_the_token_are_refused(said: str) -> None:
    """Probes need none, and who has it gets the page."""
    with Stage(admin_listener_token="open sesame") as stage:
        head = b"GET /metrics HTTP/1.1\r\nHost: broker\r\n%b\r\n\r\n"
        refused = visit(stage, head % said.encode())
        assert refused == ("HTTP/1.1 401 Unauthorized", "this page needs a token\n")
        right = visit(stage, head % b"authorization: bearer open sesame")
        assert right[0] == "HTTP/1.1 200 OK"
        assert "kafka_server" in right[1]
        assert get(stage, "/health/ready")[0] == "HTTP/1.1 200 OK"


def test_a_page_that_cannot_be_made_is_not_the_end_of_the_broker() -> None:
    """It is told so; everybody else goes on."""

    async def stumble() -> Page:
        raise ZeroDivisionError

    with Stage() as stage:
        stage.running.pages.pages = {**stage.running.pages.pages, "/metrics": stumble}
        visitor = Visitor(GET % b"/metrics")
        with pytest.raises(ZeroDivisionError):  # that is how a world takes it
            stage.world.ask("clients", visitor.visit(stage))
        stage.world.run(seconds=1)
        assert visitor.page[0] == "HTTP/1.1 500 Internal Server Error"
        assert get(stage, "/health/ready")[1] == "ready\n"


def test_a_log_dir_that_failed_is_counted_with_its_replicas() -> None:
    """Those are what an alert watches."""
    with Stage() as stage:
        stage.make("orders", partitions=4)
        stage.running.services_of_this_life.dir_admin.set_offline("broker/disk-a")
        stage.run(1)
        _, content = get(stage, "/metrics")
    for line in (
        "kafka_log_logmanager_offlinelogdirectorycount 1",
        'kafka_log_logmanager_logdirectoryoffline{logdirectory="broker/disk-a"} 1',
        'kafka_log_logmanager_logdirectoryoffline{logdirectory="broker/disk-b"} 0',
        "kafka_server_replicamanager_offlinereplicacount 2",
    ):
        assert line in content.splitlines()


def test_the_page_of_metrics_has_the_names_that_boards_know() -> None:
    """Counted in the broker, under the names of the exporters for Kafka."""
    with Stage() as stage:
        stage.make("orders", partitions=2)
        client = stage.client()
        client.produce("orders", "a", "b", "c")
        client.fetch("orders", 0)
        status, content = get(stage, "/metrics")
    assert status == "HTTP/1.1 200 OK"
    lines = content.splitlines()
    for line in (
        "kafka_server_replicamanager_leadercount 2",
        "kafka_server_replicamanager_underreplicatedpartitions 0",
        "kafka_controller_kafkacontroller_activecontrollercount 1",
        "kafka_log_logmanager_offlinelogdirectorycount 0",
        "kafka_server_replicamanager_offlinereplicacount 0",
        'kafka_server_brokertopicmetrics_messagesin_total{topic="orders"} 3',
        'kafka_server_brokertopicmetrics_totalfetchrequests_total{topic="orders"} 1',
        'kafka_topic_partition_current_offset{topic="orders",partition="0"} 3',
        "# TYPE kafka_server_brokertopicmetrics_messagesin_total counter",
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount 0",
        "kafka_controller_kafkacontroller_controllerstate 0",
        "kafka_controller_controllerstats_uncleanleaderelections_total 0",
        'kafka_controller_controllereventmanager_events_total{event="CreationAsked"} 1',
        "kafka_server_replicamanager_isrshrinks_total 0",
        "kafka_controller_controllerchannelmanager_totalqueuesize 0",
    ):
        assert line in lines, content
    assert 'kafka_controller_controllerchannelmanager_queuesize{broker="' in content
    assert any(
        line.startswith('kafka_network_requestmetrics_totaltimems{request="Produce"')
        for line in lines
    )


def values(stage: Stage, *names: str) -> list[float]:
    """Of families, each the sum over its labels."""
    lines = get(stage, "/metrics")[1].splitlines()
    rows = [re.fullmatch(r"(\w+)(?:{.*})? (\S+)", line) for line in lines]
    return [sum(float(row[2]) for row in rows if row and row[1] == name) for name in names]


def test_what_the_board_reads_is_what_was_done() -> None:
    """Bytes as they are stored, requests that were refused, who is connected and registered."""
    topic = "kafka_server_brokertopicmetrics_"
    counted = ("messagesin", "bytesin", "bytesout", "failedproducerequests", "failedfetchrequests")
    names = [f"{topic}{it}_total" for it in counted]
    connections = "kafka_server_socketservermetrics_connection_count"
    batch = build_batch([Record(0, 1_700_000_000_000, None, b"a"), Record(1, 0, None, b"b")])
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "first")
        before = values(stage, *names, connections)
        assert client.produce_batch("orders", batch).error_code == 0
        assert client.fetch("orders", 1).error_code == 0
        after = values(stage, *names, connections)
        told = [now - then for now, then in zip(after, before, strict=True)]
        assert told == [2, len(batch), len(batch), 0, 0, 0]
        assert client.produce_batch("orders", bytes(batch[:-1]) + b"x").error_code != 0
        assert client.fetch("orders", 99).error_code != 0
        stage.client("another").fetch("orders", 0)
        last = values(stage, *names, connections)
        assert [now - then for now, then in zip(last[3:], after[3:], strict=True)] == [1, 1, 1]
        assert values(stage, "kafka_brokers") == [1]
        stage.run(31)
        assert values(stage, "odradek_log_dir_size_bytes")[0] > len(batch)


def test_the_page_tells_what_the_controller_does() -> None:
    """While an event waits for ZooKeeper, one sees of which kind it is, by Kafka's number."""
    with Stage() as stage:
        times = stage.running.services_of_this_life.controller.times
        times.begin("AlterPartitionAsked", times.now)
        assert "kafkacontroller_controllerstate 9\n" in get(stage, "/metrics")[1]
        times.end()
        assert "kafkacontroller_controllerstate 0\n" in get(stage, "/metrics")[1]


def test_a_deleted_topic_is_not_counted_any_more() -> None:
    """Or the page, and the memory behind it, would grow with every topic that ever was."""
    deleted = DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=30_000)
    with Stage() as stage:
        stage.make("orders", partitions=3)
        client = stage.client()
        client.produce("orders", "a", "b", "c")
        assert 'messagesin_total{topic="orders"} 3\n' in get(stage, "/metrics")[1]
        assert client.ask(deleted).responses[0].error_code == 0
        assert "orders" not in get(stage, "/metrics")[1]
        stage.make("orders")
        assert 'messagesin_total{topic="orders"} 0\n' in get(stage, "/metrics")[1]


def test_all_of_a_family_stands_together() -> None:
    """As the format asks for, also where there are many partitions, of which one has many."""
    with Stage() as stage:
        stage.make("orders", partitions=3)
        lines = get(stage, "/metrics")[1].splitlines()
    families = [re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")]
    names = [name.removesuffix("_sum").removesuffix("_count") for name in families]
    together = [name for name, _ in itertools.groupby(names)]
    assert len(together) == len(set(together))
    assert names.count("kafka_log_log_size") == 3


def test_the_page_tells_what_a_lag_is_made_of() -> None:
    """The position where the group is coordinated, the end where the partition is led."""
    with Stage() as stage:
        stage.make("orders", partitions=2)
        client = stage.client()
        client.produce("orders", "a", "b", "c", partition=1)
        done = OffsetCommitRequestPartition(1, committed_offset=1)
        topics = [OffsetCommitRequestTopic("orders", partitions=[done])]
        client.ask(FindCoordinatorRequest("readers"), 3)  # so that its topic is made
        stage.run(2)
        answer = client.ask(OffsetCommitRequest("readers", topics=topics), 8)
        assert answer.topics[0].partitions[0].error_code == 0
        lines = get(stage, "/metrics")[1].splitlines()
    readers = 'consumergroup="readers",topic="orders",partition="1"'
    for line in (
        f"kafka_consumergroup_current_offset{{{readers}}} 1",
        'kafka_topic_partition_current_offset{topic="orders",partition="1"} 3',
        'kafka_topic_partitions{topic="orders"} 2',
        'kafka_topic_partition_in_sync_replica{topic="orders",partition="0"} 1',
        'kafka_topic_partition_leader_is_preferred{topic="orders",partition="0"} 1',
        'kafka_cluster_partition_replicascount{topic="orders",partition="0"} 1',
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent 1",
    ):
        assert line in lines, lines


PARTS = ("total", "requestqueue", "local", "remote", "responsequeue", "responsesend")
BOARDS = (
    *(f"kafka_network_requestmetrics_{part}timems" for part in PARTS),
    *(
        f"kafka_server_replicamanager_{name}"
        for name in (
            "underreplicatedpartitions",
            "partitioncount",
            "leadercount",
            "underminisrpartitioncount",
            "atminisrpartitioncount",
            "offlinereplicacount",
            "isrshrinks_total",
            "isrexpands_total",
            "partitionswithlatetransactionscount",
        )
    ),
    *(
        f"kafka_server_brokertopicmetrics_{name}_total"
        for name in (
            "bytesin",
            "bytesout",
            "messagesin",
            "totalproducerequests",
            "failedproducerequests",
            "totalfetchrequests",
            "failedfetchrequests",
        )
    ),
    *(
        f"kafka_server_{kind}_coordinator_metrics_partition_load_time_{figure}"
        for kind in ("group", "transaction")
        for figure in ("max", "avg")
    ),
    "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
    "kafka_controller_kafkacontroller_activecontrollercount",
    "kafka_controller_kafkacontroller_offlinepartitionscount",
    "kafka_network_socketserver_networkprocessoravgidle_percent",
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "kafka_log_log_size",
    "kafka_log_logmanager_offlinelogdirectorycount",
    "kafka_server_replicamanager_offlinereplicacount",
    "odradek_log_dir_size_bytes",
    "odradek_log_dir_hangs",
    "odradek_log_dir_writes_total",
    "odradek_log_dir_write_microseconds_total",
    "kafka_cluster_partition_underminisr",
    "kafka_cluster_partition_atminisr",
    "kafka_cluster_partition_replicascount",
    "kafka_consumergroup_current_offset",
    "kafka_topic_partition_current_offset",
    "kafka_topic_partition_oldest_offset",
    "kafka_topic_partition_in_sync_replica",
    "kafka_topic_partition_leader_is_preferred",
    "kafka_topic_partition_under_replicated_partition",
    "kafka_topic_partition_replicas",
    "kafka_topic_partition_leader",
    "kafka_topic_partitions",
    "kafka_server_socket_server_metrics_connection_count",
    "kafka_brokers",
    "kafka_broker_info",
)
"""What the exporters for Kafka call what concerns one broker, and boards and alerts look for."""
NOT_SHOWN = (
    "kafka_log_logflushstats_logflushrateandtimems",
    "kafka_controller_controllereventmanager_eventqueuetimems",
    "kafka_server_brokertopicmetrics_invalidmessagecrcrecords_total",
    "kafka_server_brokertopicmetrics_nokeycompactedtopicrecords_total",
)


def test_no_name_that_boards_look_for_is_missing() -> None:
    """Each is on the page of a broker with a topic and a group, or operators read why it is not."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "a")
        topics = [
            OffsetCommitRequestTopic("orders", partitions=[OffsetCommitRequestPartition(0, 1)])
        ]
        client.ask(FindCoordinatorRequest("readers"), 3)
        stage.run(2)
        client.ask(OffsetCommitRequest("readers", topics=topics), 8)
        lines = get(stage, "/metrics")[1].splitlines()
    shown = {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")}
    assert set(BOARDS) <= shown, set(BOARDS) - shown
    told = (ROOT / "docs" / "operations.md").read_text()
    for name in NOT_SHOWN:
        assert name not in shown
        assert f"`{name}`" in told, name


def test_every_family_has_its_help() -> None:
    """One line of HELP and one of TYPE stand above the samples of each."""
    with Stage() as stage:
        stage.make("orders")
        lines = get(stage, "/metrics")[1].splitlines()
    names = {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")}
    for family in map(family_of, names):
        at = next(
            number for number, line in enumerate(lines) if line.startswith(f"# HELP {family} ")
        )
        assert lines[at + 1].startswith(f"# TYPE {family} "), family


NAME = re.compile(r"\b(?:kafka|odradek|process)_[a-z_]+")
AROUND = sorted((ROOT / "deploy").glob("**/*.json")) + sorted((ROOT / "deploy").glob("**/*.yml"))


@pytest.mark.parametrize("file", AROUND, ids=lambda file: file.name)
def test_the_board_and_the_alerts_ask_for_what_there_is(file: Path) -> None:
    """A panel without data, or an alert that can never fire, is worse than none."""
    text = file.read_text()
    if file.suffix == ".json":
        panels = json.loads(text)["panels"]
        text = "\n".join(it["expr"] for panel in panels for it in panel["targets"])
    asked = {family_of(name) for name in NAME.findall(text)}
    assert asked
    recorded = set(
        re.findall(r"- record: (\w+)", (ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())
    )
    assert asked <= {*HELP, *recorded}, asked - set(HELP)


def part_of(content: str, part: str, api: str) -> float:
    """The sum of all times, in milliseconds."""
    name = f'kafka_network_requestmetrics_{part}_sum{{request="{api}"}} '
    (found,) = [it for it in content.splitlines() if it.startswith(name)]
    return float(found.removeprefix(name))


def test_the_time_of_a_request_is_split_into_its_parts() -> None:
    """What a fetch waits for others is not ours; what stands behind it waits for its turn."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.fetch("orders", 0, max_wait_ms=1_000)
        waiting = client.send_fetch("orders", 0, max_wait_ms=500)
        client.ask(MetadataRequest(topics=None))
        client.answer_to(waiting)
        content = get(stage, "/metrics")[1]
    remote = part_of(content, "remotetimems", "Fetch")
    assert 1_500 <= remote < 1_510
    assert remote <= part_of(content, "totaltimems", "Fetch") < remote + 10
    assert part_of(content, "localtimems", "Fetch") < 10
    assert 490 < part_of(content, "responsequeuetimems", "Metadata") < 510


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /nothing HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
        (b"hello\r\n\r\n", "HTTP/1.1 400 Bad Request"),
        (b"x" * 9_000, "HTTP/1.1 400 Bad Request"),
    ],
)
def test_what_is_no_page_is_refused(request_line: bytes, status: str) -> None:
    """In a bounded room, and the broker goes on."""
    with Stage() as stage:
        assert visit(stage, request_line)[0] == status


def test_a_visitor_who_says_nothing_is_sent_away() -> None:
    """After ten seconds of silence the connection is closed."""
    with Stage() as stage:
        assert visit(stage, b"GET /health") == ("", "")


def test_visitors_who_say_nothing_keep_no_probe_out() -> None:
    """The oldest of them gives way: a probe without an answer would end a broker that is well."""
    with Stage() as stage:
        silent = [Visitor(b"GET /health") for _ in range(CONNECTIONS_MAX + 10)]

        async def stand_about() -> None:
            for visitor in silent:
                await stage.clients.network.connect(("broker", 9644), visitor.attach)

        stage.world.ask("clients", stand_about())
        stage.run(0.1)
        assert [it.over.is_set() for it in silent] == [True] * 10 + [False] * CONNECTIONS_MAX
        assert get(stage, "/health/live") == ("HTTP/1.1 200 OK", "live\n")


def test_quantiles_are_read_from_buckets() -> None:
    """To within the bucket that a time fell into."""
    times = Times()
    for micros in (100, 100, 100, 5_000):
        times.add(micros)
    assert 0.064 <= times.quantile(0.5) <= 0.128
    assert 4.096 <= times.quantile(0.99) <= 8.192


class SecondOnItsMachine(Stage):
    """The port of the pages is another broker's."""

    async def _live(self, machine: Machine) -> None:
        await machine.network.listen(("127.0.0.1", 9644), Visitor(b"").attach)
        await super()._live(machine)


def test_the_default_port_of_the_pages_gives_way() -> None:
    """A second broker of a machine needs no setting for it."""
    with SecondOnItsMachine() as stage:
        address = stage.running.pages.address
        assert address is not None
        assert address[1] != 9644
