"""DeleteShareGroupOffsets (key 92), version 0, flexible from 0.

Generated from `codegen/messages/delete_share_group_offsets.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT16,
    INT32,
    NO_UUID,
    STRING,
    UUID,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class DeleteShareGroupOffsetsRequestTopic(Struct):
    """Of `DeleteShareGroupOffsetsRequest.topics`."""

    __slots__ = ("topic_name",)

    FIELDS = (Field("topic_name", STRING),)

    def __init__(
        self,
        topic_name: str = "",
    ) -> None:
        self.topic_name = topic_name


class DeleteShareGroupOffsetsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("group_id", "topics")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 92

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(DeleteShareGroupOffsetsRequestTopic)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[DeleteShareGroupOffsetsRequestTopic] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class DeleteShareGroupOffsetsResponseTopic(Struct):
    """Of `DeleteShareGroupOffsetsResponse.responses`."""

    __slots__ = ("topic_name", "topic_id", "error_code", "error_message")

    FIELDS = (
        Field("topic_name", STRING),
        Field("topic_id", UUID),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = NO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


class DeleteShareGroupOffsetsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 92

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("responses", Array(DeleteShareGroupOffsetsResponseTopic)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: Sequence[DeleteShareGroupOffsetsResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = responses
