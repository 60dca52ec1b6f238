"""Kafka's messages as values: primitives, generated schemas, headers, framing."""
