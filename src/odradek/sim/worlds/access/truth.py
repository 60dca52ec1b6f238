"""Which access rules there are, and which of them a broker is bound to know: told from outside.

A version is all rules at a moment, as ZooKeeper has them; one that an administrator asks for may be
there from then on, whatever is answered. What rules come to is decided here anew, in the plainest
way: nothing of the product's decisions is used. A broker that has read a version decides by it, or
by a later one, for ever after.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.client.admin.access_rules import AccessRule
from odradek.metadata.znodes.acls import AclsZnode
from odradek.model.access import Effect, Operation, Pattern, PatternType, ResourceType
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.stage.zookeeper_machine import ZooKeeperMachine

Version = frozenset[AccessRule]
PLACES: Final = tuple(AclsZnode.parent_of_type(ResourceType.TOPIC, how) for how in PatternType)


class Question(NamedTuple):
    """What somebody wants to do to a topic."""

    user: str
    operation: Operation
    topic: str


class AccessTruth:
    """Of one world."""

    def __init__(self, zookeeper: ZooKeeperMachine, brokers: Mapping[int, BrokerMachine]) -> None:
        self.versions: list[Version] = [frozenset()]
        self._zookeeper = zookeeper
        self._brokers = brokers
        self._known = dict.fromkeys(brokers, 0)  # the newest version that each has had

    def wish(self, version: Version) -> None:
        """Somebody asks for it."""
        self._add(version)

    def look(self) -> Version:
        """What is there now."""
        server = self._zookeeper.server
        if server is not None:
            nodes = server.core.database.tree.nodes
            found = set[AccessRule]()
            for path, node in nodes.items():
                parent, _, name = path.rpartition("/")
                if parent in PLACES:
                    how = tuple(PatternType)[PLACES.index(parent)]
                    pattern = Pattern(ResourceType.TOPIC, how, name)
                    rules = AclsZnode.decode(pattern, node.data)
                    found |= {AccessRule(pattern, it) for it in rules}
            self._add(frozenset(found))
            return frozenset(found)
        return self.versions[-1]

    def known(self, number: int) -> int:
        """The version that a broker decides by at least: it has read it."""
        self.look()
        book = self.book(number)
        for index in range(len(self.versions) - 1, self._known[number], -1):
            if self.versions[index] == book:
                self._known[number] = index
                break
        return self._known[number]

    def book(self, number: int) -> Version | None:
        """The rules that a broker has read; None: it does not serve."""
        machine = self._brokers[number]
        if machine.broker is None or not machine.serves:
            return None
        rules = machine.broker.services_of_this_life.rules
        assert rules is not None, "there is an authorizer"
        return frozenset(
            AccessRule(pattern, rule) for pattern, them in rules.decisions.book for rule in them
        )

    def verdicts(self, question: Question, since: int) -> set[bool]:
        """Whether it was allowed by each version from then on."""
        self.look()
        return {allows(version, question) for version in self.versions[since:]}

    def _add(self, version: Version) -> None:
        if version != self.versions[-1]:
            self.versions.append(version)


def allows(version: Version, question: Question) -> bool:
    """What denies wins; what no rule is about is refused."""
    about = [
        rule
        for pattern, rule in version
        if _fits(pattern, question.topic) and rule.principal in {f"User:{question.user}", "User:*"}
    ]
    effects = {
        rule.effect for rule in about if rule.operation in {Operation.ALL, question.operation}
    }
    return effects == {Effect.ALLOW}


def _fits(pattern: Pattern, topic: str) -> bool:
    if pattern.type is PatternType.PREFIXED:
        return topic.startswith(pattern.name)
    return pattern.name in {"*", topic}
