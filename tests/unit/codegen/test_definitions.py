"""The text form of the message definitions."""

from pathlib import Path

import pytest

from codegen.definitions import ALL, LATEST, Field, Malformed, Module, Versions, load

EXAMPLE = """\
api 99 Example

request 0-4, flexible 3+
    name: string? 2+ = null ignorable
    replicas: [int32]?(1-3)
    topics: [Topic]
        topic_id: uuid 3+ tag 0
        owner: Owner 1-2

response 0-4, flexible 3+
    owners: [Owner]

struct Owner
    id: int64 = -1
"""


def read(folder: Path, text: str) -> Module:
    """The one file of a folder."""
    (folder / "example.txt").write_text(text)
    (module,) = load(folder)
    return module


def test_a_definition_is_read_as_it_is_meant(tmp_path: Path) -> None:
    """A line says what deviates from the common case; everything else is understood."""
    module = read(tmp_path, EXAMPLE)
    assert (module.api, module.key) == ("Example", 99)
    request, response = module.messages
    assert (request.name, response.name) == ("ExampleRequest", "ExampleResponse")
    assert (request.versions, request.flexible_from) == (Versions(0, 4), 3)
    from_2 = Versions(2, LATEST)
    common = {"array": False, "versions": ALL, "null": None, "tag": None, "default": None}
    plain = {**common, "ignorable": False}
    name, replicas, topics = request.fields
    nullable = {"versions": from_2, "null": from_2, "default": "null", "ignorable": True}
    assert name == Field(**{**plain, "name": "name", "type": "string", **nullable})  # type: ignore[arg-type]
    assert (replicas.array, replicas.null, replicas.versions) == (True, Versions(1, 3), ALL)
    assert topics.type == "Topic"
    topic_id, owner = module.structs["Topic"].fields
    assert (topic_id.versions, topic_id.tag) == (Versions(3, LATEST), 0)
    assert (owner.type, owner.versions) == ("Owner", Versions(1, 2))


def test_structs_come_after_those_they_are_made_of(tmp_path: Path) -> None:
    """A class must exist before another names it."""
    names = [struct.name for struct in read(tmp_path, EXAMPLE).inner_first()]
    assert names == ["Owner", "Topic", "ExampleRequest", "ExampleResponse"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (2, "api 99 Example\nquestion 0-4\n"),
        (3, "api 99 Example\nrequest 0-4\n    name string\n"),
        (3, "api 99 Example\nrequest 0-4\n   name: string\n"),
        (3, "api 99 Example\nrequest 0-4\n        name: string\n"),
        (3, "api 99 Example\nrequest 0-4\n    name: string ignored\n"),
        (4, "api 99 Example\nrequest 0-4\n    name: string\n    name: int8\n"),
        (2, "api 99 Example\nrequest from 4 on\n"),
        (1, "request 0-4\n"),
        (6, EXAMPLE.replace("    topics: [Topic]\n", "")),
        (16, EXAMPLE + "struct Owner\n    id: int8\n"),
    ],
)
def test_a_line_of_another_form_is_named(tmp_path: Path, line: int, text: str) -> None:
    """Nothing is guessed: the generator stops at the first line that it does not understand."""
    with pytest.raises(Malformed, match=f"example.txt:{line}: "):
        read(tmp_path, text)


def test_a_struct_must_not_hold_itself(tmp_path: Path) -> None:
    """A decoder without recursion needs structs of a fixed depth."""
    module = read(tmp_path, EXAMPLE + "    friends: [Owner]\n")
    with pytest.raises(AssertionError, match="Owner holds itself"):
        module.inner_first()


def test_a_struct_must_be_of_use(tmp_path: Path) -> None:
    """What nothing is made of was left over."""
    module = read(tmp_path, EXAMPLE + "\nstruct Nobody\n    id: int8\n")
    with pytest.raises(AssertionError, match="Nobody"):
        module.inner_first()
