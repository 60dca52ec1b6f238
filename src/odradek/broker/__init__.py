"""The broker on the loop: connections, requests, partitions, groups, and the way to ZooKeeper.

A shell over the cores of the floors below. Here bytes are moved, effects
being carried out in their order, and waiting; what follows from what is decided in the cores. The
world comes through doors (`doors.Doors`), so that `runtime` and `sim` can stand behind them.

A request goes this way: `connection` cuts frames from a stream, `dispatch` finds the API and hands
the decoded request to its handler, one module each in `handlers`, together with a `PendingRequest`,
the place of the answer. Handlers of requests that come by the thousand are plain functions, which
answer now or later; those of rarer ones are coroutines. What they work with are the `Services`.
"""
