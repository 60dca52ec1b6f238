"""DescribeUserScramCredentials (key 50), version 0, flexible from 0.

Generated from `codegen/messages/describe_user_scram_credentials.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT8, INT16, INT32, STRING, Array, Field, Request, Response, Struct


class UserName(Struct):
    """Of `DescribeUserScramCredentialsRequest.users`."""

    __slots__ = ("name",)

    FIELDS = (Field("name", STRING),)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class DescribeUserScramCredentialsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("users",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 50

    FIELDS = (Field("users", Array(UserName), null=(0, 32767)),)

    def __init__(
        self,
        users: Sequence[UserName] | None = (),
    ) -> None:
        self.users = users


class CredentialInfo(Struct):
    """Of `DescribeUserScramCredentialsResult.credential_infos`."""

    __slots__ = ("mechanism", "iterations")

    FIELDS = (
        Field("mechanism", INT8),
        Field("iterations", INT32),
    )

    def __init__(
        self,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


class DescribeUserScramCredentialsResult(Struct):
    """Of `DescribeUserScramCredentialsResponse.results`."""

    __slots__ = ("user", "error_code", "error_message", "credential_infos")

    FIELDS = (
        Field("user", STRING),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("credential_infos", Array(CredentialInfo)),
    )

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: Sequence[CredentialInfo] = (),
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = credential_infos


class DescribeUserScramCredentialsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 50

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("results", Array(DescribeUserScramCredentialsResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: Sequence[DescribeUserScramCredentialsResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = results
