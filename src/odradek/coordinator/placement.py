"""Which partition of an internal topic a group or a transactional id belongs to."""

from struct import iter_unpack


def java_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 units, in 32 bits with a sign."""
    value = 0
    for (unit,) in iter_unpack(">H", text.encode("utf-16-be", "surrogatepass")):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def partition_of(subject: str, partitions: int) -> int:
    """As Kafka has it: the hash's absolute value, where that of the least integer is 0."""
    value = java_hash(subject)
    return 0 if value == -(1 << 31) else abs(value) % partitions
