"""What brokers ask the controller, where it is in this very process.

The same handlers answer as for requests by the network, at the versions that brokers speak.
"""

from odradek.broker.control.broker_connections import VERSIONS
from odradek.broker.control.controller_loop import ControllerLoop
from odradek.broker.handlers import (
    allocate_producer_ids,
    alter_partition,
    controlled_shutdown,
    create_topics,
)
from odradek.broker.topics.topic_admin import TopicAdmin
from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from odradek.wire.messages.alter_partition import AlterPartitionRequest
from odradek.wire.messages.controlled_shutdown import ControlledShutdownRequest
from odradek.wire.messages.create_topics import CreateTopicsRequest
from odradek.wire.schema import Request, Response


class ControllerService:
    """Serves them; raises NotController where this broker is not."""

    def __init__(self, controller: ControllerLoop, topic_admin: TopicAdmin) -> None:
        self._controller = controller
        self._topic_admin = topic_admin

    async def serve(self, request: Request) -> Response:
        """The answer; a BrokerError refuses the request as a whole."""
        version = VERSIONS[request.KEY]
        match request:
            case AlterPartitionRequest():
                return await alter_partition.serve(self._controller, request, version)
            case AllocateProducerIdsRequest():
                return await allocate_producer_ids.serve(self._controller, request)
            case ControlledShutdownRequest():
                return await controlled_shutdown.serve(self._controller, request)
            case CreateTopicsRequest():
                return await create_topics.create(self._topic_admin, request, version)
            case _:
                raise AssertionError(request)
