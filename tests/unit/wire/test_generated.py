"""What is generated follows from the definitions."""

from codegen.__main__ import generate, stale


def test_the_generated_files_are_what_the_generator_writes() -> None:
    """`python -m codegen` ran after the last change to a definition; nobody edited by hand."""
    assert stale(generate()) == []
