"""UpdateFeatures (key 57), versions 0 to 2, flexible from 0.

Generated from `codegen/messages/update_features.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    STRING,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class FeatureUpdateKey(Struct):
    """Of `UpdateFeaturesRequest.feature_updates`."""

    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")

    FIELDS = (
        Field("feature", STRING),
        Field("max_version_level", INT16),
        Field("allow_downgrade", BOOL, until=0),
        Field("upgrade_type", INT8, since=1, default=1),
    )

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type


class UpdateFeaturesRequest(Request):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("timeout_ms", "feature_updates", "validate_only")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 57

    FIELDS = (
        Field("timeout_ms", INT32, default=60000),
        Field("feature_updates", Array(FeatureUpdateKey)),
        Field("validate_only", BOOL, since=1),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: Sequence[FeatureUpdateKey] = (),
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = feature_updates
        self.validate_only = validate_only


class UpdatableFeatureResult(Struct):
    """Of `UpdateFeaturesResponse.results`."""

    __slots__ = ("feature", "error_code", "error_message")

    FIELDS = (
        Field("feature", STRING),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message


class UpdateFeaturesResponse(Response):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 57

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("results", Array(UpdatableFeatureResult), until=1, ignorable=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: Sequence[UpdatableFeatureResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = results
