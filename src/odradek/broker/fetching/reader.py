"""Who reads: a consumer or a follower. It decides how far, from which replica, and who is told."""

from dataclasses import dataclass

from odradek.model.ids import BrokerId
from odradek.model.positions import NO_BROKER_EPOCH, BrokerEpoch


@dataclass(frozen=True, slots=True)
class Consumer:
    """Reads what is committed: up to the high watermark, or up to the last stable offset."""

    committed_only: bool = False  # read_committed: nothing of an open transaction
    reads_from_followers: bool = False  # it is new enough to be sent to one (KIP-392)
    rack: str = ""


@dataclass(frozen=True, slots=True)
class Follower:
    """Reads up to the end of the log; where it fetches from says how far its own log goes."""

    broker: BrokerId
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH  # -1: it does not say


Reader = Consumer | Follower
