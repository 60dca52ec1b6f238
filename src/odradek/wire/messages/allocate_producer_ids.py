"""AllocateProducerIds (key 67), version 0, flexible from 0.

Generated from `codegen/messages/allocate_producer_ids.txt` by `python -m codegen`.
"""

from odradek.wire.schema import INT16, INT32, INT64, Field, Request, Response


class AllocateProducerIdsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("broker_id", "broker_epoch")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 67

    FIELDS = (
        Field("broker_id", INT32),
        Field("broker_epoch", INT64, default=-1),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch


class AllocateProducerIdsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "producer_id_start", "producer_id_len")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 67

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("producer_id_start", INT64),
        Field("producer_id_len", INT32),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len
