"""The coordinator of transactions in a broker: `record_topics` over `coordinator.transactions`.

A broker coordinates the transactional ids whose partition of `__transaction_state` it leads. This
module adds what only transactions have: the topic's records, producer ids, markers, the list.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from odradek.broker.control.metadata_cache import MetadataCache
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


class TransactionCoordinator(CoordinatorShell[TransactionMachine]):
    """What the handlers of the APIs of transactions call."""

    def __init__(
        self,
        settings: SettingsSource,
        cluster: MetadataCache,
        own: TransactionDeps,
        deps: CoordinatorDeps,
    ) -> None:
        self._cluster = cluster
        self._ids = own.producer_ids
        rules = TransactionSettings.of(settings.broker)
        outside = Outside(own.producer_ids.take, own.level)
        spec = CoordinatorSpec(
            self._partitions,
            lambda: TransactionMachine(rules, outside),
            answers.refusal,
            WRITE_MS_MAX,
        )
        record_topic = RecordTopic(
            TRANSACTION_STATE_TOPIC,
            codec.encoder(own.level),
            codec.decode,
            lambda: Codec.NONE,
            lambda: settings.topic(TRANSACTION_STATE_TOPIC)[topic_rows.MAX_MESSAGE_BYTES],
        )
        super().__init__(Coordinator(spec), record_topic, deps, own.markers)

    def ask_with_ids(
        self, pending: PendingRequest, part: tuple[str, Any], answered: Callable[[Any], None]
    ) -> None:
        """Asks one that may need a new producer id: the controller is asked for some before."""

        def ask() -> None:
            self.ask(pending, (part,), lambda found: answered(found[0]))

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
        return begin(self._deps.tasks, _in_order(pending, first, ask)) is not None

    def all_known(self) -> Iterator[tuple[str, Transaction]]:
        """Every id that is coordinated here."""
        for machine in self._core.machines():
            yield from machine.all.known.items()

    def on_marked(self, place: Place, ending: Ending, partitions: Iterable[TopicPartition]) -> None:
        """Leaders have the markers of a transaction."""
        self.on_event(place, lambda machine, now: machine.marked(ending, partitions, now))

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
