"""The loop that servers run on."""

import asyncio

from structlog.testing import capture_logs

from odradek.runtime.loop import run_server


def test_what_nobody_catches_is_an_event_like_others() -> None:
    """It is seen where all events are seen, in their form, and the rest goes on."""

    def mistake() -> None:
        raise ZeroDivisionError

    async def main() -> str:
        asyncio.get_running_loop().call_soon(mistake)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "the end"

    with capture_logs() as events:
        assert run_server(main()) == "the end"
    (event,) = events
    assert (event["event"], event["log_level"]) == ("loop.mistake", "error")
    assert isinstance(event["exc_info"], ZeroDivisionError)
