"""Every operation of OdradekAdmin by its name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.broker.handlers.operations import (
    clients,
    cluster_health,
    controller_describe,
    controller_move,
    controller_placement,
    log_dirs,
    replicas,
)
from odradek.broker.handlers.operations.operation import Operation

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {
        it.contract.name: it
        for it in (
            clients.OPERATION,
            cluster_health.OPERATION,
            controller_describe.OPERATION,
            controller_move.OPERATION,
            controller_placement.OPERATION,
            *log_dirs.OPERATIONS,
            replicas.OPERATION,
        )
    }
)
