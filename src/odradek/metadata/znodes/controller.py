"""/admin: where the controller shall be (KIP-39), who is ready to be it, and who has been.

    /admin/next_controller      persistent: the wish; the later one replaces the earlier
    /admin/ready_to_serve       ephemeral: the broker that is wished for has loaded the image
    /admin/controller_history   persistent: the last controllers, and what became of the last wishes

A wish belongs to the controller epoch in which it was made. Once the controller has nothing under
way any more it writes into the wish what it alone knows; the broker that is named may replace it
then, as long as the wish stands in that version. Kafka knows none of these paths and leaves them
alone.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.metadata.json_body import Body, Json, encoded
from odradek.metadata.znodes.topic import legal_topic
from odradek.model.ids import BrokerId, TopicPartition, by_topic
from odradek.model.positions import BrokerEpoch, ControllerEpoch
from odradek.model.units import Timestamp

CONTROLLERS_KEPT: Final = 100
WISHES_KEPT: Final = 20
WHY_CHARACTERS_MAX: Final = 200


class BrokerFacts(NamedTuple):
    """What a controller knows of one life of a broker, and the tree does not."""

    broker: BrokerId
    epoch: BrokerEpoch
    offline: tuple[TopicPartition, ...] = ()  # replicas on log dirs that failed
    unclean: tuple[TopicPartition, ...] = ()  # replicas that lack records
    shuts_down: bool = False


class Wish(NamedTuple):
    """The controller shall be at this broker. `facts` are there once it is handed over."""

    id: str
    broker: BrokerId
    epoch: ControllerEpoch
    why: str
    facts: tuple[BrokerFacts, ...] | None = None

    @property
    def is_handed_over(self) -> bool:
        """Whether the broker may replace the controller of that epoch."""
        return self.facts is not None


class NextControllerZnode:
    """The wish."""

    PATH: Final = "/admin/next_controller"

    @staticmethod
    def encode(wish: Wish) -> bytes:
        """With what is handed over, if it is."""
        handed = {} if wish.facts is None else {"handed_over": list(map(_facts, wish.facts))}
        return encoded(
            {
                "version": 1,
                "broker": wish.broker,
                "epoch": wish.epoch,
                "id": wish.id,
                "why": wish.why[:WHY_CHARACTERS_MAX],
                **handed,
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Wish:
        """The wish."""
        body = Body.parse(cls.PATH, data)
        body.integer("version", low=1)
        handed = body.bodies("handed_over") if body.has("handed_over") else None
        return Wish(
            body.text("id"),
            BrokerId(body.integer("broker", low=0)),
            ControllerEpoch(body.integer("epoch", low=0)),
            body.text("why")[:WHY_CHARACTERS_MAX],
            None if handed is None else tuple(map(_decoded_facts, handed)),
        )


class Readiness(NamedTuple):
    """A broker can be the controller at once; it got ready for this wish, in this epoch."""

    broker: BrokerId
    wish: str
    epoch: ControllerEpoch


class ReadyToServeZnode:
    """Ephemeral: goes with the session of the broker that is ready."""

    PATH: Final = "/admin/ready_to_serve"

    @staticmethod
    def encode(ready: Readiness) -> bytes:
        """Who is ready, and for which wish."""
        return encoded(
            {"version": 1, "broker": ready.broker, "wish": ready.wish, "epoch": ready.epoch}
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Readiness:
        """Who is ready."""
        body = Body.parse(cls.PATH, data)
        body.integer("version", low=1)
        return Readiness(
            BrokerId(body.integer("broker", low=0)),
            body.text("wish"),
            ControllerEpoch(body.integer("epoch", low=0)),
        )


class PastController(NamedTuple):
    """A controller from its election to that of the next; `until` is None for the present one."""

    broker: BrokerId
    epoch: ControllerEpoch
    since: Timestamp
    until: Timestamp | None
    why: str


class PastWish(NamedTuple):
    """What became of a wish; `refusal` is empty if it was fulfilled."""

    id: str
    broker: BrokerId
    at: Timestamp
    refusal: str


class ControllerHistory(NamedTuple):
    """Both, the oldest first."""

    controllers: tuple[PastController, ...] = ()
    wishes: tuple[PastWish, ...] = ()

    def elected(self, now: PastController) -> "ControllerHistory":
        """Another controller acts, so the one before has ended."""
        before = [it if it.until else it._replace(until=now.since) for it in self.controllers]
        return self._replace(controllers=(*before, now)[-CONTROLLERS_KEPT:])

    def ended(self, wish: PastWish) -> "ControllerHistory":
        """A wish was fulfilled or refused."""
        return self._replace(wishes=(*self.wishes, wish)[-WISHES_KEPT:])


class ControllerHistoryZnode:
    """Written by the controller alone, under its epoch."""

    PATH: Final = "/admin/controller_history"

    @staticmethod
    def encode(history: ControllerHistory) -> bytes:
        """In the order of time."""
        return encoded(
            {
                "version": 1,
                "controllers": [
                    {
                        "broker": it.broker,
                        "epoch": it.epoch,
                        "since": str(it.since),
                        "until": None if it.until is None else str(it.until),
                        "why": it.why[:WHY_CHARACTERS_MAX],
                    }
                    for it in history.controllers
                ],
                "wishes": [
                    {
                        "id": it.id,
                        "broker": it.broker,
                        "at": str(it.at),
                        "refusal": it.refusal[:WHY_CHARACTERS_MAX],
                    }
                    for it in history.wishes
                ],
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> ControllerHistory:
        """What was kept."""
        body = Body.parse(cls.PATH, data)
        body.integer("version", low=1)
        return ControllerHistory(
            tuple(map(_past_controller, body.bodies("controllers"))),
            tuple(map(_past_wish, body.bodies("wishes"))),
        )


def _past_controller(body: Body) -> PastController:
    until = Timestamp(body.integer_text("until", low=0)) if body.has("until") else None
    return PastController(
        BrokerId(body.integer("broker", low=0)),
        ControllerEpoch(body.integer("epoch", low=0)),
        Timestamp(body.integer_text("since", low=0)),
        until,
        body.text("why"),
    )


def _past_wish(body: Body) -> PastWish:
    return PastWish(
        body.text("id"),
        BrokerId(body.integer("broker", low=0)),
        Timestamp(body.integer_text("at", low=0)),
        body.text("refusal"),
    )


def _facts(facts: BrokerFacts) -> Mapping[str, Json]:
    return {
        "broker": facts.broker,
        "epoch": str(facts.epoch),
        "offline": by_topic(sorted(facts.offline)),
        "unclean": by_topic(sorted(facts.unclean)),
        "shuts_down": int(facts.shuts_down),
    }


def _decoded_facts(body: Body) -> BrokerFacts:
    return BrokerFacts(
        BrokerId(body.integer("broker", low=0)),
        BrokerEpoch(body.integer_text("epoch", low=0)),
        _decoded_by_topic(body.body("offline")),
        _decoded_by_topic(body.body("unclean")),
        shuts_down=body.integer("shuts_down", low=0, high=1) == 1,
    )


def _decoded_by_topic(body: Body) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(legal_topic(NextControllerZnode.PATH, name), number)
        for name in body.names()
        for number in body.distinct_integers(name)
    )
