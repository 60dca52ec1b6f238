"""ApiVersions (key 18), versions 0 to 4, flexible from 3.

Generated from `codegen/messages/api_versions.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT16,
    INT32,
    INT64,
    STRING,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class ApiVersionsRequest(Request):
    """Versions 0 to 4, flexible from 3."""

    __slots__ = ("client_software_name", "client_software_version")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 3
    KEY = 18

    FIELDS = (
        Field("client_software_name", STRING, since=3, ignorable=True),
        Field("client_software_version", STRING, since=3, ignorable=True),
    )

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version


class ApiVersion(Struct):
    """Of `ApiVersionsResponse.api_keys`."""

    __slots__ = ("api_key", "min_version", "max_version")

    FIELDS = (
        Field("api_key", INT16),
        Field("min_version", INT16),
        Field("max_version", INT16),
    )

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version


class SupportedFeatureKey(Struct):
    """Of `ApiVersionsResponse.supported_features`."""

    __slots__ = ("name", "min_version", "max_version")

    FIELDS = (
        Field("name", STRING),
        Field("min_version", INT16),
        Field("max_version", INT16),
    )

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version


class FinalizedFeatureKey(Struct):
    """Of `ApiVersionsResponse.finalized_features`."""

    __slots__ = ("name", "max_version_level", "min_version_level")

    FIELDS = (
        Field("name", STRING),
        Field("max_version_level", INT16),
        Field("min_version_level", INT16),
    )

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level


class ApiVersionsResponse(Response):
    """Versions 0 to 4, flexible from 3."""

    __slots__ = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
    )

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 3
    KEY = 18

    FIELDS = (
        Field("error_code", INT16),
        Field("api_keys", Array(ApiVersion)),
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("supported_features", Array(SupportedFeatureKey), since=3, tag=0, ignorable=True),
        Field("finalized_features_epoch", INT64, since=3, default=-1, tag=1, ignorable=True),
        Field("finalized_features", Array(FinalizedFeatureKey), since=3, tag=2, ignorable=True),
        Field("zk_migration_ready", BOOL, since=3, tag=3, ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        api_keys: Sequence[ApiVersion] = (),
        throttle_time_ms: int = 0,
        supported_features: Sequence[SupportedFeatureKey] = (),
        finalized_features_epoch: int = -1,
        finalized_features: Sequence[FinalizedFeatureKey] = (),
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys = api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = finalized_features
        self.zk_migration_ready = zk_migration_ready
