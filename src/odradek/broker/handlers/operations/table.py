"""Every operation of OdradekAdmin by its name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.broker.handlers.operations import (
    broker_host,
    certificates,
    clients,
    cluster_health,
    controller_describe,
    controller_move,
    controller_placement,
    controller_unprefer,
    coordinators,
    fetchers,
    log_dirs,
    moves,
    replicas,
)
from odradek.broker.handlers.operations.operation import Operation

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {
        it.contract.name: it
        for it in (
            broker_host.OPERATION,
            certificates.OPERATION,
            clients.OPERATION,
            cluster_health.OPERATION,
            controller_describe.OPERATION,
            controller_move.OPERATION,
            controller_placement.OPERATION,
            controller_unprefer.OPERATION,
            coordinators.OPERATION,
            fetchers.OPERATION,
            *log_dirs.OPERATIONS,
            moves.OPERATION,
            replicas.OPERATION,
        )
    }
)
