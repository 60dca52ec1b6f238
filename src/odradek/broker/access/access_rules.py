"""The access rules as ZooKeeper has them: read at the start, watched, and changed there.

Kafka's znodes: `/kafka-acl` and `/kafka-acl-extended`, whose changes are announced below two other
nodes. While ZooKeeper is away the rules that were read last go on; once it is back all are read
again. A znode that cannot be read allows nothing, and what was known of it before holds on. A
change names the version that it replaces, so of two administrators on one resource none is lost.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from odradek.access.decisions import Decisions
from odradek.access.rule_book import NO_RULES, Rules
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.acls import AclsChangeZnode, AclsZnode
from odradek.model.access import Pattern, PatternType, ResourceType, Rule
from odradek.model.errors import BrokerError, ErrorCode
from odradek.zookeeper.client.errors import BadVersion, MultiFailed, NoAuth, NodeExists, NoNode
from odradek.zookeeper.protocol.codes import CreateMode, KeeperError
from odradek.zookeeper.protocol.jute_replies import Children, Data
from odradek.zookeeper.protocol.jute_requests import (
    Create,
    Create2,
    Delete,
    GetChildren,
    GetData,
    Request,
    SetData,
    WriteOp,
)

TRIES_MAX: Final = 10
"""How often somebody else may have been faster."""
OVERTAKEN: Final = (BadVersion, NodeExists, NoNode)
PLACES: Final = tuple((kind, how) for how in PatternType for kind in ResourceType)
"""Of rules: below each, a znode for every pattern that has any."""

log = structlog.get_logger()


class NotWritten(BrokerError):
    """ZooKeeper did not take the change; the rules may be the old or the new."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class AccessRules:
    """Of one cluster; `decisions` has what was read."""

    def __init__(self, client: ZooKeeperClient, decisions: Decisions) -> None:
        self.decisions = decisions
        self.on_changed: list[Callable[[], None]] = []
        self._client = client
        self._one_at_a_time = asyncio.Lock()  # what is read later is no older
        self._changes_seen = dict.fromkeys(AclsChangeZnode.PARENTS, -1)

    # Reading

    async def begin(self) -> None:
        """Everything, before a client is served; the first broker makes the paths."""
        paths = dict[str, None]()
        wanted = [AclsZnode.parent_of_type(*place) for place in PLACES]
        for path in (*wanted, *AclsChangeZnode.PARENTS):
            parts = path.split("/")
            paths |= dict.fromkeys("/".join(parts[:end]) for end in range(2, len(parts) + 1))
        creates: list[Request] = [Create(path, None) for path in paths]
        for answer in await self._client.batch(creates):
            if isinstance(answer, KeeperError) and not isinstance(answer, NodeExists):
                raise answer
        async with self._one_at_a_time:
            await self._read(await self._patterns())

    async def look(self, changed: frozenset[str], *, everything: str) -> None:
        """At what has changed, or after a lost connection at everything."""
        parents = [it for it in AclsChangeZnode.PARENTS if {everything, it} & changed]
        if not parents:
            return
        async with self._one_at_a_time:
            news = {parent: await self._news(parent) for parent in parents}
            patterns: Iterable[Pattern] | None = None
            if everything not in changed:
                patterns = await self._announced(news)
            await self._read(await self._patterns() if patterns is None else patterns)
        for parent, names in news.items():
            seen = (self._changes_seen[parent], *map(_number, names))
            self._changes_seen[parent] = max(seen)

    async def _news(self, parent: str) -> list[str]:
        children = await self._client.children(parent, watch=True)
        seen = self._changes_seen[parent]
        return sorted((it for it in children.names if _number(it) > seen), key=_number)

    async def _announced(self, news: dict[str, list[str]]) -> Iterable[Pattern] | None:
        """The patterns that were changed; None: one of the news cannot be read, or is gone."""
        rows = [(parent, name) for parent, names in news.items() for name in names]
        answers = await self._client.batch([GetData(f"{parent}/{name}") for parent, name in rows])
        found = dict[Pattern, None]()
        for (parent, name), answer in zip(rows, answers, strict=True):
            if isinstance(answer, KeeperError) and not isinstance(answer, NoNode | NoAuth):
                raise answer
            try:
                data = answer.data if isinstance(answer, Data) else None
                found[AclsChangeZnode.decode(parent, data)] = None
            except MalformedZnode as fault:
                log.warning("acls.change_unreadable", znode=f"{parent}/{name}", reason=str(fault))
                return None
        return found

    async def _patterns(self) -> Iterable[Pattern]:
        """All that have rules there, or had some here."""
        parents = [AclsZnode.parent_of_type(*place) for place in PLACES]
        answers = await self._client.batch([GetChildren(path) for path in parents])
        found = {pattern: None for pattern, _ in self.decisions.book}
        for (kind, how), answer in zip(PLACES, answers, strict=True):
            if isinstance(answer, Children):
                found |= dict.fromkeys(Pattern(kind, how, name) for name in sorted(answer.names))
            elif isinstance(answer, KeeperError) and not isinstance(answer, NoNode):
                raise answer
        return found

    async def _read(self, patterns: Iterable[Pattern]) -> None:
        rows = list(patterns)
        answers = await self._client.batch([GetData(AclsZnode.path(it)) for it in rows])
        for pattern, answer in zip(rows, answers, strict=True):
            if isinstance(answer, Data):
                self._take(pattern, answer.data)
            elif isinstance(answer, NoNode):
                self.decisions.replace(pattern, NO_RULES)
            elif isinstance(answer, NoAuth):
                self._ignore(pattern, str(answer))
            elif isinstance(answer, KeeperError | MultiFailed):
                raise answer
        if rows:
            self._tell()

    def _tell(self) -> None:
        for changed in self.on_changed:
            changed()

    def _take(self, pattern: Pattern, data: bytes | None) -> None:
        try:
            self.decisions.replace(pattern, AclsZnode.decode(pattern, data))
        except MalformedZnode as fault:
            self._ignore(pattern, str(fault))

    def _ignore(self, pattern: Pattern, reason: str) -> None:
        log.error("acls.unreadable", path=AclsZnode.path(pattern), reason=reason)
        self.decisions.close(pattern)

    # Changing

    async def add(self, pattern: Pattern, rules: Rules) -> None:
        """Beside those that it has."""
        await self._change(pattern, rules.union)

    async def remove(self, pattern: Pattern, is_meant: Callable[[Rule], bool]) -> Rules:
        """Those that are meant, of all that ZooKeeper has; they are returned."""
        return await self._change(pattern, lambda found: found - {*filter(is_meant, found)})

    async def _change(self, pattern: Pattern, change: Callable[[Rules], Rules]) -> Rules:
        """The rules that it has no more."""
        async with self._one_at_a_time:
            try:
                for _ in range(TRIES_MAX):
                    before = await self._try(pattern, change)
                    if before is not None:
                        self._tell()
                        return before - change(before)
            except (KeeperError, MalformedZnode) as error:
                raise NotWritten(f"{AclsZnode.path(pattern)}: {error}") from error
        raise NotWritten(f"{AclsZnode.path(pattern)}: others change it all the time")

    async def _try(self, pattern: Pattern, change: Callable[[Rules], Rules]) -> Rules | None:
        """The rules that it had; None: somebody else was faster."""
        try:
            found = await self._client.get(AclsZnode.path(pattern))
        except NoNode:
            version, before = None, NO_RULES
        else:
            version, before = found.stat.version, AclsZnode.decode(pattern, found.data)
        after = change(before)
        if after != before:
            try:
                await self._client.multi(_writes(pattern, after, version))
            except MultiFailed as failure:
                if failure.index == 0 and isinstance(failure.cause, OVERTAKEN):
                    return None
                raise
        self.decisions.replace(pattern, after)
        return before


def _writes(pattern: Pattern, rules: Rules, version: int | None) -> list[WriteOp]:
    """The rules and the news of them; a pattern without rules has no znode."""
    path, data, news = AclsZnode.path(pattern), AclsZnode.encode(rules), AclsChangeZnode
    write: WriteOp = Create2(path, data)
    if version is not None:
        write = SetData(path, data, version) if rules else Delete(path, version)
    mode = CreateMode.PERSISTENT_SEQUENTIAL
    return [write, Create(news.create_path(pattern), news.encode(pattern), mode=mode)]


def _number(name: str) -> int:
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else -1
