"""ControlledShutdown (key 7), versions 0 to 3, flexible from 3.

Generated from `codegen/messages/controlled_shutdown.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, INT64, STRING, Array, Field, Request, Response, Struct


class ControlledShutdownRequest(Request):
    """Versions 0 to 3, flexible from 3."""

    __slots__ = ("broker_id", "broker_epoch")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 3
    KEY = 7

    FIELDS = (
        Field("broker_id", INT32),
        Field("broker_epoch", INT64, since=2, default=-1, ignorable=True),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch


class RemainingPartition(Struct):
    """Of `ControlledShutdownResponse.remaining_partitions`."""

    __slots__ = ("topic_name", "partition_index")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partition_index", INT32),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class ControlledShutdownResponse(Response):
    """Versions 0 to 3, flexible from 3."""

    __slots__ = ("error_code", "remaining_partitions")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 3
    KEY = 7

    FIELDS = (
        Field("error_code", INT16),
        Field("remaining_partitions", Array(RemainingPartition)),
    )

    def __init__(
        self,
        error_code: int = 0,
        remaining_partitions: Sequence[RemainingPartition] = (),
    ) -> None:
        self.error_code = error_code
        self.remaining_partitions = remaining_partitions
