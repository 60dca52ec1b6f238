"""A small Kafka client on the Network and Clock doors: for our tools, pipelines and simulations.

`connection` is one connection with pipelined requests; `cluster` finds who leads what and asks
again where that helps; `producer`, `reader`, `member` and `admin` stand on it. It does what those
need, and is no library for applications: they bring the clients they have.
"""
