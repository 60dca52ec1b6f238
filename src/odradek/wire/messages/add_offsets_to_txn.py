"""AddOffsetsToTxn (key 25), versions 0 to 4, flexible from 3.

Generated from `codegen/messages/add_offsets_to_txn.txt` by `python -m codegen`.
"""

from odradek.wire.schema import INT16, INT32, INT64, STRING, Field, Request, Response


class AddOffsetsToTxnRequest(Request):
    """Versions 0 to 4, flexible from 3."""

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "group_id")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 3
    KEY = 25

    FIELDS = (
        Field("transactional_id", STRING),
        Field("producer_id", INT64),
        Field("producer_epoch", INT16),
        Field("group_id", STRING),
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id


class AddOffsetsToTxnResponse(Response):
    """Versions 0 to 4, flexible from 3."""

    __slots__ = ("throttle_time_ms", "error_code")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 3
    KEY = 25

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
