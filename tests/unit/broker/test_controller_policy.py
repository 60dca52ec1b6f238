"""What the controller decides by, as settings say it."""

import pytest

from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.settings import Settings
from odradek.config.broker import Layers, read
from odradek.config.findings import Given
from odradek.config.listeners import SecurityProtocol
from odradek.metadata.nouns import Broker, Endpoint
from odradek.model.ids import BrokerId
from odradek.sim.doors.chance import SeededRandom

PLAINTEXT = SecurityProtocol.PLAINTEXT
CLIENTS = Endpoint("PLAINTEXT", "b", 9_092, PLAINTEXT)
CONTROL = Endpoint("CONTROL", "b", 9_093, PLAINTEXT)


@pytest.mark.parametrize(
    ("said", "endpoints", "found"),
    [
        ({}, (CLIENTS, CONTROL), CLIENTS),
        ({"control.plane.listener.name": "CONTROL"}, (CLIENTS, CONTROL), CONTROL),
        ({"control.plane.listener.name": "CONTROL"}, (CLIENTS,), CLIENTS),
    ],
)
def test_controllers_have_a_listener_of_their_own_where_there_is_one(
    said: dict[str, str], endpoints: tuple[Endpoint, ...], found: Endpoint
) -> None:
    """A neighbour that has none is spoken to as other brokers speak to it."""
    lists = {
        "listeners": "PLAINTEXT://b:9092,CONTROL://b:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
        "log.dirs": "/disk",
    }
    given = {name: Given(text, "here") for name, text in {**lists, **said}.items()}
    config, _ = read(Layers(static=given))
    policy = ControllerPolicy(Settings(config), SeededRandom(1, "policy"))
    assert policy.for_controllers(Broker(BrokerId(2), endpoints)) == found
