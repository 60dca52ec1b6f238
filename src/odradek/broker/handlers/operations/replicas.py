"""`replicas.describe`: the logs of the broker that is asked, for a `topic`, led or not.

Result: `replicas`, each with its `partition`, `log_start_offset`, `log_end_offset`,
`high_watermark` and `bytes`, the newest `leader_epoch` of which it has heard (-1: none), and its
`incarnation`. No API of Kafka's tells of a replica that has no leader.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation, check_broker
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import REPLICAS_DESCRIBE


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """Those in log dirs that serve."""
    check_broker(services, call)
    topic = call.arguments.text("topic")
    logs = [
        found
        for log_dir in services.replicas.dirs.online
        for partition, found in sorted(log_dir.logs.items())
        if partition.topic == topic
    ]
    return {
        "replicas": [
            {
                "partition": it.partition.partition,
                "log_start_offset": it.log_start_offset,
                "log_end_offset": it.log_end_offset,
                "high_watermark": it.high_watermark,
                "bytes": it.size,
                "leader_epoch": services.replicas.newest_epoch(it),
                "incarnation": it.incarnation,
            }
            for it in logs
        ]
    }


OPERATION: Final = Operation(REPLICAS_DESCRIBE, Decider.BROKER, run)
