"""Values that stand elsewhere: which are found, what is refused, and that none is shown."""

from pathlib import Path

import pytest

from odradek.config import describe, dynamic, sources
from odradek.config.broker import BrokerConfig
from odradek.config.findings import Finding
from odradek.config.providers import Outside, resolve
from odradek.config.rows import broker, log, security
from odradek.model.errors import InvalidSetting

OF_KAFKA = "org.apache.kafka.common.config.provider."
NAMED = f"""log.dirs=/a
config.providers=file,dir, env
config.providers.file.class={OF_KAFKA}FileConfigProvider
config.providers.dir.class={OF_KAFKA}DirectoryConfigProvider
config.providers.env.class={OF_KAFKA}EnvVarConfigProvider
"""
PASSWORD = "keystore-7331"
FILES = {
    "/run/secrets/broker": f"keystore={PASSWORD}\nwith\\ blank = a:b \n",
    "/run/secrets/dir/truststore": "truststore-7331\n",
    "/etc/passwd": "root=x",
}


def read(path: str) -> bytes:
    """A host with these files."""
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory")
    return FILES[path].encode()


def examine(text: str, **variables: str) -> tuple[BrokerConfig, tuple[Finding, ...]]:
    """What a broker has, and what is said of it."""
    given, found = sources.from_file(text.encode(), "server.properties")
    resolved, unresolved = resolve(given, Outside(read, variables))
    return sources.examine(resolved, (*found, *unresolved))


def said(text: str, **variables: str) -> list[str]:
    """The findings."""
    return [str(it) for it in examine(text, **variables)[1]]


def test_each_provider_finds_its_values() -> None:
    """A key of a file, a file of a directory, a variable; alone or within a text."""
    config, findings = examine(
        NAMED
        + "ssl.keystore.password=${file:/run/secrets/broker:keystore}\n"
        + "ssl.truststore.password=${dir:/run/secrets/dir:truststore}\n"
        + "ssl.key.password=<${env:KEY}|${file:/run/secrets/broker:with blank}>\n"
        + "num.partitions=${env:PARTITIONS}\n",
        KEY="key-7331",
        PARTITIONS="7",
    )
    assert findings == ()
    password, trust, key = (
        config[row]
        for row in (
            security.SSL_KEYSTORE_PASSWORD,
            security.SSL_TRUSTSTORE_PASSWORD,
            security.SSL_KEY_PASSWORD,
        )
    )
    assert password is not None
    assert password.value == PASSWORD
    assert trust is not None
    assert trust.value == "truststore-7331"
    assert key is not None
    assert key.value == "<key-7331|a:b >"
    assert config[broker.NUM_PARTITIONS] == 7


@pytest.mark.parametrize(
    ("reference", "clause"),
    [
        ("file:/run/secrets/other:key", "/run/secrets/other: No such file or directory"),
        ("file:/run/secrets/broker:key", "/run/secrets/broker has no key 'key'"),
        ("file:key", "a path is missing before the key"),
        ("dir:/run/secrets/dir:key", "/run/secrets/dir/key: No such file or directory"),
        ("dir:/run/secrets/dir:../broker", "'../broker' is not the name of a file in"),
        ("env:KEY", "variable KEY is not set"),
        ("env:/run:KEY", "a variable has no path, and '/run' is given"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(reference: str, clause: str) -> None:
    """With the setting, the line, the provider and the place; Kafka takes it for the password."""
    (sentence,) = said(f"{NAMED}ssl.keystore.password=${{{reference}}}")
    assert sentence.startswith("ssl.keystore.password (server.properties, line 6): provider ")
    assert clause in sentence


def test_bounds_are_kept() -> None:
    """`allowed.paths` and `allowlist.pattern`, also where `..` leads out of them."""
    bounded = (
        NAMED
        + "config.providers.file.param.allowed.paths=/run/secrets,/opt\n"
        + "config.providers.env.param.allowlist.pattern=^ODRADEK_\n"
    )
    fine = bounded + "ssl.keystore.password=${file:/run/secrets/../secrets/broker:keystore}"
    assert said(fine) == []
    for path in ("/etc/passwd", "/run/secrets/../../etc/passwd", "/run/secretsx", "passwd"):
        (sentence,) = said(bounded + f"ssl.keystore.password=${{file:{path}:root}}")
        assert sentence.endswith(f"provider file: {path} is not below allowed.paths")
    assert said(bounded + "num.partitions=${env:ODRADEK_N}", ODRADEK_N="3") == []
    refusals = said(bounded + "num.partitions=${env:N}", N="3", ODRADEK_N="3")
    assert refusals[0].endswith("provider env: variable N does not match allowlist.pattern")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("config.providers=a", "config.providers names a, and config.providers.a.class is not set"),
        (
            "config.providers=a\nconfig.providers.a.class=com.example.Vault",
            (
                "config.providers.a.class=com.example.Vault: it names a class of Java, and none is "
                "run here; known are FileConfigProvider, DirectoryConfigProvider, "
                "EnvVarConfigProvider of org.apache.kafka.common.config.provider"
            ),
        ),
        (
            (
                f"config.providers=a\nconfig.providers.a.class={OF_KAFKA}EnvVarConfigProvider\n"
                "config.providers.a.param.allowlist.pattern=("
            ),
            "config.providers.a.param.allowlist.pattern: no pattern: ",
        ),
        (
            (
                f"config.providers=a\nconfig.providers.a.class={OF_KAFKA}FileConfigProvider\n"
                "config.providers.a.param.allowed.paths=run"
            ),
            "config.providers.a.param.allowed.paths: run is not an absolute path",
        ),
        (
            "ssl.key.password=${file:/run/secrets/broker:keystore}",
            (
                "ssl.key.password (server.properties, line 2): config.providers names no provider "
                "file: the value is taken as it is written"
            ),
        ),
    ],
)
def test_what_cannot_work_is_told(text: str, sentence: str) -> None:
    """Classes of others, bounds that are none, a reference without a provider."""
    (found,) = said(f"log.dirs=/a\n{text}")
    assert found.startswith(sentence)


def test_a_value_that_was_found_is_not_shown() -> None:
    """Neither where it is wrong nor where it is described: there stands what was written."""
    text = NAMED + "num.partitions=${file:/run/secrets/broker:keystore}\n"
    (sentence,) = said(text)
    assert sentence.startswith("num.partitions=${file:/run/secrets/broker:keystore} (")
    config, _ = examine(
        NAMED
        + "ssl.keystore.password=${file:/run/secrets/broker:keystore}\n"
        + "broker.rack=${file:/run/secrets/broker:keystore}\n"
        + "log.segment.bytes=${env:BYTES}\n"
        + "unknown=${file:/run/secrets/broker:keystore}\n",
        BYTES="73317331",
    )
    lines = {it.name: it for it in describe.broker_settings(config)}
    assert PASSWORD not in repr(lines)
    assert "73317331" not in repr(lines)
    assert lines["broker.rack"].text == "${file:/run/secrets/broker:keystore}"
    assert lines["log.segment.bytes"].text == "${env:BYTES}"
    assert lines["ssl.keystore.password"].text is None
    assert config[log.LOG_SEGMENT_BYTES] == 73317331


def test_what_is_changed_at_run_time_is_not_looked_up() -> None:
    """It is refused, rather than taken as it is written."""
    config, _ = examine(NAMED)
    with pytest.raises(InvalidSetting, match=r"config\.providers are asked when the broker starts"):
        dynamic.check(config, cluster={"message.max.bytes": "${env:BYTES}"})
    with pytest.raises(InvalidSetting, match=r"config\.providers are asked when the broker starts"):
        dynamic.check(config, broker={"config.providers": "file"})
    kept = dynamic.update(config, broker={"ssl.keystore.location": "${env:STORE}"})
    assert kept.changed == ()


def test_a_file_is_read_as_any_properties_file(tmp_path: Path) -> None:
    """A file that is none is refused, not taken for a value."""
    (tmp_path / "key").write_bytes(b"\x00")
    (sentence,) = [
        str(it)
        for it in resolve(
            sources.from_file(
                (NAMED + f"ssl.key.password=${{file:{tmp_path}/key:a}}").encode(), "f"
            )[0],
            Outside(lambda path: Path(path).read_bytes(), {}),
        )[1]
    ]
    assert "is no settings file" in sentence
