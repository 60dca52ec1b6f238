"""EndTxn (key 26), versions 0 to 5, flexible from 3.

Generated from `codegen/messages/end_txn.txt` by `python -m codegen`.
"""

from odradek.wire.schema import BOOL, INT16, INT32, INT64, STRING, Field, Request, Response


class EndTxnRequest(Request):
    """Versions 0 to 5, flexible from 3."""

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "committed")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3
    KEY = 26

    FIELDS = (
        Field("transactional_id", STRING),
        Field("producer_id", INT64),
        Field("producer_epoch", INT16),
        Field("committed", BOOL),
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed


class EndTxnResponse(Response):
    """Versions 0 to 5, flexible from 3."""

    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3
    KEY = 26

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("producer_id", INT64, since=5, default=-1, ignorable=True),
        Field("producer_epoch", INT16, since=5, default=-1, ignorable=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
