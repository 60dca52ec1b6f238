"""What the tests with Spark share. They run in an environment of their own: `./dev test pipelines`.

Elsewhere none of them is collected.
"""

from importlib.util import find_spec
from typing import Final

COLLECTED: Final = find_spec("pyspark") is not None
collect_ignore_glob = [] if COLLECTED else ["test_*.py"]
