"""The client's side of a session: packets in, packets out."""
