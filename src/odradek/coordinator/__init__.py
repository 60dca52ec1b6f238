"""Coordinators: what is decided for groups and for transactions. Pure.

**Write first, then believe.** A coordinator owns partitions of an internal topic, and its state is
what the log says. So a request is answered in three steps. `decide` looks at the state and returns
records, without changing what they are about. The shell appends them. Once they are below the high
watermark, where no clean election can lose them, `replay` applies them, and only then the answer
goes out. Nothing but `replay` changes this *hard* state; a coordinator that takes over reads the
log through the same `replay`, and so failover is no new path.

Hard state is therefore exactly the committed prefix of the log, and reading it means reading
nothing that could still be lost. Records that were decided but are not yet committed are *in
flight*: few decisions care, and those that do ask which keys are. Their requests are unanswered, so
whatever is decided meanwhile is concurrent to them; the order in the log is the order of the
decisions.

*Soft* state is what goes on between members right now: who waits for whom, which timer runs. It
dies with the coordinator, and members find out and join again. Whatever a member may rely on
afterwards, such as its share of the partitions, is written before the member is told.

What brokers are to be told, the shell *sends* until they have it: its answer is an event like any
other. Since a record decides, nothing is sent before the record is committed.

A `Shard` is the runtime for one partition of the topic, a `Machine` the rules that stand on it, a
`Coordinator` holds the shards of one broker. All are told `now`, and know no clock, disk or socket.
"""
