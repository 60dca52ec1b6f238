"""DeleteTopics (key 20), versions 0 to 6, flexible from 4.

Generated from `codegen/messages/delete_topics.txt` by `python -m codegen`.
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


class DeleteTopicState(Struct):
    """Of `DeleteTopicsRequest.topics`."""

    __slots__ = ("name", "topic_id")

    FIELDS = (
        Field("name", STRING, default=None, null=(0, 32767)),
        Field("topic_id", UUID),
    )

    def __init__(
        self,
        name: str | None = None,
        topic_id: bytes = NO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id


class DeleteTopicsRequest(Request):
    """Versions 0 to 6, flexible from 4."""

    __slots__ = ("topics", "topic_names", "timeout_ms")

    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 4
    KEY = 20

    FIELDS = (
        Field("topics", Array(DeleteTopicState), since=6),
        Field("topic_names", Array(STRING), until=5, ignorable=True),
        Field("timeout_ms", INT32),
    )

    def __init__(
        self,
        topics: Sequence[DeleteTopicState] = (),
        topic_names: Sequence[str] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.topics = topics
        self.topic_names = topic_names
        self.timeout_ms = timeout_ms


class DeletableTopicResult(Struct):
    """Of `DeleteTopicsResponse.responses`."""

    __slots__ = ("name", "topic_id", "error_code", "error_message")

    FIELDS = (
        Field("name", STRING, null=(6, 32767)),
        Field("topic_id", UUID, since=6, ignorable=True),
        Field("error_code", INT16),
        Field("error_message", STRING, since=5, default=None, null=(5, 32767), ignorable=True),
    )

    def __init__(
        self,
        name: str | None = "",
        topic_id: bytes = NO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


class DeleteTopicsResponse(Response):
    """Versions 0 to 6, flexible from 4."""

    __slots__ = ("throttle_time_ms", "responses")

    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 4
    KEY = 20

    FIELDS = (
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("responses", Array(DeletableTopicResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: Sequence[DeletableTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = responses
