"""DescribeDelegationToken (key 41), versions 0 to 3, flexible from 2.

Generated from `codegen/messages/describe_delegation_token.txt` by `python -m codegen`.
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


class DescribeDelegationTokenOwner(Struct):
    """Of `DescribeDelegationTokenRequest.owners`."""

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


class DescribeDelegationTokenRequest(Request):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("owners",)

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 41

    FIELDS = (Field("owners", Array(DescribeDelegationTokenOwner), null=(0, 32767)),)

    def __init__(
        self,
        owners: Sequence[DescribeDelegationTokenOwner] | None = (),
    ) -> None:
        self.owners = owners


class DescribedDelegationTokenRenewer(Struct):
    """Of `DescribedDelegationToken.renewers`."""

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


class DescribedDelegationToken(Struct):
    """Of `DescribeDelegationTokenResponse.tokens`."""

    __slots__ = (
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp",
        "expiry_timestamp",
        "max_timestamp",
        "token_id",
        "hmac",
        "renewers",
    )

    FIELDS = (
        Field("principal_type", STRING),
        Field("principal_name", STRING),
        Field("token_requester_principal_type", STRING, since=3),
        Field("token_requester_principal_name", STRING, since=3),
        Field("issue_timestamp", INT64),
        Field("expiry_timestamp", INT64),
        Field("max_timestamp", INT64),
        Field("token_id", STRING),
        Field("hmac", BYTES),
        Field("renewers", Array(DescribedDelegationTokenRenewer)),
    )

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: Buffer = b"",
        renewers: Sequence[DescribedDelegationTokenRenewer] = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers = renewers


class DescribeDelegationTokenResponse(Response):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("error_code", "tokens", "throttle_time_ms")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 41

    FIELDS = (
        Field("error_code", INT16),
        Field("tokens", Array(DescribedDelegationToken)),
        Field("throttle_time_ms", INT32),
    )

    def __init__(
        self,
        error_code: int = 0,
        tokens: Sequence[DescribedDelegationToken] = (),
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.tokens = tokens
        self.throttle_time_ms = throttle_time_ms
