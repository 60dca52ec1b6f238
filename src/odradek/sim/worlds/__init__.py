"""The kinds of worlds that are simulated: machines, workload, faults and promises of each."""

from importlib import import_module
from typing import Final

from odradek.sim.simulation import Simulation

NAMES: Final = ("zookeeper", "log", "broker")
ALL: Final = (*NAMES, "access", "transactions", "cluster")
"""With those of which a few are run each day: each takes long."""

LARGE: Final = ("thousand-partitions", "ten-thousand-partitions")
"""Those that are run by their names alone."""


def kind(name: str) -> type[Simulation]:
    """The kind of this name; only then is what it simulates imported."""
    assert name in {*ALL, *LARGE}, name
    count = name.removesuffix("-partitions").replace("-", "_")
    module = f"many_partitions.{count}" if name in LARGE else f"{name}.world"
    found: type[Simulation] = import_module(f"{__name__}.{module}").KIND
    return found
