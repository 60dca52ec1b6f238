"""The tests with several Pythons: `nox`."""

import nox


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """What run.sh does, in an environment of its own."""
    session.install("odradek", "pytest", "pytest-xdist", "confluent-kafka")
    session.run("bash", "run.sh", *session.posargs, external=True)
