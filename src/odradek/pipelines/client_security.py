"""How connections to brokers are secured: Kafka's settings, with secrets that may stand elsewhere.

`${env:NAME}` and `${file:PATH}` are looked up where a connection is made in the driver, and where
the options go from there to the workers. The other files lie at the same path on each of them.
"""

from dataclasses import dataclass, field
from typing import Any

from odradek.model.errors import InvalidSetting
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.given import KAFKA, GivenOptions
from odradek.pipelines.kafka_settings import HONOURED
from odradek.pipelines.secrets import is_elsewhere, revealed
from odradek.security.client_settings import client_security, is_of_security


@dataclass(frozen=True, slots=True)
class Secured:
    """The settings by name; none are shown."""

    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __reduce__(self) -> tuple[type["Secured"], tuple[Any, ...]]:
        """What stands in the environment or in a file here may not stand there where this goes."""
        return Secured, (tuple(self.revealed().items()),)

    def revealed(self) -> dict[str, str]:
        """All of them as they are."""
        return revealed(dict(self.settings))


def read_secured(given: GivenOptions) -> Secured:
    """InvalidOption for what cannot be honoured; secrets that stand elsewhere are not asked for."""
    names = (it for it in given.kafka_names() if is_of_security(it) and it in HONOURED)
    found = Secured(tuple((it, given.kafka(it) or "") for it in names))
    if not any(is_elsewhere(it) for _, it in found.settings):
        try:
            client_security(dict(found.settings))
        except InvalidSetting as error:
            raise InvalidOption(f"option {KAFKA}{error}") from error
    return found
