"""Certificates of ZooKeeper's connections are exchanged while a process runs."""

from pathlib import Path

from odradek.ensemble.kept_context import KeptContext
from odradek.security.certificates.tls_contexts import server_context
from odradek.security.certificates.tls_settings import tls_settings
from tests.samples.certificate_files import certificates


def test_a_certificate_is_exchanged_and_a_bad_one_is_not(tmp_path: Path) -> None:
    """The same file makes no new context; what cannot be read, or is not there, changes nothing."""
    store = tmp_path / "store.pem"
    good = Path(certificates("broker.pem")).read_bytes()
    store.write_bytes(good)
    settings = tls_settings({"ssl.keystore.location": str(store)})
    kept = KeptContext(settings, lambda path: Path(path).read_bytes(), server_context)
    first = kept()
    assert kept() is first
    store.write_bytes(b"nonsense")
    assert kept() is first
    store.unlink()
    assert kept() is first
    store.write_bytes(Path(certificates("elsewhere.pem")).read_bytes())
    assert kept() is not first
