"""AlterUserScramCredentials (key 51), version 0, flexible from 0.

Generated from `codegen/messages/alter_user_scram_credentials.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BYTES,
    INT8,
    INT16,
    INT32,
    STRING,
    Array,
    Buffer,
    Field,
    Request,
    Response,
    Struct,
)


class ScramCredentialDeletion(Struct):
    """Of `AlterUserScramCredentialsRequest.deletions`."""

    __slots__ = ("name", "mechanism")

    FIELDS = (
        Field("name", STRING),
        Field("mechanism", INT8),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism


class ScramCredentialUpsertion(Struct):
    """Of `AlterUserScramCredentialsRequest.upsertions`."""

    __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")

    FIELDS = (
        Field("name", STRING),
        Field("mechanism", INT8),
        Field("iterations", INT32),
        Field("salt", BYTES),
        Field("salted_password", BYTES),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: Buffer = b"",
        salted_password: Buffer = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password


class AlterUserScramCredentialsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("deletions", "upsertions")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 51

    FIELDS = (
        Field("deletions", Array(ScramCredentialDeletion)),
        Field("upsertions", Array(ScramCredentialUpsertion)),
    )

    def __init__(
        self,
        deletions: Sequence[ScramCredentialDeletion] = (),
        upsertions: Sequence[ScramCredentialUpsertion] = (),
    ) -> None:
        self.deletions = deletions
        self.upsertions = upsertions


class AlterUserScramCredentialsResult(Struct):
    """Of `AlterUserScramCredentialsResponse.results`."""

    __slots__ = ("user", "error_code", "error_message")

    FIELDS = (
        Field("user", STRING),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message


class AlterUserScramCredentialsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "results")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 51

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("results", Array(AlterUserScramCredentialsResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: Sequence[AlterUserScramCredentialsResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = results
