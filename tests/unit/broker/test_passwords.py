"""Passwords that are set at run time: encrypted in ZooKeeper, in force here, shown to nobody."""

import asyncio
import threading
from typing import Any

import pytest

from odradek.broker import passwords
from odradek.broker.passwords import Passwords
from odradek.broker.settings import Settings
from odradek.config.broker import BrokerConfig, Layers, read
from odradek.config.findings import Given
from odradek.config.kinds import Secret
from odradek.config.rows import log, security
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.errors import ErrorCode
from odradek.runtime.doors.in_thread import in_thread
from odradek.security.password_encoder import decode, encode
from odradek.wire.messages import alter_configs as replacing
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.broker.stage import Client, Stage

ME = Entity(EntityType.BROKERS, "1")
NAME = "listener.name.plaintext.ssl.keystore.password"
SECRET, NEWER = "encoder-7331", "encoder-7332"
PASSWORD = "keystore-7331"
SET, DELETE = 0, 1


def alter(client: Client, name: str, value: str | None, broker: str = "1") -> ErrorCode:
    """One setting is set, or taken back."""
    change = AlterableConfig(name, DELETE if value is None else SET, value)
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, broker, [change])])
    (answer,) = client.ask(request).responses
    assert PASSWORD not in str(answer.error_message)
    return ErrorCode(answer.error_code)


def replace(client: Client, **settings: str) -> ErrorCode:
    """All of them, by AlterConfigs."""
    configs = [
        replacing.AlterableConfig(it.replace("_", "."), text) for it, text in settings.items()
    ]
    request = replacing.AlterConfigsRequest([replacing.AlterConfigsResource(4, "1", configs)])
    (answer,) = client.ask(request).responses
    return ErrorCode(answer.error_code)


def stored(stage: Stage) -> str:
    """As ZooKeeper has it."""
    return stage.running.settings.overrides(ME)[NAME]


def in_force(settings: Settings) -> str | None:
    """As the listener has it."""
    found = settings.broker.on_listeners(security.SSL_KEYSTORE_PASSWORD).get("PLAINTEXT")
    return None if found is None else found.value


def test_a_password_is_encrypted_and_holds() -> None:
    """At once and in the next life; it is not described, and other changes leave it alone."""
    with Stage(password_encoder_secret=SECRET) as stage:
        client = stage.client()
        assert alter(client, NAME, PASSWORD) is ErrorCode.NONE
        assert in_force(stage.running.settings) == PASSWORD
        before = stored(stage)
        assert decode(before, Secret(SECRET)) == PASSWORD
        described = client.ask(
            DescribeConfigsRequest([DescribeConfigsResource(4, "1", None)], include_synonyms=True)
        )
        assert NAME in repr(described)
        assert PASSWORD not in repr(described)
        assert before not in repr(described)
        assert alter(client, "log.retention.ms", "60000") is ErrorCode.NONE
        assert stored(stage) == before
        stage.kill()
        stage.start()
        assert in_force(stage.running.settings) == PASSWORD
        assert stage.running.settings.broker[log.LOG_RETENTION_MS] == 60_000
        assert alter(stage.client(), NAME, None) is ErrorCode.NONE
        assert in_force(stage.running.settings) is None


def test_without_a_secret_none_is_set() -> None:
    """ZooKeeper would have it as it is; nor is one set for all brokers."""
    with Stage() as stage:
        assert alter(stage.client(), NAME, PASSWORD) is ErrorCode.INVALID_CONFIG
        assert stage.running.settings.overrides(ME) == {}
    with Stage(password_encoder_secret=SECRET) as stage:
        assert alter(stage.client(), NAME, PASSWORD, broker="") is ErrorCode.INVALID_CONFIG
        assert alter(stage.client(), "password.encoder.secret", "x") is ErrorCode.INVALID_CONFIG


def test_a_new_secret_takes_over_at_a_start() -> None:
    """The old one opens what is there; it is encrypted anew, and then no longer needed."""
    with Stage(password_encoder_secret=SECRET) as stage:
        assert alter(stage.client(), NAME, PASSWORD) is ErrorCode.NONE
        assert alter(stage.client(), "log.retention.ms", "60000") is ErrorCode.NONE
        stage.kill()
        changed = {"password.encoder.secret": NEWER, "password.encoder.old.secret": SECRET}
        with stage.settings(**changed):
            stage.start()
            assert in_force(stage.running.settings) == PASSWORD
            assert decode(stored(stage), Secret(NEWER)) == PASSWORD
            assert stage.running.settings.broker[log.LOG_RETENTION_MS] == 60_000
            stage.kill()
        with stage.settings(**{"password.encoder.secret": NEWER}):
            stage.start()
            assert in_force(stage.running.settings) == PASSWORD


def test_what_cannot_be_decrypted_is_left_alone() -> None:
    """The broker starts without it, other changes keep it, and a new value replaces it."""
    with Stage(password_encoder_secret=SECRET) as stage:
        assert alter(stage.client(), NAME, PASSWORD) is ErrorCode.NONE
        before = stored(stage)
        stage.kill()
        with stage.settings(**{"password.encoder.secret": "a wrong one"}):
            stage.start()
            assert in_force(stage.running.settings) is None
            assert alter(stage.client(), "log.retention.ms", "60000") is ErrorCode.NONE
            assert stored(stage) == before
            assert alter(stage.client(), NAME, "another") is ErrorCode.NONE
            assert in_force(stage.running.settings) == "another"


def config(**texts: str) -> BrokerConfig:
    """Of a broker with these."""
    given = {it.replace("_", "."): Given(text, "here") for it, text in texts.items()}
    return read(Layers(static=given))[0]


def test_a_login_module_of_kafka_is_no_reason_to_stumble() -> None:
    """It can be decrypted; here it is read at a start alone, so it is left out."""
    encoding = Passwords(config(log_dirs="/a", password_encoder_secret=SECRET))
    module = "listener.name.plaintext.plain.sasl.jaas.config"
    hidden = encoding.hidden({module: PASSWORD}, {}, bytes)
    assert PASSWORD not in hidden[module]
    settings = Settings(config(log_dirs="/a", password_encoder_secret=SECRET))
    settings.me = 1  # type: ignore[assignment]
    settings.on_entity(ME, {**hidden, "log.retention.ms": "5"})
    assert settings.broker.on_listeners(security.SASL_JAAS_CONFIG) == {}
    assert settings.broker[log.LOG_RETENTION_MS] == 5


def test_settings_are_replaced_with_their_passwords() -> None:
    """AlterConfigs has all of them."""
    with Stage(password_encoder_secret=SECRET) as stage:
        assert replace(stage.client(), **{NAME: PASSWORD}) is ErrorCode.NONE
        assert decode(stored(stage), Secret(SECRET)) == PASSWORD
        assert replace(stage.client(), log_retention_ms="5") is ErrorCode.NONE
        assert in_force(stage.running.settings) is None


def test_a_costly_password_holds_up_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write to ZooKeeper says how many rounds it takes: all of that is in a thread."""
    threads: list[threading.Thread] = []

    def watched(call: Any) -> Any:
        def watch(*about: Any) -> Any:
            threads.append(threading.current_thread())
            return call(*about)

        return watch

    for call in (encode, decode):
        monkeypatch.setattr(passwords, call.__name__, watched(call))
    settings = Settings(config(log_dirs="/a", password_encoder_secret=SECRET))
    settings.me = 1  # type: ignore[assignment]
    strangers = Passwords(config(log_dirs="/a", password_encoder_secret="a stranger's"))
    other = "listener.name.plaintext.ssl.key.password"

    async def change() -> None:
        wanted = {NAME: PASSWORD, "log.retention.ms": "5"}
        texts = await settings.passwords.hidden_beside(wanted, {}, bytes, in_thread)
        texts |= await strangers.hidden_beside({other: "x"}, {}, bytes, in_thread)
        for _ in range(2):
            await settings.open_passwords(ME, texts, in_thread)
            settings.on_entity(ME, texts)
            settings.on_entity(ME, {**texts, "log.retention.ms": "6"})

    asyncio.run(change())
    assert in_force(settings) == PASSWORD
    assert len(threads) == 3  # two are encrypted, and the stranger's is tried once
    assert threading.current_thread() not in threads
