"""Quotas: how much a client may send, fetch and ask for, and how long it has to pause.

Pure: limits and amounts come in, pauses go out. Kafka's arithmetic, so that a client behaves beside
either broker alike. Where the limits are kept is said in `metadata.znodes.settings`; what is done
about a pause is the matter of `broker.network.quotas`.
"""
