"""The world of `thousand`, with ten thousand: it takes minutes."""

from typing import ClassVar, Final

from odradek.sim.worlds.many_partitions.thousand import ThousandPartitions


class TenThousandPartitions(ThousandPartitions):
    """The kind."""

    name: ClassVar = "ten-thousand-partitions"
    partitions: ClassVar = 10_000
    floors: ClassVar = {"client.acked": 50}


KIND: Final = TenThousandPartitions
