"""What `kafka-producer-perf-test` and `kafka-consumer-perf-test` share."""

from datetime import UTC, datetime


def moment(millis: int) -> str:
    """As Kafka's consumer test prints it."""
    found = datetime.fromtimestamp(millis / 1_000, UTC)
    return f"{found:%Y-%m-%d %H:%M:%S}:{millis % 1_000:03}"


def percentile(latencies: list[int], share: float) -> int:
    """Of sorted numbers."""
    return latencies[min(int(len(latencies) * share), len(latencies) - 1)] if latencies else 0
