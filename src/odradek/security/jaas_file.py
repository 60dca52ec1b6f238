"""A JAAS file: sections, each with a login module and its options.

`Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="a" password="b"; };`

Kafka's are `KafkaServer` of a broker, `clients.KafkaServer` of one listener, and `KafkaClient`.

Java's programs are told of it by `-Djava.security.auth.login.config=...`; those of Kafka take that
from the variable `KAFKA_OPTS`. Only the section that is asked for has to make sense.
"""

from collections.abc import Sequence
from typing import Final

from odradek.config.kinds import Secret
from odradek.model.errors import InvalidSetting
from odradek.security.jaas import LoginModule, Word, entries_of, options_of, words_of

DIGEST_MODULE: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"
ONE_MODULE: Final = "it must hold one login module and a semicolon"


def entry_of(data: bytes, names: Sequence[str], module: str, where: str) -> LoginModule | None:
    """A login module in the first of these sections that is there; None: it has no such module.

    A section of Kafka's may have one for each mechanism; others in it are not looked at.
    """
    words = words_of(data.decode("utf-8", "replace"), where)
    for name in names:
        entries = _section(words, name, where)
        if entries is None:
            continue
        found = [it for it in entries if it[0].text == module]
        of_section = f"{where}: section {name}"
        if len(found) > 1:
            raise InvalidSetting(f"{of_section} has {module} twice")
        return LoginModule(module, options_of(found[0], of_section)) if found else None
    return None


def section(data: bytes, name: str, where: str) -> dict[str, str] | None:
    """The options of a section with ZooKeeper's login module; None: there is no such section."""
    entries = _section(words_of(data.decode("utf-8", "replace"), where), name, where)
    if entries is None:
        return None
    of_section = f"{where}: section {name}"
    if len(entries) != 1:
        raise InvalidSetting(f"{of_section}: {ONE_MODULE}")
    if entries[0][0].text != DIGEST_MODULE:
        raise InvalidSetting(
            f"{of_section} needs {DIGEST_MODULE}; Kerberos and other classes of Java "
            "are not run here"
        )
    return options_of(entries[0], of_section)


def name_and_password(data: bytes, name: str, where: str) -> tuple[str, Secret] | None:
    """Under which somebody logs in; None: there is no such section."""
    options = section(data, name, where)
    if options is None:
        return None
    user, password = options.get("username"), options.get("password")
    if not user or password is None:
        raise InvalidSetting(f"{where}: section {name} must have a username and a password")
    return user, Secret(password)


def users_and_passwords(data: bytes, name: str, where: str) -> dict[str, str] | None:
    """Those that a server knows, as `user_alice="..."`; None: there is no such section."""
    options = section(data, name, where)
    if options is None:
        return None
    prefix = "user_"
    return {
        option.removeprefix(prefix): password
        for option, password in options.items()
        if option.startswith(prefix)
    }


def _section(words: list[Word], name: str, where: str) -> list[list[Word]] | None:
    """The login modules that stand between its brackets."""
    for at, word in enumerate(words):
        if word == Word(name) and words[at + 1 : at + 2] == [Word("{")]:
            rest = words[at + 2 :]
            if Word("}") not in rest:
                raise InvalidSetting(f"{where}: section {name} has no end")
            entries = entries_of(rest[: rest.index(Word("}"))])
            if not entries:
                raise InvalidSetting(f"{where}: section {name}: {ONE_MODULE}")
            return entries
    return None
