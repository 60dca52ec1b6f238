"""Streams of Spark's in tests."""

from collections.abc import Callable
from typing import Any

from pyspark.errors import StreamingQueryException


def run_stream(start: Callable[[], Any]) -> None:
    """Starts a query and waits for its end.

    Python has ten seconds to start beside a driver, a constant of Spark's. That is too short on a
    machine with much other work, and as a person would the test starts the query again.
    """
    while True:
        try:
            start().awaitTermination()
        except StreamingQueryException as error:
            if "Python worker failed to connect back" not in str(error):
                raise
        else:
            return
