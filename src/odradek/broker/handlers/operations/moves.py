"""`moves.describe`: replicas that are being added to partitions which the asked broker leads.

Result: `moves`, each with its `topic`, `partition` and `broker`, the `records` that it still lacks,
and for how many milliseconds it `stands`: none has come for so long. Within a throttle none of
those of one broker stands while another of them goes on. Those between two log dirs of the broker
itself are there too: they name the `log_dir` that is filled. `throttled` are the topics that name
throttled replicas, as a verb does that bounds a move; those that name all (`*`) are left out.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from odradek.broker.fetching.replication_throttles import EVERY, THROTTLED_REPLICAS
from odradek.broker.handlers.operations.operation import Call, Decider, Operation, check_broker
from odradek.broker.partitions.replicas.added_replicas import added_replicas
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import MOVES_DESCRIBE


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """Those that have not everything yet."""
    check_broker(services, call)
    return {"moves": list(_moves(services)), "throttled": list(_throttled(services))}


def _moves(services: Services) -> Iterator[Mapping[str, Json]]:
    now = services.doors.clock.monotonic()
    throttle = services.fetches.deps.throttle
    for it in added_replicas(services.replicas.all_led(), now, throttle.applies_to):
        yield {
            "topic": it.partition.topic,
            "partition": it.partition.partition,
            "broker": it.broker,
            "records": it.records,
            "stands": it.stands,
        }
    for copy, stands in services.replicas.moves.standing():
        yield {
            "topic": copy.partition.topic,
            "partition": copy.partition.partition,
            "broker": services.broker_id,
            "log_dir": copy.folder.disk.name,
            "stands": stands,
        }


def _throttled(services: Services) -> Iterator[str]:
    for topic, config in sorted(services.settings.topics.items()):
        named = [it for setting in THROTTLED_REPLICAS for it in config[setting]]
        if named and EVERY not in named:
            yield topic


OPERATION: Final = Operation(MOVES_DESCRIBE, Decider.BROKER, run)
