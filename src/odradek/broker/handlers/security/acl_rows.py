"""What the three handlers of access rules share: from the numbers of the wire to rules."""

from typing import Any, Final

from odradek.access.filters import MATCH, Filter
from odradek.broker.access.access_rules import AccessRules
from odradek.broker.services import Services
from odradek.model.access import (
    ANY,
    CLUSTER,
    Effect,
    Operation,
    Pattern,
    PatternType,
    ResourceType,
    Rule,
)
from odradek.model.errors import BrokerError, ErrorCode


class SecurityDisabled(BrokerError):
    """There is no authorizer: a rule that is not checked must not seem to protect anything."""

    code = ErrorCode.SECURITY_DISABLED


class InvalidRule(BrokerError):
    """A rule, or a filter of rules, with a part that does not exist."""

    code = ErrorCode.INVALID_REQUEST


NO_AUTHORIZER: Final = "no authorizer is configured: every client may do everything"


def rules_of(services: Services) -> AccessRules:
    """Those of the cluster."""
    if services.rules is None:
        raise SecurityDisabled(NO_AUTHORIZER)
    return services.rules


def rule_of(row: Any) -> tuple[Pattern, Rule]:
    """The rule that a row of CreateAcls asks for; InvalidRule says what is wrong with it."""
    try:
        kind, how = ResourceType(row.resource_type), PatternType(row.resource_pattern_type)
        operation, effect = Operation(row.operation), Effect(row.permission_type)
    except ValueError as error:
        raise InvalidRule(f"the rule contains an element that is not known: {error}") from None
    if kind is ResourceType.CLUSTER and row.resource_name != CLUSTER.name:
        raise InvalidRule(f"The only valid name for the CLUSTER resource is {CLUSTER.name}")
    if not row.resource_name:
        raise InvalidRule("Invalid empty resource name")
    if "/" in row.resource_name:
        raise InvalidRule(f"{row.resource_name!r}: ZooKeeper cannot keep a name with a slash")
    if ":" not in row.principal.strip(":"):
        raise InvalidRule(f"principal {row.principal!r}: expected a type and a name, as User:alice")
    pattern = Pattern(kind, how, row.resource_name)
    return pattern, Rule(row.principal, row.host, operation, effect)


def filter_of(row: Any) -> Filter:
    """Which rules a request of DescribeAcls, or a row of DeleteAcls, is about."""
    known = (
        (row.resource_type_filter, {ANY, *ResourceType}),
        (row.pattern_type_filter, {ANY, MATCH, *PatternType}),
        (row.operation, {ANY, *Operation}),
        (row.permission_type, {ANY, *Effect}),
    )
    if not all(value in values for value, values in known):
        raise InvalidRule(f"the filter contains an element that is not known: {row}")
    return Filter(
        row.resource_type_filter,
        row.pattern_type_filter,
        row.resource_name_filter,
        row.principal_filter,
        row.host_filter,
        row.operation,
        row.permission_type,
    )
