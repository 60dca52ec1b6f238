"""Of which kind a cause of `cluster health` is, for programs: no text is parsed."""

from enum import StrEnum


class CauseKind(StrEnum):
    """Kinds that somebody acts upon; an older controller names none."""

    OTHER = "other"
    BEHIND = "behind"
    """A replica has not caught up with a leader: perhaps because one of the two does not answer."""
    APART = "apart"
    """One broker does not reach another, perhaps likewise."""
    BEING_DELETED = "being deleted"
    """A living broker deletes its replica: it passes."""
    NO_STATE = "no state"
    """A partition's state is missing or cannot be read: a person must act."""
    ELSEWHERE = "elsewhere"
    """A broker advertises an address at which another one answers: its setting must be mended."""
