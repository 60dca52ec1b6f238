"""Passwords of this broker that were set at run time: ZooKeeper has them encrypted, as by Kafka.

What cannot be decrypted is left out and said; in ZooKeeper it stays. Where the secret was changed
the one before is tried, too, and what it opens is written anew (`with_new_secret`).

A key takes up to half a second of a processor; how long, is chosen by those who write to ZooKeeper.
So passwords are opened and encrypted in a thread, before what they are needed for is done on the
loop, which finds them remembered (`open_beside`).
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from odradek.config.broker import BrokerConfig
from odradek.config.kinds import Secret
from odradek.config.rows import security as rows
from odradek.config.table import BROKER_SETTINGS, on_listener
from odradek.model.errors import InvalidSetting
from odradek.security.password_encoder import KEY_FACTORY, NotDecoded, Way, check, decode, encode

WITHOUT: Final = (
    "password.encoder.secret is not set: ZooKeeper would hold the password as it is; set it in the "
    "properties files of all brokers"
)


def is_password(name: str) -> bool:
    """Whether a setting of a broker or of one listener is a secret."""
    owner = on_listener(name)
    row = owner[1] if owner else BROKER_SETTINGS.get(name)
    return row is not None and row.sensitive


class _Opened(NamedTuple):
    password: str
    is_old: bool  # by the secret before this one


InThread = Callable[[Callable[[], Any]], "asyncio.Future[Any]"]


class Passwords:
    """Encrypts and decrypts; without a secret it does neither."""

    def __init__(self, config: BrokerConfig) -> None:
        self._secret = config[rows.PASSWORD_ENCODER_SECRET]
        self._secrets: list[Secret] = [
            it for it in (self._secret, config[rows.PASSWORD_ENCODER_OLD_SECRET]) if it is not None
        ]
        self._way = Way(
            config[rows.PASSWORD_ENCODER_CIPHER_ALGORITHM],
            config[rows.PASSWORD_ENCODER_KEYFACTORY_ALGORITHM] or KEY_FACTORY,
            config[rows.PASSWORD_ENCODER_KEY_LENGTH],
            config[rows.PASSWORD_ENCODER_ITERATIONS],
        )
        self._known: dict[str, _Opened | NotDecoded] = {}  # by what ZooKeeper has

    @property
    def may_be_kept(self) -> bool:
        """Whether ZooKeeper may have passwords that are used here."""
        return self._secret is not None

    def check(self) -> None:
        """InvalidSetting says why a password could not be encrypted."""
        if self._secret is not None:
            check(self._secret, self._way)

    async def open_beside(self, texts: Mapping[str, str], in_thread: InThread) -> None:
        """Those that are new: from then on they cost the loop nothing."""
        new = [it for name, it in texts.items() if is_password(name) and it not in self._known]
        if new:
            self._known |= await in_thread(lambda: {it: self._tried(it) for it in new})

    async def hidden_beside(
        self,
        wanted: Mapping[str, str],
        before: Mapping[str, str],
        random: Callable[[int], bytes],
        in_thread: InThread,
    ) -> dict[str, str]:
        """As `hidden`, in a thread where there is a password to be encrypted."""
        if not any(is_password(it) and before.get(it) != text for it, text in wanted.items()):
            return dict(wanted)
        found: dict[str, str] = await in_thread(partial(self.hidden, wanted, before, random))
        for name, text in found.items():
            if is_password(name) and before.get(name) != text:
                self._known[text] = _Opened(wanted[name], is_old=False)
        return found

    def revealed(self, texts: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """A broker's settings as they hold, and why some do not."""
        found: dict[str, str] = {}
        faults: list[str] = []
        for name, text in texts.items():
            try:
                found[name] = self._opened(text).password if is_password(name) else text
            except NotDecoded as error:
                faults.append(f"{name}: the password in ZooKeeper cannot be used: {error}")
        self._known = {it: self._known[it] for it in texts.values() if it in self._known}
        return found, faults

    def as_wanted(self, wanted: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
        """What shall hold, with the passwords that stay as ZooKeeper has them."""
        kept, _ = self.revealed({it: text for it, text in wanted.items() if before.get(it) == text})
        return {it: text for it, text in wanted.items() if before.get(it) != text} | kept

    def hidden(
        self, wanted: Mapping[str, str], before: Mapping[str, str], random: Callable[[int], bytes]
    ) -> dict[str, str]:
        """What ZooKeeper gets: passwords that are new are encrypted. Raises InvalidSetting."""
        found: dict[str, str] = {}
        for name, text in wanted.items():
            if not is_password(name) or before.get(name) == text:
                found[name] = text
            elif self._secret is None:
                raise InvalidSetting(f"{name}: {WITHOUT}")
            else:
                found[name] = encode(text, self._secret, self._way, random)
        return found

    def with_new_secret(self, before: Mapping[str, str]) -> dict[str, str]:
        """Those that only the secret before opens as they are: they are to be encrypted anew."""
        return {
            name: self._if_old(text) if is_password(name) else text for name, text in before.items()
        }

    def _if_old(self, text: str) -> str:
        try:
            opened = self._opened(text)
        except NotDecoded:
            return text
        return opened.password if opened.is_old else text

    def _opened(self, text: str) -> _Opened:
        if text not in self._known:
            self._known[text] = self._tried(text)
        found = self._known[text]
        if isinstance(found, NotDecoded):
            raise NotDecoded(str(found))  # anew: one that is raised again keeps all its traces
        return found

    def _tried(self, text: str) -> _Opened | NotDecoded:
        fault = NotDecoded("password.encoder.secret is not set")
        for secret in self._secrets:
            try:
                return _Opened(decode(text, secret), secret is not self._secret)
            except NotDecoded as error:
                fault = error
        return fault
