"""How long topics keep their records."""

from collections.abc import Iterable

from odradek.pipelines.client_options import ClientOptions
from odradek.pipelines.connections import client_of, sentences

SETTING = "retention.ms"


def retention_of(options: ClientOptions, topics: Iterable[str]) -> dict[str, int]:
    """Milliseconds by topic; -1: for ever."""
    with sentences(options):
        client = client_of(options)
        return {it: int(client.topic_settings(it).get(SETTING) or -1) for it in topics}
