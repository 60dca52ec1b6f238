"""What the stories about the controller's place have in common."""

from odradek.metadata.znodes.controller import (
    ControllerHistory,
    ControllerHistoryZnode,
    NextControllerZnode,
    ReadyToServeZnode,
    Wish,
)
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch
from odradek.sim.scenarios.cluster import ClusterScenario


def wish(t: ClusterScenario, broker: int, *, epoch: int | None = None, name: str = "a") -> None:
    """The controller shall be there; made in the present epoch, if nothing is said."""
    now = ControllerEpoch(t.epoch() if epoch is None else epoch)
    said = Wish(name, BrokerId(broker), now, "an operator")
    t.put(NextControllerZnode.PATH, NextControllerZnode.encode(said))


def await_controller(t: ClusterScenario, broker: int) -> None:
    """Until this one acts, and no other."""
    t.wait_until(lambda: t.acts() == [broker], f"broker {broker} is the controller")
    assert t.controller() == broker


def move(t: ClusterScenario, broker: int) -> None:
    """The controller, to this broker; nothing of the move is left behind."""
    wish(t, broker)
    await_controller(t, broker)
    t.wait_until(lambda: is_tidy(t), "nothing is left of the move")


def is_tidy(t: ClusterScenario) -> bool:
    """Whether no wish stands, and nobody says that it is ready."""
    return t.data(NextControllerZnode.PATH) is None and t.data(ReadyToServeZnode.PATH) is None


def is_ready(t: ClusterScenario) -> bool:
    """Whether a broker says so."""
    return t.data(ReadyToServeZnode.PATH) is not None


def history(t: ClusterScenario) -> ControllerHistory:
    """What is kept for people."""
    return ControllerHistoryZnode.decode(t.data(ControllerHistoryZnode.PATH))


def refusal(t: ClusterScenario, name: str = "a") -> str:
    """Why a wish was taken back, once it was."""

    def told() -> list[str]:
        if t.data(ControllerHistoryZnode.PATH) is None:
            return []
        return [it.refusal for it in history(t).wishes if it.id == name]

    t.wait_until(told, f"it is told what became of {name}")
    return told()[-1]


def other_than(t: ClusterScenario, *numbers: int | None) -> int:
    """The first broker that is none of these."""
    return next(it for it in t.brokers if it not in numbers)
