"""What counts for one listener: its own settings before those for all."""

from odradek.config import sources
from odradek.config.rows import security
from odradek.config.secured import jaas_text, on, tls_texts

MAP = "listener.security.protocol.map=A:SSL,B:SASL_SSL,PLAINTEXT:PLAINTEXT"


def test_a_listener_has_settings_of_its_own() -> None:
    """By its name in lower case; a login module by its mechanism as well."""
    config, _ = sources.examine(
        sources.from_overrides(
            [
                MAP,
                "ssl.keystore.location=/all",
                "listener.name.a.ssl.keystore.location=/a",
                "listener.name.a.ssl.key.password=mine",
                "listener.name.a.scram-sha-256.sasl.jaas.config=module",
            ]
        )
    )
    assert on(config, "A", security.SSL_KEYSTORE_LOCATION) == "/a"
    assert on(config, "B", security.SSL_KEYSTORE_LOCATION) == "/all"
    assert tls_texts(config, "A")["ssl.key.password"] == "mine"
    assert jaas_text(config, "A", "SCRAM-SHA-256") == "module"
    assert jaas_text(config, "B", "SCRAM-SHA-256") is None


def test_a_client_with_a_name_needs_no_certificate() -> None:
    """On SASL_SSL only where the listener itself says so, as in Kafka (KIP-684)."""
    everywhere, here = "ssl.client.auth=required", "listener.name.b.ssl.client.auth=required"
    config, _ = sources.examine(sources.from_overrides([MAP, everywhere]))
    assert tls_texts(config, "A")["ssl.client.auth"] == "required"
    assert "ssl.client.auth" not in tls_texts(config, "B")
    config, _ = sources.examine(sources.from_overrides([MAP, here]))
    assert tls_texts(config, "B")["ssl.client.auth"] == "required"
