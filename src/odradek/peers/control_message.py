"""A control request of the controller: built and encoded once, however many brokers receive it.

LeaderAndIsr, UpdateMetadata and StopReplica differ from receiver to receiver in nothing but the
broker epoch, which stands near the beginning. So the rest is encoded once and shared.
"""

import struct
from collections.abc import Mapping
from copy import copy
from types import MappingProxyType
from typing import Final

from odradek.model.positions import BrokerEpoch
from odradek.peers.requests import EncodedRequest
from odradek.wire.codec import encoded
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest

ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest

VERSIONS: Final[Mapping[int, int]] = MappingProxyType(
    {LeaderAndIsrRequest.KEY: 7, StopReplicaRequest.KEY: 4, UpdateMetadataRequest.KEY: 8}
)
"""Those of inter.broker.protocol.version 3.9."""
EPOCH_AT: Final = 9  # behind the controller's id, its kind and its epoch, in all three
_EPOCH: Final = struct.Struct(">q")


class ControlMessage:
    """One request without a broker epoch."""

    __slots__ = ("_body", "request")

    def __init__(self, request: ControlRequest) -> None:
        self.request = request
        self._body: bytes | None = None  # once somebody needs it

    def encoded_for(self, broker_epoch: BrokerEpoch) -> EncodedRequest:
        """As it goes to one life of a broker."""
        key = self.request.KEY
        version = VERSIONS[key]
        if self._body is None:
            self._body = encoded(self.request, version)
        head = self._body[:EPOCH_AT] + _EPOCH.pack(broker_epoch)
        rest = memoryview(self._body)[len(head) :]
        return EncodedRequest(key, version, [head, rest])

    def request_for(self, broker_epoch: BrokerEpoch) -> ControlRequest:
        """As this process hands it to itself; what is in it is shared."""
        request = copy(self.request)
        request.broker_epoch = broker_epoch
        return request
