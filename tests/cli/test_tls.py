"""Commands over TLS: the certificate of the control listener has to be one that the system trusts."""

import asyncio
import json

import pytest
import trustme

from gateway.cli.main import main
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway


@pytest.mark.parametrize(("is_trusted", "code"), [(True, 0), (False, 5)])
async def test_a_command_trusts_the_authorities_of_ssl_cert_file(
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
    assert json.loads(printed.out or printed.err).get("name" if is_trusted else "error")
