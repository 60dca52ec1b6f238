"""What operators decide about transactions, and the bounds that are ours."""

from dataclasses import dataclass
from typing import Final, Self

from odradek.config.broker import BrokerConfig
from odradek.config.rows import transactions as rows
from odradek.model.units import SECOND, Millis

PARKED_MS_MAX: Final = Millis(SECOND)
"""So long a client's request waits for the transaction before; then it is told to ask again."""
LOOK_AGAIN_MS: Final = Millis(100)
"""After so long a record that could not be written, or whose fate is not known, is looked at."""
WRITE_MS_MAX: Final = Millis(5 * SECOND)
"""So long a client waits for a record; Kafka's request takes as long."""
SWEEP_IDS: Final = 256
"""Of how many ids is looked in one turn whether they have expired."""
SWEEP_PAUSE_MS: Final = Millis(20)
"""How long others have their turns in between."""


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """The rows of the settings table that transactions read, with their defaults."""

    timeout_max: Millis = rows.TRANSACTION_MAX_TIMEOUT_MS.default
    id_expiration: Millis = rows.TRANSACTIONAL_ID_EXPIRATION_MS.default
    abort_again: Millis = rows.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS.default
    sweep_interval: Millis = rows.TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS.default

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """What this broker was told."""
        return cls(
            timeout_max=config[rows.TRANSACTION_MAX_TIMEOUT_MS],
            id_expiration=config[rows.TRANSACTIONAL_ID_EXPIRATION_MS],
            abort_again=config[rows.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS],
            sweep_interval=config[rows.TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS],
        )
