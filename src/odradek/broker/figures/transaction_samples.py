"""What the page says of transactions: in led partitions, and at this coordinator.

How long state partitions took to load is told of groups, too.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from odradek.broker.figures.sample import Sample
from odradek.broker.services import Services
from odradek.config.rows.transactions import TRANSACTION_MAX_TIMEOUT_MS
from odradek.coordinator.transactions.states import WRITTEN
from odradek.model.units import MINUTE

LATE_AFTER: Final = 5 * MINUTE
"""Beyond the longest time-out, as in Kafka."""
MARKERS: Final = (
    "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize"
)


def transaction_samples(services: Services) -> Iterator[Sample]:
    """Late ones hang, or their coordinator is away for long."""
    longest = services.settings.broker[TRANSACTION_MAX_TIMEOUT_MS] + LATE_AFTER
    before = services.doors.clock.wall() - longest
    late = 0
    for led in services.replicas.all_led():
        producers = led.log.producers
        late += any(
            producers.entries[it].timestamp < before for it in producers.open_transactions.values()
        )
    yield Sample("kafka_server_replicamanager_partitionswithlatetransactionscount", late)
    yield Sample(MARKERS, services.markers.without_leader)
    now = services.doors.clock.monotonic()
    for kind, coordinator in (("group", services.groups), ("transaction", services.transactions)):
        longest_load, mean = coordinator.load_times.longest_and_mean(now)
        about = f"kafka_server_{kind}_coordinator_metrics_partition_load_time"
        yield Sample(f"{about}_max", longest_load)
        yield Sample(f"{about}_avg", mean)
    counts = Counter(it.state for _, it in services.transactions.all_known())
    for state in sorted(WRITTEN):
        yield Sample("odradek_transactions", counts[state], (("state", state.title),))
