"""Wrong rules behind each of which another rule stands: only without both anything goes wrong.

A controller that was replaced writes nothing, because each of its writes names the version before,
and because each is refused once the epoch is another's; and brokers refuse what it still has to
say by its own epoch, and by that of the leader.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.control import step_runner
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions import replica_manager
from odradek.controller import guarded_writes
from odradek.controller.guarded_writes import StateWrite
from odradek.sim.simulation import Knob
from odradek.sim.worlds.cluster.mistakes.control import (
    any_epoch_obeyed,
    any_role,
    of_any_version,
    unguarded,
)

FENCE_MISTAKES: Final[Mapping[str, tuple[Knob, ...]]] = {
    "no-fence-in-the-tree": (
        Knob(StateWrite, "operations", of_any_version),
        Knob(guarded_writes, "Check", unguarded),
        Knob(step_runner, "Check", unguarded),
    ),
    "no-fence-at-brokers": (
        Knob(MetadataCache, "check", any_epoch_obeyed),
        Knob(replica_manager, "decide_role", any_role),
    ),
}
"""By name."""
