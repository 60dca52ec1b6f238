"""The coordinator of transactions in a broker: `record_topics` over `coordinator.transactions`.

A broker coordinates the transactional ids whose partition of `__transaction_state` it leads. This
module adds what only transactions have: the topic's records, producer ids, markers, the list.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.coordinators.load_times import LoadTimes
from odradek.broker.coordinators.producer_ids import ProducerIds
from odradek.broker.coordinators.record_topics import CoordinatorDeps, CoordinatorShell, RecordTopic
from odradek.broker.coordinators.transaction_markers import TransactionMarkers
from odradek.broker.jobs import begin
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.settings import SettingsSource
from odradek.config.rows import topic as topic_rows
from odradek.coordinator.coordinator import Coordinator, CoordinatorSpec, Place
from odradek.coordinator.transactions import answers, codec
from odradek.coordinator.transactions.machine import TransactionMachine
from odradek.coordinator.transactions.settings import WRITE_MS_MAX, TransactionSettings
from odradek.coordinator.transactions.transactions import Outside
from odradek.coordinator.transactions.values import Ending, Transaction
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.names import TRANSACTION_STATE_TOPIC
from odradek.records.compression import Codec
from odradek.wire.apis import APIS


class TransactionDeps(NamedTuple):
    """What only this coordinator uses of its broker."""

    producer_ids: ProducerIds
    markers: TransactionMarkers
    level: Callable[[], int]  # `transaction.version` of the cluster


class TransactionCoordinator:
    """What the handlers of the APIs of transactions call."""

    def __init__(
        self,
        settings: SettingsSource,
        cluster: MetadataCache,
        own: TransactionDeps,
        deps: CoordinatorDeps,
    ) -> None:
        self.may_answer = deps.may_answer
        self._cluster = cluster
        self._ids = own.producer_ids
        self._tasks = deps.tasks
        rules = TransactionSettings.of(settings.broker)
        outside = Outside(own.producer_ids.take, own.level)
        spec = CoordinatorSpec(
            self._partitions,
            lambda: TransactionMachine(rules, outside),
            answers.refusal,
            WRITE_MS_MAX,
        )
        self._core = Coordinator(spec)
        record_topic = RecordTopic(
            TRANSACTION_STATE_TOPIC,
            codec.encoder(own.level),
            codec.decode,
            lambda: Codec.NONE,
            lambda: settings.topic(TRANSACTION_STATE_TOPIC)[topic_rows.MAX_MESSAGE_BYTES],
        )
        self._shell = CoordinatorShell(self._core, record_topic, deps, own.markers)
        own.markers.on_marked = self._on_marked

    def ask(
        self,
        pending: PendingRequest,
        parts: Sequence[tuple[str, Any]],
        answered: Callable[[list[Any]], None],
    ) -> None:
        """Asks the coordinator of each id; calls `answered` once all have answered."""
        self._shell.ask(pending, parts, answered)

    def ask_with_ids(
        self, pending: PendingRequest, part: tuple[str, Any], answered: Callable[[Any], None]
    ) -> None:
        """Likewise one that may need a new producer id: the controller is asked for some before."""

        def ask() -> None:
            self._shell.ask(pending, (part,), lambda found: answered(found[0]))

        if not self._ids.is_empty or not self.prepare(pending, self._ids.fill, ask):
            ask()

    def prepare(
        self,
        pending: PendingRequest,
        first: Callable[[], Awaitable[object]],
        ask: Callable[[], None],
    ) -> bool:
        """Begins what a request needs first, whatever comes of it, then asks.

        False: the broker stops, and nothing was begun.
        """
        return begin(self._tasks, _in_order(pending, first, ask)) is not None

    def ask_own(
        self, parts: Sequence[tuple[str, Any]], answered: Callable[[list[Any]], None]
    ) -> None:
        """Where this broker asks itself."""
        self._shell.ask_own(parts, answered)

    def partition_of(self, transactional_id: str) -> TopicPartition | None:
        """Where an id belongs; None as long as there is no topic for transactions."""
        partition = self._core.partition_of(transactional_id)
        return None if partition is None else TopicPartition(TRANSACTION_STATE_TOPIC, partition)

    def all_known(self) -> Iterator[tuple[str, Transaction]]:
        """Every id that is coordinated here."""
        for machine in self._core.machines():
            yield from machine.all.known.items()

    @property
    def is_loading(self) -> bool:
        """Whether some are not known yet."""
        return self._core.loading

    @property
    def load_times(self) -> LoadTimes:
        """Of its partitions."""
        return self._shell.load_times

    def unreadable(self) -> Iterator[tuple[TopicPartition, str]]:
        """Its partitions whose logs cannot be read, and why."""
        return self._shell.unreadable()

    def close(self) -> None:
        """The broker stops."""
        self._shell.close()

    def _on_marked(
        self, place: Place, ending: Ending, partitions: Iterable[TopicPartition]
    ) -> None:
        self._shell.on_event(place, lambda machine, now: machine.marked(ending, partitions, now))

    def _partitions(self) -> int:
        topic = self._cluster.image.topics.get(TRANSACTION_STATE_TOPIC)
        return len(topic.partitions) if topic else 0


async def _in_order(
    pending: PendingRequest,
    first: Callable[[], Awaitable[object]],
    ask: Callable[[], None],
) -> None:
    """Without what was to come first the machine refuses, and the client asks again.

    As of any request, a mistake in it ends its connection and not the broker.
    """
    try:
        with suppress(BrokerError):
            await first()
        ask()
    except Exception as error:  # noqa: BLE001 - the last to know what the request came to
        pending.connection.note_bug(APIS[pending.key].name, error)
        pending.connection.hang_up("its request has failed")
