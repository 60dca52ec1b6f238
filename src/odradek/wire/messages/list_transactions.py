"""ListTransactions (key 66), versions 0 to 2, flexible from 0.

Generated from `codegen/messages/list_transactions.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, INT64, STRING, Array, Field, Request, Response, Struct


class ListTransactionsRequest(Request):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = (
        "state_filters",
        "producer_id_filters",
        "duration_filter",
        "transactional_id_pattern",
    )

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 66

    FIELDS = (
        Field("state_filters", Array(STRING)),
        Field("producer_id_filters", Array(INT64)),
        Field("duration_filter", INT64, since=1, default=-1),
        Field("transactional_id_pattern", STRING, since=2, default=None, null=(2, 32767)),
    )

    def __init__(
        self,
        state_filters: Sequence[str] = (),
        producer_id_filters: Sequence[int] = (),
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters = state_filters
        self.producer_id_filters = producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern


class TransactionState(Struct):
    """Of `ListTransactionsResponse.transaction_states`."""

    __slots__ = ("transactional_id", "producer_id", "transaction_state")

    FIELDS = (
        Field("transactional_id", STRING),
        Field("producer_id", INT64),
        Field("transaction_state", STRING),
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state


class ListTransactionsResponse(Response):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 66

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("unknown_state_filters", Array(STRING)),
        Field("transaction_states", Array(TransactionState)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: Sequence[str] = (),
        transaction_states: Sequence[TransactionState] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = unknown_state_filters
        self.transaction_states = transaction_states
