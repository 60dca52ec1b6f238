"""What `odradek zookeeper serve` asks of clients, and that it is open to others by word alone."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from odradek.cli.words.failing import Failed
from odradek.config import sources
from odradek.config.checks import is_loopback
from odradek.ensemble.served_names import ServedNames, served_names

JAAS_FILE: Final = "java.security.auth.login.config"
_FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)


def names_of_clients(verb: Callable[..., None]) -> Callable[..., None]:
    """The options of names; the verb gets what they come to, as `names`."""

    @click.option("--jaas", type=_FILE, help="A JAAS file with a section Server: users of SASL.")
    @click.option("--key-store", type=_FILE, help="Certificate and key in PEM: speaks TLS.")
    @click.option("--trust-store", type=_FILE, help="The certificates believed of clients.")
    @click.option("--client-certificates", is_flag=True, help="Each client must have one.")
    @click.option("--open", "is_open", is_flag=True, help="Without names, also to other machines.")
    @functools.wraps(verb)
    def named(
        *,
        jaas: Path | None,
        key_store: Path | None,
        trust_store: Path | None,
        client_certificates: bool,
        is_open: bool,
        **said: Any,
    ) -> None:
        texts = {"ssl.client.auth": "required" if client_certificates else "none"}
        if client_certificates and (key_store is None or trust_store is None):
            raise click.UsageError("--client-certificates needs --key-store and --trust-store")
        if key_store is not None:
            texts["ssl.keystore.location"] = str(key_store)
        if trust_store is not None:
            texts["ssl.truststore.location"] = str(trust_store)
        file = str(jaas) if jaas is not None else sources.of_java(os.environ).get(JAAS_FILE)
        names = served_names(texts, file, lambda path: Path(path).read_bytes())
        _check(said["host"], names, is_open=is_open)
        verb(names=names, **said)

    return named


def _check(host: str, names: ServedNames, *, is_open: bool) -> None:
    if not (is_open or names.are_required or is_loopback(host)):
        raise Failed(
            f"--host {host}: who reaches it there can change everything",
            "--jaas, or --key-store with --client-certificates, asks for names; --open for none",
        )
