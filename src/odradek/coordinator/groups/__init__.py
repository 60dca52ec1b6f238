"""Consumer groups in the classic protocol, and the offsets that they commit.

**Generations.** The members of a group share out partitions among themselves; the coordinator only
sees that all of them agree. To change the membership everybody joins anew (JoinGroup). When all
are there, or time is up, the generation rises by one, one member is made leader and told who the
others are, and every member brings its assignment up for collection (SyncGroup). The leader's
SyncGroup carries the assignments of all: they are written to the log, and once they are committed
there, handed out. From then on the generation is *stable*: only its members commit
offsets under its number. A member that stays silent for its session timeout is removed, and the
others join again.

**What is written** is one record for a group, when a generation becomes stable, when a static
member changes hands, and when the last member goes; and one for an offset of one partition. What
is not written, dies with the coordinator: a rebalance that was under way. Members then hear of the
new coordinator and join there; the number of the generation that never became stable is used again.

**Idle groups cost nothing but their records.** Only a group with members, or with members to come,
has soft state and timers. An empty group is what the ledger holds of it.

**Static members** (KIP-345) have a name of their own, the group instance id. A process that comes
back under it takes the place of the one before, which is fenced from that moment, and if nothing
else changed the generation goes on.

The format of the records, and every error code, is that of Kafka 3.9.
"""
