"""What brokers offer, by API key: the last version of each, the first being 0 throughout."""

from typing import Final

from odradek.broker.apis import OFFERED

KAFKA_3_9: Final = {
    0: 11,
    1: 17,
    2: 9,
    3: 12,
    4: 7,
    5: 4,
    6: 8,
    7: 3,
    8: 9,
    9: 9,
    10: 6,
    11: 9,
    12: 4,
    13: 5,
    14: 5,
    15: 5,
    16: 5,
    17: 1,
    18: 4,
    19: 7,
    20: 6,
    21: 2,
    22: 5,
    23: 4,
    24: 5,
    25: 4,
    26: 4,
    27: 1,
    28: 4,
    29: 3,
    30: 3,
    31: 3,
    32: 4,
    33: 2,
    34: 2,
    35: 4,
    36: 2,
    37: 3,
    38: 3,
    39: 2,
    40: 2,
    41: 3,
    42: 2,
    43: 2,
    44: 1,
    45: 0,
    46: 0,
    47: 0,
    48: 1,
    49: 1,
    50: 0,
    51: 0,
    56: 3,
    57: 1,
    58: 0,
    60: 1,
    61: 0,
    65: 0,
    66: 1,
    67: 0,
    68: 0,
    69: 0,
}
"""A broker of Kafka 3.9 that is run with ZooKeeper, unstable versions not switched on."""

ODRADEK: Final = {key: api.offered.stop - 1 for key, api in OFFERED.items()}
"""Our broker: what its table of handlers says."""

SERVED_FROM: Final = {key: api.versions.start for key, api in OFFERED.items()}
"""Older versions are named for the sake of old clients, and refused."""
