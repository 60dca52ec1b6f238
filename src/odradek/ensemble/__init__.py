"""ZooKeeper on the loop: the shells of the client's session and of the embedded server.

They move bytes between the pure cores of `odradek.zookeeper` and the doors Clock, Network and
Journal, and decide nothing. They open no socket and no file themselves, so the real world and the
simulator run the same code: `client` is what the broker holds, `server` is what
`odradek zookeeper serve` and a broker without `zookeeper.connect` start.
"""
