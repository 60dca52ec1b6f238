"""Connections between Kafka processes: the floor on which brokers talk to brokers and clients.

`requests` is the core: frames out and in, correlation ids, requests in flight, deadlines.
`versions` chooses in which version a request goes out. `connection` is the shell on the loop; the
client has a blocking one of its own. `errors` tells a process that is gone from one that is silent.

`controller_channels` carry a controller's requests to brokers, one `broker_channel` for each life
of a broker; what waits in its `control_queue` is merged.
"""
