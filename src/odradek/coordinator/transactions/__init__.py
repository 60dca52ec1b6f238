"""Transactions: records and offsets in many partitions that become visible together, or not at all.

**Identity.** A transactional id stands for one producer, whichever process it is now. Its
coordinator gives it a producer id and an epoch. Every new process gets a higher epoch, and who
comes with a lower one is fenced: by the coordinator, and by every log that has heard of the higher
one. An epoch that is used up makes way for another producer id.

**One transaction** at a time. It is *ongoing* from the first partition that is added to it. To end
it, the coordinator writes that it is *prepared* to commit, or to abort. That record decides: once
it is committed to the log of `__transaction_state` nothing can turn the outcome. Then every leader
of a partition in it is told, by a *marker*, and told again until it has it. When the last one has,
the transaction is *complete*, which is written too, and the next one may begin.

**A coordinator that dies** leaves the outcome in the log. The next one finds what was prepared and
sends all its markers again; a log that has one already, has it twice, which changes nothing.

**Two versions.** In the first the epoch is that of the process. A request of the last transaction
that arrives late, in the next one, cannot be told from one that is meant for it. In the second
(KIP-890) every transaction has an epoch of its own: the record that decides raises it. One table of
states serves both, and which rules hold is what the version of the request says.

**Requests of clients wait** for markers that are under way, up to a second, in the order in which
they came. Requests of brokers, which are about many transactions, are answered at once.

Records are those of Kafka, byte for byte, apart from the order of partitions, which Kafka leaves to
its hash tables.
"""
