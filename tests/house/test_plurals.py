"""What commands, errors and health say in numbers: `1 replica`, and never `1 replicas`."""

import ast
import re

from tests.house import tree

THINGS = """
    assignments batches brokers certificates clients connections controllers copies deletions dirs
    entries errors faults files groups keys leaders lines members moves offsets others outages
    partitions processes producers reassignments records replicas requests rows rules segments
    servers settings tables throttles topics transactions users versions znodes
"""
SEVERAL = re.compile(rf" (?:[a-z]+ )?(?:{'|'.join(THINGS.split())})\b")
NUMBERS = re.compile(r"(count|number|known|total|may|least|most|\.\w+s)\b|^(brokers|partitions)$")
"""Names of numbers, as far as a name shows it; `{topic} offsets {start}` has none."""
SAYS = ("cli", "controller", "client", "metadata", "pipelines", "runtime", "testing")
AS_KAFKA_SAYS = "cli/kafka"
"""The scripts say what Kafka's say, right or wrong."""


def uncounted(text: ast.JoinedStr) -> list[str]:
    """The words behind a number that may be 1; one in capitals, or with a comma, is a limit."""
    found = []
    for value, behind in zip(text.values, text.values[1:], strict=False):
        if not isinstance(value, ast.FormattedValue) or not isinstance(behind, ast.Constant):
            continue
        is_limit = value.format_spec is not None or ast.unparse(value.value).isupper()
        is_number = "len(" in (code := ast.unparse(value.value)) or re.search(NUMBERS, code)
        if is_number and not is_limit and (match := SEVERAL.match(str(behind.value))):
            found.append(f"{{{code}}}{match[0]}")
    return found


def test_one_is_not_several() -> None:
    """`model.counting` counts; a verb behind it would have to be counted, too."""
    found = [
        f"{tree.name(path)}:{node.lineno}: {words}"
        for package in SAYS
        for path in sorted((tree.ROOT / "src" / "odradek" / package).rglob("*.py"))
        if AS_KAFKA_SAYS not in path.as_posix()
        for node in ast.walk(tree.parsed(path))
        if isinstance(node, ast.JoinedStr)
        for words in uncounted(node)
    ]
    assert not found
