"""DescribeConfigs (key 32), versions 0 to 4, flexible from 4.

Generated from `codegen/messages/describe_configs.txt` by `python -m codegen`.
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


class DescribeConfigsResource(Struct):
    """Of `DescribeConfigsRequest.resources`."""

    __slots__ = ("resource_type", "resource_name", "configuration_keys")

    FIELDS = (
        Field("resource_type", INT8),
        Field("resource_name", STRING),
        Field("configuration_keys", Array(STRING), null=(0, 32767)),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: Sequence[str] | None = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = configuration_keys


class DescribeConfigsRequest(Request):
    """Versions 0 to 4, flexible from 4."""

    __slots__ = ("resources", "include_synonyms", "include_documentation")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4
    KEY = 32

    FIELDS = (
        Field("resources", Array(DescribeConfigsResource)),
        Field("include_synonyms", BOOL, since=1),
        Field("include_documentation", BOOL, since=3),
    )

    def __init__(
        self,
        resources: Sequence[DescribeConfigsResource] = (),
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation


class DescribeConfigsSynonym(Struct):
    """Of `DescribeConfigsResourceResult.synonyms`."""

    __slots__ = ("name", "value", "source")

    FIELDS = (
        Field("name", STRING),
        Field("value", STRING, null=(0, 32767)),
        Field("source", INT8),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source


class DescribeConfigsResourceResult(Struct):
    """Of `DescribeConfigsResult.configs`."""

    __slots__ = (
        "name",
        "value",
        "read_only",
        "is_default",
        "config_source",
        "is_sensitive",
        "synonyms",
        "config_type",
        "documentation",
    )

    FIELDS = (
        Field("name", STRING),
        Field("value", STRING, null=(0, 32767)),
        Field("read_only", BOOL),
        Field("is_default", BOOL, until=0),
        Field("config_source", INT8, since=1, default=-1, ignorable=True),
        Field("is_sensitive", BOOL),
        Field("synonyms", Array(DescribeConfigsSynonym), since=1, ignorable=True),
        Field("config_type", INT8, since=3, ignorable=True),
        Field("documentation", STRING, since=3, null=(3, 32767), ignorable=True),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        is_default: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: Sequence[DescribeConfigsSynonym] = (),
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.is_default = is_default
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = synonyms
        self.config_type = config_type
        self.documentation = documentation


class DescribeConfigsResult(Struct):
    """Of `DescribeConfigsResponse.results`."""

    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("resource_type", INT8),
        Field("resource_name", STRING),
        Field("configs", Array(DescribeConfigsResourceResult)),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: Sequence[DescribeConfigsResourceResult] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = configs


class DescribeConfigsResponse(Response):
    """Versions 0 to 4, flexible from 4."""

    __slots__ = ("throttle_time_ms", "results")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4
    KEY = 32

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("results", Array(DescribeConfigsResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: Sequence[DescribeConfigsResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = results
