"""Commands over TLS trust the authorities of the system or of SSL_CERT_FILE."""

import asyncio
import json

import pytest
import trustme

from gateway.cli.main import main
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway


@pytest.mark.parametrize(("is_trusted", "code"), [(True, 0), (False, 5)])
async def test_commands_trust_the_authorities_of_ssl_cert_file(
    tmp_path, monkeypatch, capsys, is_trusted, code
):
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    (authority if is_trusted else trustme.CA()).cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("KVS_CONTROL_TOKEN", CONTROL_TOKEN)
    tls = {"certificate": str(tmp_path / "server.pem"), "key": str(tmp_path / "server.pem")}
    async with run_gateway({"listen": {"control": {"tls": tls}}}) as gateway:
        assert gateway.control.startswith("https://")
        assert await asyncio.to_thread(main, ["whoami", "--url", gateway.control]) == code
    printed = capsys.readouterr()
    assert CONTROL_TOKEN not in printed.out + printed.err
    shown = json.loads(printed.out or printed.err)
    assert shown["name"] if is_trusted else "set SSL_CERT_FILE" in shown["detail"]
