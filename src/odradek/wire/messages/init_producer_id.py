"""InitProducerId (key 22), versions 0 to 6, flexible from 2.

Generated from `codegen/messages/init_producer_id.txt` by `python -m codegen`.
"""

from odradek.wire.schema import BOOL, INT16, INT32, INT64, STRING, Field, Request, Response


class InitProducerIdRequest(Request):
    """Versions 0 to 6, flexible from 2."""

    __slots__ = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable_2pc",
        "keep_prepared_txn",
    )

    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 2
    KEY = 22

    FIELDS = (
        Field("transactional_id", STRING, null=(0, 32767)),
        Field("transaction_timeout_ms", INT32),
        Field("producer_id", INT64, since=3, default=-1),
        Field("producer_epoch", INT16, since=3, default=-1),
        Field("enable_2pc", BOOL, since=6),
        Field("keep_prepared_txn", BOOL, since=6),
    )

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable_2pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable_2pc = enable_2pc
        self.keep_prepared_txn = keep_prepared_txn


class InitProducerIdResponse(Response):
    """Versions 0 to 6, flexible from 2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
        "ongoing_txn_producer_id",
        "ongoing_txn_producer_epoch",
    )

    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 2
    KEY = 22

    FIELDS = (
        Field("throttle_time_ms", INT32, ignorable=True),
        Field("error_code", INT16),
        Field("producer_id", INT64, default=-1),
        Field("producer_epoch", INT16),
        Field("ongoing_txn_producer_id", INT64, since=6, default=-1),
        Field("ongoing_txn_producer_epoch", INT16, since=6, default=-1),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch
