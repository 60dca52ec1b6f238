"""CreateDelegationToken (key 38), versions 0 to 3, flexible from 2.

Generated from `codegen/messages/create_delegation_token.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BYTES,
    INT16,
    INT32,
    INT64,
    STRING,
    Array,
    Buffer,
    Field,
    Request,
    Response,
    Struct,
)


class CreatableRenewers(Struct):
    """Of `CreateDelegationTokenRequest.renewers`."""

    __slots__ = ("principal_type", "principal_name")

    FIELDS = (
        Field("principal_type", STRING),
        Field("principal_name", STRING),
    )

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


class CreateDelegationTokenRequest(Request):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 38

    FIELDS = (
        Field("owner_principal_type", STRING, since=3, null=(3, 32767)),
        Field("owner_principal_name", STRING, since=3, null=(3, 32767)),
        Field("renewers", Array(CreatableRenewers)),
        Field("max_lifetime_ms", INT64),
    )

    def __init__(
        self,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: Sequence[CreatableRenewers] = (),
        max_lifetime_ms: int = 0,
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = renewers
        self.max_lifetime_ms = max_lifetime_ms


class CreateDelegationTokenResponse(Response):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = (
        "error_code",
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
    )

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 38

    FIELDS = (
        Field("error_code", INT16),
        Field("principal_type", STRING),
        Field("principal_name", STRING),
        Field("token_requester_principal_type", STRING, since=3),
        Field("token_requester_principal_name", STRING, since=3),
        Field("issue_timestamp_ms", INT64),
        Field("expiry_timestamp_ms", INT64),
        Field("max_timestamp_ms", INT64),
        Field("token_id", STRING),
        Field("hmac", BYTES),
        Field("throttle_time_ms", INT32),
    )

    def __init__(
        self,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: Buffer = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms
