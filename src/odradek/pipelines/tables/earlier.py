"""Topics that a table holds rows of, and whose names others have now: a property of the table.

The rows of both stay apart: the name of each data file says the id of the topic, also once small
files were merged. Only those of the topic that has the name now are added, replaced or verified.
"""

import json
from collections.abc import Mapping
from typing import Final

from odradek.pipelines.positions import Positions

EARLIER: Final = "earlier"


def earlier_of(properties: Mapping[str, str]) -> dict[str, str]:
    """Names by topic id."""
    found: dict[str, str] = json.loads(properties.get(EARLIER, "{}"))
    return found


def with_earlier(
    properties: Mapping[str, str], before: Positions, after: Positions
) -> dict[str, str]:
    """The properties that change when a table goes from one topic to its successor."""
    known = earlier_of(properties)
    gone = {
        topic.topic_id: name
        for name, topic in before.topics.items()
        if name in after.topics and after.topics[name].topic_id != topic.topic_id
    }
    return {EARLIER: json.dumps({**known, **gone})} if gone else {}
